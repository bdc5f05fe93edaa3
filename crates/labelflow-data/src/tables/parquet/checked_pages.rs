//! A parquet file whose pages are looked at before they are unpacked.
//!
//! The decoder makes room for as many bytes as the header of a page says it has once unpacked, and for as many as the
//! file says it has packed. Here the header is read first, at the place where the decoder begins to read it, and
//! the decoder gets these very bytes: what it sees is what was looked at. An honest file costs no further access.

use std::io::{self, BufReader, Cursor, Read};

use bytes::Bytes;
use labelflow_files::InputFile;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::footer;
use super::page_header::PageHeader;
use crate::tables::unpacking::{most_unpacked, too_much};

/// An open parquet file, for its metadata.
pub(crate) struct ParquetBytes(pub(crate) InputFile);

/// An open parquet file of which only pages are read.
pub(crate) struct CheckedPages(pub(crate) ParquetBytes);

impl ParquetBytes {
    /// Whether the [footer](super::footer) has what it claims. What is no footer at all is left to the decoder, which says what is wrong.
    pub(crate) fn footer_holds(&self) -> Result<bool> {
        let Some(tail_at) = self.len().checked_sub(footer::TAIL) else { return Ok(true) };
        let tail = self.get_bytes(tail_at, footer::TAIL as usize)?;
        let length = tail[..].try_into().ok().and_then(footer::length);
        let at = length.and_then(|length| Some((tail_at.checked_sub(u64::from(length))?, length as usize)));
        let Some((start, length)) = at else { return Ok(true) };
        Ok(footer::holds_what_it_claims(&self.get_bytes(start, length)?))
    }
}

impl Length for ParquetBytes {
    fn len(&self) -> u64 {
        self.0.n_bytes()
    }
}

impl ChunkReader for ParquetBytes {
    type T = BufReader<InputFile>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(self.0.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF("a page that goes on after the end of the file".into()));
        }
        let mut bytes = vec![0; length];
        self.0.at(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl Length for CheckedPages {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for CheckedPages {
    type T = CheckedHeader;

    fn get_read(&self, start: u64) -> Result<CheckedHeader> {
        Ok(CheckedHeader { file: self.0.get_read(start)?, most: most_unpacked(self.len()), header: None })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// The header of a page. It is looked at when the decoder reads it: the decoder also asks for what it does not read.
pub(crate) struct CheckedHeader {
    file: BufReader<InputFile>,
    /// What a page may unpack to, in bytes.
    most: u64,
    header: Option<Cursor<Vec<u8>>>,
}

impl Read for CheckedHeader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let header = match &mut self.header {
            Some(header) => header,
            None => {
                let PageHeader { bytes, unpacked } = PageHeader::read(&mut self.file)?;
                // The decoder refuses what is missing or negative.
                let unpacked = unpacked.and_then(|unpacked| u64::try_from(unpacked).ok());
                if unpacked.is_some_and(|unpacked| unpacked > self.most) {
                    return Err(too_much(self.most));
                }
                self.header.insert(Cursor::new(bytes))
            }
        };
        header.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

    use super::*;

    const N_ROWS: usize = 3000;

    fn batch() -> RecordBatch {
        let rows = || 0..N_ROWS as i32;
        let integers: Int32Array = rows().map(|row| (row % 7 > 0).then_some(row)).collect();
        let numbers: Float64Array = rows().map(|row| Some(f64::from(row).sin())).collect();
        let names: StringArray = rows().map(|row| Some(format!("name {}", row % 50))).collect();
        RecordBatch::try_from_iter([
            ("integer", Arc::new(integers) as _),
            ("number", Arc::new(numbers) as _),
            ("name", Arc::new(names) as _),
        ])
        .unwrap()
    }

    fn written(properties: WriterProperties) -> Vec<u8> {
        let mut bytes = Vec::new();
        let batch = batch();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    fn file_of(bytes: &[u8]) -> ParquetBytes {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, bytes).unwrap();
        ParquetBytes(InputFile::open(file.path()).unwrap())
    }

    /// Some rows, read through the check.
    fn read(bytes: &[u8], start: usize) -> Result<Vec<RecordBatch>, String> {
        let file = file_of(bytes);
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).unwrap();
        ParquetRecordBatchReaderBuilder::new_with_metadata(CheckedPages(file), metadata)
            .with_offset(start)
            .with_batch_size(N_ROWS)
            .build()
            .unwrap()
            .map(|batch| batch.map_err(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn pages_of_all_kinds_are_read() {
        let compressions = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())];
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in compressions {
                for has_more in [false, true] {
                    let properties = WriterProperties::builder()
                        .set_writer_version(version)
                        .set_compression(compression)
                        .set_dictionary_enabled(has_more)
                        .set_write_page_header_statistics(has_more)
                        .set_statistics_enabled(EnabledStatistics::Page)
                        .set_write_batch_size(64)
                        .set_data_page_row_count_limit(256);
                    let bytes = written(properties.build());
                    for start in [0, 1000] {
                        let expected = vec![batch().slice(start, N_ROWS - start)];
                        assert_eq!(read(&bytes, start).unwrap(), expected);
                    }
                }
            }
        }
    }

    /// A number in the form of a header.
    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// The file with a first page that says it has so many bytes once unpacked; the page loses a few of its bytes, so
    /// that all else is where the end of the file says it is.
    fn with_claim(bytes: &[u8], unpacked: u64) -> Vec<u8> {
        let header = PageHeader::read(&bytes[4..]).unwrap();
        let (start, sizes) = header.bytes.split_at(2);
        let old = varint(2 * header.unpacked.unwrap() as u64);
        let new = varint(2 * unpacked);
        let n_more = new.len() - old.len();
        // Field 3, the packed size, follows.
        let rest = &sizes[1 + old.len()..];
        let n_digits = rest[1..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let digits = rest[1..].iter().take(n_digits).enumerate();
        let packed: usize = digits.map(|(place, &byte)| usize::from(byte & 0x7f) << (7 * place)).sum::<usize>() / 2;
        let header_of_less =
            [start, &sizes[..1], &new, &rest[..1], &varint(2 * (packed - n_more) as u64), &rest[1 + n_digits..]]
                .concat();
        let page = &bytes[4 + header.bytes.len()..];
        [&bytes[..4], &header_of_less, &page[..packed - n_more], &page[packed..]].concat()
    }

    #[test]
    fn a_page_that_claims_too_much_is_refused_before_there_is_room_for_it() {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
        let bytes = written(properties.build());
        let most = most_unpacked(bytes.len() as u64);
        let forged = with_claim(&bytes, most + 1);
        assert_eq!(forged.len(), bytes.len());
        let error = read(&forged, 0).unwrap_err();
        assert!(error.contains("more than 256 MB after unpacking"), "{error}");
        // One that is within the limit is for the decoder to refuse.
        let error = read(&with_claim(&bytes, 1 << 20), 0).unwrap_err();
        assert!(!error.contains("after unpacking"), "{error}");
    }

    #[test]
    fn a_page_that_goes_on_after_the_end_is_refused_before_there_is_room_for_it() {
        let pages = CheckedPages(file_of(&[7; 100]));
        assert_eq!(pages.get_bytes(90, 10).unwrap(), vec![7; 10]);
        for (start, length) in [(90, 11), (0, 1 << 40), (u64::MAX, 1)] {
            let error = pages.get_bytes(start, length).unwrap_err().to_string();
            assert!(error.contains("after the end of the file"), "{error}");
        }
    }
}
