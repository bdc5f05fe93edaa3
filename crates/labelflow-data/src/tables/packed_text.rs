//! Text files that may be gzipped: whether they are is told by their first bytes, not by their names.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::open_input;
use super::unpacking::gunzip;
use crate::{Error, Place, Result, ensure};

/// The first bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Opens a text file, unpacking it while it is read.
pub fn open_text(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = open_input(path)?;
    let n_bytes = file.n_bytes();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let start = reader.fill_buf().map_err(|source| Error::read(path, source))?;
    Ok(if start.starts_with(&GZIP_MAGIC) {
        Box::new(BufReader::with_capacity(1 << 16, gunzip(reader, n_bytes)))
    } else {
        Box::new(reader)
    })
}

/// A whole text file, which is not packed.
pub fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    open_input(path)?.read_to_string(&mut text).map_err(|source| Error::read(path, source))?;
    Ok(text)
}

/// A stream that ends early, is damaged or is no text is a fault of the file; anything else, of the system.
pub fn text_error(path: &Path, source: io::Error) -> Error {
    stream_error(path, "a whole text file in UTF-8", source)
}

/// The same for a file that should be something else.
pub(crate) fn stream_error(path: &Path, expected: &str, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Error::content(path, expected, source)
        }
        _ => Error::read(path, source),
    }
}

/// Visits the lines of a text file, each with its number and without its end. Errors of `visit` get the line.
///
/// A line longer than `longest` bytes is an error: a file without line ends must not fill the memory.
pub fn visit_lines(path: &Path, longest: u64, mut visit: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let mut reader = open_text(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(longest + 1).read_until(b'\n', &mut line);
        let n_read = read.map_err(|source| text_error(path, source).at(Place::Line(number)))?;
        if n_read == 0 {
            break;
        }
        let refuse = || Error::content(path, format!("a line of at most {longest} bytes"), "a longer one");
        ensure(n_read as u64 <= longest, || refuse().at(Place::Line(number)))?;
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        visit(number, &line).map_err(|error| error.at(Place::Line(number)))?;
    }
    Ok(())
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let reader = open_text(path)?;
    serde_json::from_reader(reader).map_err(|error| {
        if error.is_io() {
            return text_error(path, error.into());
        }
        let place = match error.line() {
            0 => Place::Whole,
            line => Place::Line(line as u64),
        };
        let refused = Error::content(path, "JSON of the documented form", &error).at(place);
        if error.is_eof() { refused.with_hint("the file is cut") } else { refused }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn lines(bytes: &[u8], longest: u64) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, bytes).unwrap();
        let mut lines = Vec::new();
        visit_lines(&path, longest, |_, line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        })?;
        Ok(lines)
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_and_packed_lines_are_the_same() {
        for bytes in [b"a b\r\n\nc".to_vec(), packed("a b\r\n\nc")] {
            assert_eq!(lines(&bytes, 10).unwrap(), ["a b", "", "c"]);
        }
        assert!(lines(b"", 10).unwrap().is_empty());
    }

    #[test]
    fn a_cut_archive_and_an_endless_line_are_errors() {
        let bytes = packed(&"some words on a line\n".repeat(1000));
        let error = lines(&bytes[..bytes.len() / 2], 100).unwrap_err().to_string();
        assert!(error.contains("expected a whole text file"), "{error}");
        let error = lines(&packed(&"x".repeat(1 << 20)), 100).unwrap_err().to_string();
        assert!(error.contains("line 1: expected a line of at most 100 bytes"), "{error}");
    }

    #[test]
    fn json_errors_name_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        for (text, expected) in [("[1,\n2", "the file is cut"), ("[1,\n\"x\"]", "line 2")] {
            std::fs::write(&path, text).unwrap();
            let error = read_json::<Vec<i64>>(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
