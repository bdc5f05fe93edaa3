//! In the place of parquet files where the cargo feature `parquet` is off: an error that says so.

use std::convert::Infallible;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;

use super::cells::Numbers;
use super::columns::Column;
use crate::{Error, Result};

const WITHOUT: &str = "this program was built without the feature `parquet` of labelflow-data";

/// A parquet file, of which there is none.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    pub(crate) names: Vec<String>,
    never: Infallible,
}

impl ParquetFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Err(Error::content(path, "csv, tsv, npy or npz", "parquet").with_hint(WITHOUT))
    }

    pub(crate) fn numbers<T>(&self, _: &[usize]) -> Result<Numbers<T>> {
        match self.never {}
    }

    pub(crate) fn visit_cells(&self, _: &[usize], _: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        match self.never {}
    }
}

/// A parquet file to be written, of which there is none either.
pub(crate) struct ParquetStream<'file>(Infallible, PhantomData<&'file ()>);

impl<'file> ParquetStream<'file> {
    pub(crate) fn new(_: &'file mut (dyn Write + Send), _: &[Column]) -> io::Result<Self> {
        Err(io::Error::other(WITHOUT))
    }

    pub(crate) fn push(&mut self, _: &[Column]) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn close(self) -> io::Result<()> {
        match self.0 {}
    }
}
