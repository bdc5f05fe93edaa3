//! Damage to files, drawn from a seed.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Numbers that headers should not say.
const HUGE_TEXTS: [&str; 7] = ["4294967295", "1000000000", "18446744073709551616", "-1", "1e308", "NaN", "0"];
const HUGE_BYTES: [[u8; 8]; 4] = [[0xff; 8], [0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0], [0, 0, 0, 0x40, 0, 0, 0, 0], [0; 8]];

/// A file with one to four faults; `others` are what parts may be taken from.
pub fn damaged(bytes: &[u8], others: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        damage(&mut bytes, others, rng);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut ChaCha8Rng) {
    if bytes.is_empty() {
        bytes.push(rng.random());
        return;
    }
    let place = rng.random_range(0..bytes.len());
    let end = rng.random_range(place..=bytes.len().min(place + 64));
    match rng.random_range(0..8) {
        0 => bytes[place] ^= 1 << rng.random_range(0..8),
        1 => bytes[place] = rng.random(),
        2 => bytes.truncate(place),
        3 => drop(bytes.splice(place..end, [])),
        4 => {
            let twice = bytes[place..end].to_vec();
            drop(bytes.splice(place..place, twice));
        }
        5 => replace_number(bytes, place, rng),
        6 => {
            let width = [1, 2, 4, 8][rng.random_range(0..4)];
            let number = HUGE_BYTES[rng.random_range(0..HUGE_BYTES.len())];
            let end = bytes.len().min(place + width);
            bytes[place..end].copy_from_slice(&number[..end - place]);
        }
        _ => {
            let other = &others[rng.random_range(0..others.len())];
            let from = rng.random_range(0..=other.len());
            let to = rng.random_range(from..=other.len());
            drop(bytes.splice(place..end, other[from..to].iter().copied()));
        }
    }
}

/// Replaces the first number at or after a place by one that is not to be believed.
fn replace_number(bytes: &mut Vec<u8>, place: usize, rng: &mut ChaCha8Rng) {
    let Some(skipped) = bytes[place..].iter().position(u8::is_ascii_digit) else { return };
    let start = place + skipped;
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = HUGE_TEXTS[rng.random_range(0..HUGE_TEXTS.len())];
    drop(bytes.splice(start..start + length, number.bytes()));
}
