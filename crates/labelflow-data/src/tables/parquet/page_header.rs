//! The header of a parquet page, as far as it says how large the page is once unpacked.
//!
//! A header is a struct of Thrift's compact protocol. It has no length of its own: it ends where its last field does.
//!
//! ```text
//! struct   fields, then 0
//! field    (id − id before) · 16 + type, value; with a larger step: type, zigzag id, value
//! types    1, 2: true, false, without a value   3: a byte   4, 5, 6: integers, zigzag   7: a double, 8 bytes
//!          8: bytes, after their number   12: a struct
//! header   1 type, 2 bytes unpacked, 3 bytes packed, 4 checksum; 5, 6, 7, 8 what a page of one type has besides
//! ```
//!
//! The decoder reads the fields that it knows as what they should be, whatever type they say they have. A field of
//! another type is therefore refused: the decoder would see another header than is seen here.

use std::io::{self, Read};

/// Types of fields.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const SHORT: u8 = 4;
    pub(super) const LONG: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BYTES: u8 = 8;
    pub(super) const STRUCT: u8 = 12;
}

/// The field that says how large the page is once unpacked.
const UNPACKED: i16 = 2;
/// Statistics are a struct in a struct in the header; no format is in sight that goes deeper.
const MAX_DEPTH: usize = 8;

/// A header of a page.
#[derive(Debug, PartialEq)]
pub(crate) struct PageHeader {
    /// The header itself.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes the page says it has once unpacked; nothing, if it does not say.
    pub(crate) unpacked: Option<i32>,
}

impl PageHeader {
    /// Reads a header, and nothing after it.
    pub(crate) fn read(file: impl Read) -> io::Result<Self> {
        let mut reader = HeaderReader { file, header: Self { bytes: Vec::new(), unpacked: None } };
        reader.read_struct(&[])?;
        Ok(reader.header)
    }
}

/// A header of which some has been read.
struct HeaderReader<R> {
    file: R,
    header: PageHeader,
}

impl<R: Read> HeaderReader<R> {
    /// Reads the struct that lies in the fields `around`, outermost first.
    fn read_struct(&mut self, around: &[i16]) -> io::Result<()> {
        let mut id = 0_i16;
        loop {
            let first = self.read_byte()?;
            let (step, kind) = (first >> 4, first & 0x0f);
            if kind == kind::STOP {
                return Ok(());
            }
            id = match step {
                0 => self.read_integer()? as i16,
                _ => id.checked_add(i16::from(step)).ok_or_else(foreign)?,
            };
            if !may_have(around, id, kind) {
                return Err(foreign());
            }
            self.read_value(around, id, kind)?;
        }
    }

    fn read_value(&mut self, around: &[i16], id: i16, kind: u8) -> io::Result<()> {
        match kind {
            kind::TRUE | kind::FALSE => Ok(()),
            kind::BYTE => self.read_bytes(1),
            kind::SHORT..=kind::LONG => {
                let integer = self.read_integer()?;
                if around.is_empty() && id == UNPACKED {
                    self.header.unpacked = Some(integer as i32);
                }
                Ok(())
            }
            kind::DOUBLE => self.read_bytes(8),
            kind::BYTES => {
                let n_bytes = self.read_varint()?;
                self.read_bytes(n_bytes)
            }
            kind::STRUCT if around.len() < MAX_DEPTH => self.read_struct(&[around, &[id]].concat()),
            _ => Err(foreign()),
        }
    }

    fn read_byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.file.read_exact(&mut byte)?;
        self.header.bytes.extend(byte);
        Ok(byte[0])
    }

    /// Memory grows with what there is, not with what is asked for.
    fn read_bytes(&mut self, n_bytes: u64) -> io::Result<()> {
        let n_read = self.file.by_ref().take(n_bytes).read_to_end(&mut self.header.bytes)?;
        if n_read as u64 == n_bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Seven bits a byte, the lowest first.
    fn read_varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.read_byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(foreign())
    }

    /// 0, −1, 1, −2, 2, …
    fn read_integer(&mut self) -> io::Result<i64> {
        let value = self.read_varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

/// Whether a field may have this type. Fields that the decoder does not know may have any: it skips them by their type.
fn may_have(around: &[i16], id: i16, kind: u8) -> bool {
    match (around, id) {
        ([], 1..=4) | ([5], 1..=4) | ([7], 1..=2) | ([8], 1..=6) => (kind::SHORT..=kind::LONG).contains(&kind),
        ([], 5..=8) => kind == kind::STRUCT,
        _ => true,
    }
}

fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a page header with fields of other types")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type 0, 1000 bytes unpacked, 5 packed; a data page of 3 values with statistics: the largest is "z", no nulls.
    const HEADER: &[u8] = &[
        0x15, 0, 0x15, 0xd0, 0x0f, 0x15, 10, // 1, 2, 3
        0x2c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, // 5: 1, 2, 3, 4
        0x1c, 0x18, 1, b'z', 0x26, 0, 0x41, 0, // 5: 5: 1, 3, 7
        0, 0, // the ends of 5 and of the header
    ];

    fn read(bytes: &[u8]) -> io::Result<PageHeader> {
        PageHeader::read(bytes)
    }

    #[test]
    fn a_header_ends_where_its_last_field_does() {
        let header = read(&[HEADER, b"page"].concat()).unwrap();
        assert_eq!(header, PageHeader { bytes: HEADER.to_vec(), unpacked: Some(1000) });
        for end in 0..HEADER.len() {
            assert!(read(&HEADER[..end]).is_err(), "cut after {end} bytes");
        }
    }

    #[test]
    fn fields_may_be_unknown_far_apart_and_of_any_integer_type() {
        // 2 as a long integer; 300, of bytes; then, counted anew, 4.
        let header = [0x26, 4, 0x08, 0xd8, 0x04, 2, 1, 2, 0x05, 8, 1, 0];
        assert_eq!(read(&header).unwrap().unpacked, Some(2));
        // The last one counts, as it does for the decoder; without any, nothing does.
        assert_eq!(read(&[0x25, 4, 0x05, 4, 6, 0]).unwrap().unpacked, Some(3));
        assert_eq!(read(&[0x15, 0, 0]).unwrap().unpacked, None);
    }

    #[test]
    fn what_the_decoder_would_read_otherwise_is_refused() {
        // Two bytes in the place of an integer, where the decoder sees the integer and the end.
        for header in [&[0x28, 2, 0, 0, 0][..], &[0x5c, 0x18, 2, 0, 0, 0, 0], &[0x55, 0, 0]] {
            assert_eq!(read(header).unwrap_err().kind(), io::ErrorKind::InvalidData, "{header:?}");
        }
        // Lists, integers without an end, structs without an end, ids beyond all.
        let ids = [&[0x05][..], &[0xfe, 0xff, 3, 0, 0x15, 0, 0]].concat();
        for header in [&[0x99, 0x15][..], &[0x25; 1], &[0xff; 40], &[0x9c; 40], &ids] {
            assert!(read(header).is_err(), "{header:?}");
        }
    }

    #[test]
    fn memory_follows_what_is_there() {
        // A field of 2⁶² bytes in a header of a few.
        let header = [0x98, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 1, 2, 3];
        assert_eq!(read(&header).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
