//! NumPy's npy arrays and npz archives of them.
//!
//! Read here rather than by a library because of two needs: any numeric type is accepted, and a header that claims
//! more than the file holds costs no memory.

use std::borrow::Cow;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::cells::Number;
use super::foreign_decoder::guarded;
use super::open_input;
use super::packed_text::{open_text, stream_error};
use super::unpacking::{Unpacking, most_unpacked, too_much};
use crate::{Error, Result, ensure};

/// What a file should hold.
const WHOLE: &str = "a whole npy array";
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The first bytes of an npz archive.
const ARCHIVE_MAGIC: &[u8] = b"PK\x03\x04";
/// The longest header worth reading; that of a plain array has about a hundred bytes.
const LONGEST_HEADER: u32 = 1 << 16;

/// An array as stored: its type, its shape and its bytes.
#[derive(Debug)]
pub struct NpyArray {
    element: Element,
    is_big_endian: bool,
    is_fortran: bool,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// A type of numbers: NumPy's letter for its kind, and its size in bytes.
#[derive(Debug, Clone, Copy)]
struct Element {
    kind: u8,
    size: usize,
}

impl Element {
    /// From NumPy's description without the byte order, such as `i8`.
    fn parse(description: &str) -> Option<Self> {
        let (kind, size) = description.split_at_checked(1)?;
        match (kind.as_bytes()[0], size.parse().ok()?) {
            (kind @ b'b', size @ 1)
            | (kind @ (b'i' | b'u'), size @ (1 | 2 | 4 | 8))
            | (kind @ b'f', size @ (2 | 4 | 8)) => Some(Self { kind, size }),
            _ => None,
        }
    }

