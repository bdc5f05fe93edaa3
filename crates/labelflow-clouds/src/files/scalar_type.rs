//! The numbers of binary point files: integers and floats of one to eight bytes, in either byte order.

use std::io::{self, Read};

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
}

impl ScalarType {
    /// The number of bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Signed(size) | Self::Unsigned(size) | Self::Float(size) => size,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Self::Float(_))
    }

    /// The value of `size` bytes.
    pub(crate) fn value(self, bytes: &[u8], is_big_endian: bool) -> f64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        if is_big_endian {
            word[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(word);
        match self {
            Self::Unsigned(_) => bits as f64,
            Self::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                ((bits << unused) as i64 >> unused) as f64
            }
            Self::Float(4) => f64::from(f32::from_bits(bits as u32)),
            Self::Float(_) => f64::from_bits(bits),
        }
    }

    /// Adds the bytes of a value that this type holds, the lowest first.
    pub(crate) fn push(self, value: f64, bytes: &mut Vec<u8>) {
        match self {
            Self::Unsigned(size) => bytes.extend(&(value as u64).to_le_bytes()[..size]),
            Self::Signed(size) => bytes.extend(&(value as i64).to_le_bytes()[..size]),
            Self::Float(4) => bytes.extend((value as f32).to_le_bytes()),
            Self::Float(_) => bytes.extend(value.to_le_bytes()),
        }
    }

    /// Reads one value.
    pub(crate) fn read(self, reader: &mut impl Read, is_big_endian: bool) -> io::Result<f64> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..self.size()];
        reader.read_exact(bytes)?;
        Ok(self.value(bytes, is_big_endian))
    }
}

/// A colour from a stored number: bytes are bytes, wider integers have a byte on top, floats are shares of 1.
pub(crate) fn color_value(value: f64, stored: ScalarType) -> u8 {
    match stored {
        ScalarType::Float(_) => (value * 255.0).round() as u8,
        ScalarType::Signed(1) | ScalarType::Unsigned(1) => value as u8,
        ScalarType::Signed(size) | ScalarType::Unsigned(size) => {
            // Some writers store a byte in a wider integer.
            if value < 256.0 { value as u8 } else { (value / 256f64.powi(size as i32 - 1)) as u8 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_and_orders() {
        assert_eq!(ScalarType::Signed(2).value(&[0xff, 0xfe], true), -2.0);
        assert_eq!(ScalarType::Signed(2).value(&[0xfe, 0xff], false), -2.0);
        assert_eq!(ScalarType::Unsigned(4).value(&[1, 0, 0, 0x80], false), 2147483649.0);
        assert_eq!(ScalarType::Float(4).value(&1.5f32.to_be_bytes(), true), 1.5);
        assert_eq!(ScalarType::Float(8).value(&(-0.1f64).to_le_bytes(), false), -0.1);
        assert!(ScalarType::Float(8).read(&mut &[0u8; 7][..], false).is_err());
        assert_eq!(color_value(1.0, ScalarType::Float(4)), 255);
        assert_eq!(color_value(65535.0, ScalarType::Unsigned(2)), 255);
        assert_eq!(color_value(7.0, ScalarType::Unsigned(4)), 7);
    }
}
