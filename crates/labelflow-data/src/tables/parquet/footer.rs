//! The footer of a parquet file, as far as it says how many elements its lists have.
//!
//! ```text
//! file     …, the footer: a struct, its length in 4 bytes, "PAR1"
//! list     number of elements · 16 + type of the elements; from 15 on: 15 · 16 + type, number of elements
//! map      number of entries, then, if there are any: type of the keys · 16 + type of the values
//! ```
//!
//! and the rest as in the [header of a page](super::page_header). The decoder skips fields that it does not know, element by element, and a boolean takes no
//! byte: a footer of a few bytes can claim billions of them, and keeps the decoder busy for as long as it likes. So a list may not have more elements than there
//! are bytes left, nor all of them together more elements without bytes than the footer has bytes.

/// Structs in lists in structs; the decoder goes no deeper where it skips.
const MAX_DEPTH: usize = 64;
/// The length of the footer, and the mark at the end.
pub(super) const TAIL: u64 = 8;

/// The length of the footer by the last [`TAIL`] bytes; nothing if they are not those of a file that is not encrypted.
pub(super) fn length(tail: [u8; TAIL as usize]) -> Option<u32> {
    let [a, b, c, d, mark @ ..] = tail;
    (mark == *b"PAR1").then_some(u32::from_le_bytes([a, b, c, d]))
}

/// Whether a footer has what its lists claim.
pub(super) fn holds_what_it_claims(footer: &[u8]) -> bool {
    Scanner { rest: footer, n_without_bytes: footer.len() as u64 }.structure(0).is_some()
}

/// What is left of a footer. Every method is nothing where a claim does not hold.
struct Scanner<'a> {
    rest: &'a [u8],
    /// How many more elements without bytes there may be.
    n_without_bytes: u64,
}

impl Scanner<'_> {
    fn structure(&mut self, depth: usize) -> Option<()> {
        loop {
            let field = self.byte()?;
            let (step, kind) = (field >> 4, field & 0x0f);
            if kind == 0 {
                return Some(());
            }
            if step == 0 {
                self.varint()?;
            }
            self.value(kind, depth)?;
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let n_bytes = self.varint()?;
                self.skip(n_bytes)
            }
            13 => self.skip(16),
            9..=12 if depth == MAX_DEPTH => None,
            9 | 10 => self.list(depth + 1),
            11 => self.map(depth + 1),
            12 => self.structure(depth + 1),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let head = self.byte()?;
        let n_elements = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        self.elements(n_elements, &[head & 0x0f], depth)
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        let n_entries = self.varint()?;
        let kinds = if n_entries > 0 { self.byte()? } else { 0 };
        self.elements(n_entries, &[kinds >> 4, kinds & 0x0f], depth)
    }

    fn elements(&mut self, n_elements: u64, kinds: &[u8], depth: usize) -> Option<()> {
        if kinds.iter().all(|kind| matches!(kind, 1 | 2)) {
            self.n_without_bytes = self.n_without_bytes.checked_sub(n_elements)?;
            return Some(());
        }
        if n_elements > self.rest.len() as u64 {
            return None;
        }
        for _ in 0..n_elements {
            kinds.iter().try_for_each(|&kind| self.value(kind, depth).ok_or(())).ok()?;
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn skip(&mut self, n_bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(n_bytes).ok()?..)?;
        Some(())
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_hold() {
        // 1: 5; 2: a list of two structs, each with a name and a flag; 4: a map of one name to a number; 5: no elements; 6: 3 integers.
        let structure =
            [0x15, 10, 0x19, 0x2c, 0x18, 1, b'a', 0x11, 0, 0x18, 1, b'b', 0x12, 0, 0x2b, 1, 0x85, 1, b'k', 6];
        let footer = [&structure[..], &[0x19, 0, 0x19, 0x35, 2, 4, 6, 0]].concat();
        assert!(holds_what_it_claims(&footer));
        for end in 0..footer.len() {
            assert!(!holds_what_it_claims(&footer[..end]), "cut after {end} bytes");
        }
        assert_eq!(length(*b"\x10\x00\x00\x00PAR1"), Some(16));
        assert_eq!(length(*b"\x10\x00\x00\x00PARE"), None);
    }

    #[test]
    fn claims_that_do_not_hold() {
        let billions = [0xff, 0xff, 0xff, 0xff, 7];
        for (what, head) in [("booleans", 0xf1), ("booleans", 0xf2), ("integers", 0xf5), ("lists", 0xf9)] {
            assert!(!holds_what_it_claims(&[&[0x99, head][..], &billions, &[0; 40]].concat()), "{what}");
        }
        assert!(!holds_what_it_claims(&[&[0x9b][..], &billions, &[0x11, 0, 0]].concat()), "a map");
        // A hundred lists of 14 booleans in lists: each is small, all together are more than there are bytes.
        let many = [&[0x99, 0xf9, 100][..], &[0xe1; 100], &[0]].concat();
        assert!(!holds_what_it_claims(&many));
        assert!(!holds_what_it_claims(&[0x1c; 100]), "structs without an end");
    }
}