    /// The value of little-endian bits, which fill the lowest bytes.
    fn value(self, bits: u64) -> f64 {
        match (self.kind, self.size) {
            (b'b', _) => f64::from(u8::from(bits != 0)),
            (b'u', _) => bits as f64,
            (b'i', size) => {
                let unused = 64 - 8 * size as u32;
                ((bits << unused) as i64 >> unused) as f64
            }
            (_, 2) => half_value(bits as u16),
            (_, 4) => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
}

/// The value of an IEEE half-precision number.
fn half_value(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match exponent {
        0 => sign * fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

impl NpyArray {
    /// Reads an npy file, which may be gzipped, or from an npz archive the array with one of these names or the only one.
    pub fn read(path: &Path, names: &[&str]) -> Result<Self> {
        if !is_archive(path)? {
            return Self::parse(path, open_text(path)?);
        }
        let array = Self::read_entry(path, |entries| chosen_entry(path, entries, names).map(Some))?;
        Ok(array.expect("an entry was chosen"))
    }

    /// Reads the array with this name, if the file is an npz archive that has one.
    pub fn read_named(path: &Path, name: &str) -> Result<Option<Self>> {
        if !is_archive(path)? {
            return Ok(None);
        }
        let named = |entry: &&String| array_name(entry) == name;
        Self::read_entry(path, |entries| Ok(entries.iter().find(named).cloned()))
    }

    fn read_entry(path: &Path, choose: impl FnOnce(&[String]) -> Result<Option<String>>) -> Result<Option<Self>> {
        let file = open_input(path)?;
        let most = most_unpacked(file.n_bytes());
        guarded(path, || {
            let refuse = |error| Error::content(path, "a whole npz archive", error);
            let mut archive = ZipArchive::new(BufReader::new(file)).map_err(refuse)?;
            let entries = archive.file_names().map(|name| Ok(name.map_err(refuse)?.into_owned()));
            let Some(entry) = choose(&entries.collect::<Result<Vec<_>>>()?)? else {
                return Ok(None);
            };
            let entry = archive.by_name(&entry).map_err(refuse)?;
            // Better to know at once; but the archive may say less than it holds.
            ensure(entry.size() <= most, || stream_error(path, WHOLE, too_much(most)))?;
            Self::parse(path, Unpacking::new(entry, most)).map(Some)
        })
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers, the last dimension fastest.
    pub fn numbers<T: Number>(&self) -> ArrayD<T> {
        let values = self.bytes.chunks_exact(self.element.size).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            if self.is_big_endian {
                word[..bytes.len()].reverse();
            }
            T::from_f64(self.element.value(u64::from_le_bytes(word)))
        });
        let shape = IxDyn(&self.shape).set_f(self.is_fortran);
        let array = ArrayD::from_shape_vec(shape, values.collect()).expect("the shape was checked against the bytes");
        if self.is_fortran { array.as_standard_layout().into_owned() } else { array }
    }

    fn parse(path: &Path, mut reader: impl Read) -> Result<Self> {
        let header = read_header(path, &mut reader)?;
        let refuse = || {
            Error::content(path, "an array of numbers", format!("the header {header}"))
                .with_hint("save arrays of integers, booleans or floats without pickling")
        };
        let description = quoted_value(&header, "descr").ok_or_else(refuse)?;
        let (order, element) = description.split_at_checked(1).ok_or_else(refuse)?;
        let element = Element::parse(element).ok_or_else(refuse)?;
        let is_big_endian = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return Err(refuse()),
        };
        let is_fortran = match value(&header, "fortran_order").ok_or_else(refuse)? {
            rest if rest.starts_with("True") => true,
            rest if rest.starts_with("False") => false,
            _ => return Err(refuse()),
        };
        let shape = parse_shape(&header).ok_or_else(refuse)?;
        let bytes = read_body(path, WHOLE, &shape, element.size, reader)?;
        Ok(Self { element, is_big_endian, is_fortran, shape, bytes })
    }
}

/// Whether the name or the first bytes of a file say that it is an npz archive.
fn is_archive(path: &Path) -> Result<bool> {
    let is_named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    let mut start = Vec::new();
    let read = open_input(path)?.take(ARCHIVE_MAGIC.len() as u64).read_to_end(&mut start);
    read.map_err(|source| Error::read(path, source))?;
    Ok(is_named || start == ARCHIVE_MAGIC)
}

fn array_name(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// The archive's entry with one of these names, or the only one.
fn chosen_entry(path: &Path, entries: &[String], names: &[&str]) -> Result<String> {
    let named = names.iter().find_map(|name| entries.iter().find(|entry| array_name(entry) == *name));
    match (named, entries) {
        (Some(entry), _) => Ok(entry.clone()),
        (None, [only]) => Ok(only.clone()),
        (None, entries) => {
            let found = entries.iter().map(|entry| array_name(entry)).collect::<Vec<_>>();
            let expected = format!("an array named {}", names.join(" or "));
            Err(Error::content(path, expected, format!("the arrays {}", found.join(", "))))
        }
    }
}

fn read_header(path: &Path, reader: &mut impl Read) -> Result<String> {
    let mut start = [0; 8];
    read_exact(path, WHOLE, reader, &mut start)?;
    ensure(&start[..6] == MAGIC, || Error::content(path, "an npy array", "other bytes"))?;
    let mut length = [0; 4];
    let n_bytes = if start[6] == 1 { 2 } else { 4 };
    read_exact(path, WHOLE, reader, &mut length[..n_bytes])?;
    let length = u32::from_le_bytes(length);
    let expected = || format!("a header of at most {LONGEST_HEADER} bytes");
    ensure(length <= LONGEST_HEADER, || Error::content(path, expected(), length))?;
    let mut header = vec![0; length as usize];
    read_exact(path, WHOLE, reader, &mut header)?;
    Ok(String::from_utf8_lossy(&header).trim().to_owned())
}

/// Reads so many bytes of what should be a file of this kind.
pub(crate) fn read_exact(path: &Path, whole: &str, reader: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
    reader.read_exact(bytes).map_err(|source| stream_error(path, whole, source))
}

/// Reads what the header claims, growing with what arrives: a false claim is an error, not an allocation.
pub(crate) fn read_body(path: &Path, whole: &str, shape: &[usize], size: usize, reader: impl Read) -> Result<Vec<u8>> {
    // ndarray refuses shapes whose non-zero lengths overflow, so an empty array with one is refused here.
    let mut lengths = shape.iter().filter(|&&length| length > 0);
    let n_nonzero = lengths.try_fold(size, |n, &length| n.checked_mul(length));
    let n_claimed =
        n_nonzero.filter(|&n| isize::try_from(n).is_ok()).map(|n| if shape.contains(&0) { 0 } else { n as u64 });
    let mut bytes = Vec::new();
    let limit = n_claimed.map_or(0, |n| n.saturating_add(1));
    let read = reader.take(limit).read_to_end(&mut bytes);
    read.map_err(|source| stream_error(path, whole, source))?;
    if n_claimed != Some(bytes.len() as u64) {
        let found = match n_claimed {
            Some(n) if n < bytes.len() as u64 => "more bytes than that".to_owned(),
            Some(_) => format!("{} bytes", bytes.len()),
            None => "an impossible shape".to_owned(),
        };
        let expected = format!("{shape:?} elements of {size} bytes, as the header says");
        return Err(Error::content(path, expected, found).with_hint("the file is damaged or cut"));
    }
    Ok(bytes)
}

/// What follows `'key':` in the header, a Python dictionary literal.
fn value<'header>(header: &'header str, key: &str) -> Option<&'header str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let start = quoted.iter().find_map(|key| header.find(key).map(|at| at + key.len()))?;
    Some(header[start..].trim_start().strip_prefix(':')?.trim_start())
}

fn quoted_value<'header>(header: &'header str, key: &str) -> Option<&'header str> {
    let rest = value(header, key)?;
    let quote = rest.chars().next().filter(|&quote| quote == '\'' || quote == '"')?;
    rest[1..].split(quote).next()
}

