//! Every error of the Rust crates as a Python exception: the one place where they are mapped.

use std::fmt::Display;
use std::io;

use labelflow::Error;
use labelflow_files::visible;
use pyo3::exceptions::{PyArithmeticError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

create_exception!(labelflow, ConfigError, PyValueError, "A setting outside what the method allows.");
create_exception!(labelflow, DataError, PyValueError, "Data that cannot be used.");
create_exception!(labelflow, FormatError, PyValueError, "A file that is not what it should be.");
create_exception!(labelflow, DeviceError, PyRuntimeError, "A device that is not there.");
create_exception!(labelflow, TrainingError, PyArithmeticError, "A loss that is no longer a number.");

/// What an error says: names in it may come from anybody's data, and end up at a terminal.
fn text_of(error: &impl Display) -> String {
    visible(&error.to_string()).into_owned()
}

/// The exception for an error.
pub(crate) fn exception(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let text = text_of(&error);
    match &error {
        Error::Weak(labelflow::weak::Error::Config { .. }) => ConfigError::new_err(text),
        Error::Weak(_) => DataError::new_err(text),
        Error::NotFinite { .. } => TrainingError::new_err(text),
        Error::Device { .. } => DeviceError::new_err(text),
        Error::Format { .. } => FormatError::new_err(text),
        Error::Io { source, .. } => io::Error::new(source.kind(), text).into(),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The exception for an error of a file of inputs.
pub(crate) fn data_exception(error: labelflow_data::Error) -> PyErr {
    let text = text_of(&error);
    match error {
        labelflow_data::Error::Data(error) => exception(error),
        labelflow_data::Error::Weak { .. } => DataError::new_err(text),
        labelflow_data::Error::Content { .. } => FormatError::new_err(text),
        labelflow_data::Error::Io { source, .. } => io::Error::new(source.kind(), text).into(),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Settings from JSON. What is wrong with them is an error about the parameters of `what`.
pub(crate) fn settings<'text, T: serde::Deserialize<'text>>(what: &str, json: &'text str) -> Result<T, PyErr> {
    serde_json::from_str(json).map_err(|error| bad_settings(what, &error))
}

/// A setting from its name.
pub(crate) fn named<T: DeserializeOwned>(what: &str, name: &str) -> Result<T, PyErr> {
    let name: StrDeserializer<'_, serde_json::Error> = name.into_deserializer();
    T::deserialize(name).map_err(|error| bad_settings(what, &error))
}

/// Settings that cannot be read.
pub(crate) fn bad_settings(what: &str, error: &serde_json::Error) -> PyErr {
    // The place in a text that the user never sees would only puzzle.
    let text = text_of(error);
    let reason = text.split(" at line ").next().unwrap_or(&text);
    ConfigError::new_err(format!("{what}: {reason}"))
}