fn parse_shape(header: &str) -> Option<Vec<usize>> {
    let (lengths, _) = value(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = lengths.split(',').map(str::trim).filter(|length| !length.is_empty());
    lengths.map(|length| length.trim_end_matches('L').parse().ok()).collect()
}

/// An array to be written into an archive.
pub enum NpzArray<'values> {
    /// `[n]` 64-bit integers.
    Integers(&'values [i64]),
    /// Floats with a shape, the last dimension fastest.
    Floats(Vec<usize>, Vec<f64>),
    /// Names, as NumPy's fixed-width Unicode.
    Names(Cow<'values, [String]>),
    /// 16-bit integers with a shape.
    Shorts(Vec<usize>, Vec<i16>),
}

/// Writes an npz archive.
pub fn write_npz(writer: impl Write + Seek, arrays: &[(&str, NpzArray<'_>)]) -> io::Result<()> {
    let mut archive = ZipWriter::new(writer);
    for (name, array) in arrays {
        // Sizes are known only after writing; the flag allows more than 4 GiB at the cost of twenty bytes.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        archive.start_file(format!("{name}.npy"), options)?;
        array.write(&mut archive)?;
    }
    archive.finish()?.flush()
}

impl NpzArray<'_> {
    /// Writes the array as an npy file.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Integers(values) => write_array(writer, "<i8", &[values.len()], values, i64::to_le_bytes),
            Self::Floats(shape, values) => write_array(writer, "<f8", shape, values, f64::to_le_bytes),
            Self::Shorts(shape, values) => write_array(writer, "<i2", shape, values, i16::to_le_bytes),
            Self::Names(names) => {
                let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(1);
                write_header(writer, &format!("<U{width}"), &[names.len()])?;
                names.iter().try_for_each(|name| {
                    let padded = name.chars().map(u32::from).chain(std::iter::repeat(0));
                    padded.take(width).try_for_each(|letter| writer.write_all(&letter.to_le_bytes()))
                })
            }
        }
    }
}

fn write_array<T: Copy, const SIZE: usize>(
    writer: &mut impl Write,
    description: &str,
    shape: &[usize],
    values: &[T],
    bytes: fn(T) -> [u8; SIZE],
) -> io::Result<()> {
    write_header(writer, description, shape)?;
    values.iter().try_for_each(|&value| writer.write_all(&bytes(value)))
}

fn write_header(writer: &mut impl Write, description: &str, shape: &[usize]) -> io::Result<()> {
    let lengths = shape.iter().map(|length| format!("{length}, ")).collect::<String>();
    let mut header = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // The data start at a multiple of 64 bytes, after the magic, the version, the length and a line end.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    let length = u16::try_from(header.len()).expect("a header of few dimensions is short");
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(header.as_bytes())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn npy(description: &str, fortran: &str, shape: &str, body: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{description}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [&MAGIC[..], &[1, 0], &length, header.as_bytes(), body].concat()
    }

    fn read_as(extension: &str, bytes: &[u8]) -> Result<NpyArray> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array").with_extension(extension);
        std::fs::write(&path, bytes).unwrap();
        NpyArray::read(&path, &["x"])
    }

    fn numbers(bytes: &[u8]) -> ArrayD<f64> {
        read_as("npy", bytes).unwrap().numbers()
    }

    #[test]
    fn types_byte_orders_and_layouts() {
        assert_eq!(numbers(&npy("|i1", "False", "(3,)", &[1, 255, 0])), array![1., -1., 0.].into_dyn());
        assert_eq!(numbers(&npy("|b1", "False", "(2,)", &[1, 0])), array![1., 0.].into_dyn());
        assert_eq!(numbers(&npy(">i2", "False", "(2,)", &[1, 0, 255, 254])), array![256., -2.].into_dyn());
        assert_eq!(numbers(&npy("<u4", "False", "(1,)", &[255; 4])), array![4294967295.].into_dyn());
        assert_eq!(numbers(&npy("<f8", "False", "()", &2.5f64.to_le_bytes())).sum(), 2.5);
        assert_eq!(
            numbers(&npy("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6])),
            array![[1., 3., 5.], [2., 4., 6.]].into_dyn()
        );
        // numpy.array([1.5, -2, 6e-8], 'float16').tobytes()
        let halves = numbers(&npy("<f2", "False", "(3,)", &[0x00, 0x3e, 0x00, 0xc0, 0x01, 0x00]));
        assert_eq!(halves, array![1.5, -2.0, 5.960464477539063e-8].into_dyn());
    }

    #[test]
    fn false_claims_are_errors_and_cost_no_memory() {
        for (shape, body) in [
            ("(1000000000000, 1000)", &[0; 8][..]),
            ("(18446744073709551615, 8)", &[0; 8]),
            ("(0, 18446744073709551615, 8)", &[]),
            ("(2,)", &[0; 8]),
            ("(1,)", &[0; 16]),
            ("(-1,)", &[0; 8]),
        ] {
            let error = read_as("npy", &npy("<f8", "False", shape, body)).unwrap_err();
            assert!(error.to_string().contains("expected"), "{shape}: {error}");
        }
        assert!(read_as("npy", &npy("|O", "False", "(1,)", &[0])).is_err(), "pickled objects");
        assert!(read_as("npy", &npy("<c8", "False", "(1,)", &[0; 8])).is_err(), "complex numbers");
    }

    #[test]
    fn archives_are_searched_by_name() {
        let write = |arrays: &[(&str, NpzArray<'_>)]| {
            let mut bytes = io::Cursor::new(Vec::new());
            write_npz(&mut bytes, arrays).unwrap();
            bytes.into_inner()
        };
        let two = write(&[("y", NpzArray::Integers(&[7])), ("x", NpzArray::Integers(&[5, 6]))]);
        assert_eq!(read_as("npz", &two).unwrap().numbers::<f64>(), array![5., 6.].into_dyn());
        let only = write(&[("z", NpzArray::Floats(vec![1, 2], vec![0.5, 1.0]))]);
        assert_eq!(read_as("npz", &only).unwrap().shape(), [1, 2]);
        let other = write(&[("y", NpzArray::Integers(&[7])), ("z", NpzArray::Integers(&[5]))]);
        let error = read_as("npz", &other).unwrap_err().to_string();
        assert!(error.contains("expected an array named x, found the arrays y, z"), "{error}");
        for end in 0..two.len() {
            assert!(read_as("npz", &two[..end]).is_err(), "cut after {end} bytes");
        }
    }

    #[test]
    fn an_archive_that_unpacks_to_too_much_is_refused() {
        let header = npy("<f8", "False", "(40000000,)", &[]);
        let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        archive.start_file("x.npy", options).unwrap();
        archive.write_all(&header).unwrap();
        let block = vec![0; 1 << 20];
        (0..306).for_each(|_| archive.write_all(&block).unwrap());
        let mut bomb = archive.finish().unwrap().into_inner();
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        let refused = |bytes: &[u8]| read_as("npz", bytes).unwrap_err().to_string();
        assert!(refused(&bomb).contains("more than 256 MB after unpacking"), "{}", refused(&bomb));
        // A size that is too small in the directory, where the end of the archive is.
        let place = bomb.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap() + 24;
        bomb[place..place + 4].copy_from_slice(&1000_u32.to_le_bytes());
        let error = refused(&bomb);
        assert!(error.contains("expected a whole npy array") || error.contains("a whole npz archive"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            header in "[{}'a-z_:<>|0-9(),TFr ]{0,80}",
        ) {
            let _ = read_as("npy", &bytes);
            let _ = read_as("npz", &bytes);
            let _ = read_as("npz", &[b"PK\x03\x04", &bytes[..]].concat());
            let _ = read_as("npy", &npy("<f8", "False", &header, &bytes));
            let _ = read_as("npy", &npy(&header, "True", "(2, 2)", &bytes));
        }
    }
}
