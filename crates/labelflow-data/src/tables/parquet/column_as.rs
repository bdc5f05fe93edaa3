//! Columns of parquet files as the four types that labelflow works with: booleans, whole numbers, numbers and text.
//!
//! Arrow's own conversions are between any two types, most of which are in no parquet file, and take a minute to compile.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray, downcast_integer_array};
use arrow_schema::{DataType, TimeUnit};

use crate::{Error, Result};

/// A column of a file as an array of another type; an error if a cell has no such form.
pub(crate) fn column_as(array: &ArrayRef, kind: &DataType, path: &Path, name: &str) -> Result<ArrayRef> {
    if array.data_type() == kind {
        return Ok(array.clone());
    }
    let column: Option<ArrayRef> = match kind {
        DataType::Int64 => whole_numbers(array).map(|column| Arc::new(column) as _),
        DataType::Float64 => numbers(array).map(|column| Arc::new(column) as _),
        DataType::Utf8 => texts(array).map(|column| Arc::new(column) as _),
        _ => None,
    };
    column.ok_or_else(|| {
        let found = format!("values of type {}", array.data_type());
        Error::content(path, format!("values of type {kind}"), found).in_column(name)
    })
}

/// The cells of a column of one type as numbers; null stays null.
macro_rules! mapped {
    ($array:expr, $type:ty, $convert:expr) => {
        $array.as_primitive::<$type>().unary::<_, Float64Type>($convert)
    };
}

fn whole_numbers(array: &ArrayRef) -> Option<Int64Array> {
    downcast_integer_array!(
        array => array.try_unary::<_, Int64Type, _>(i64::try_from).ok(),
        _ => None,
    )
}

fn numbers(array: &ArrayRef) -> Option<Float64Array> {
    let unit = |scale: i8| 10_f64.powi(i32::from(scale));
    Some(match array.data_type() {
        DataType::Boolean => {
            let cells = array.as_boolean().iter();
            cells.map(|cell| cell.map(|truth| f64::from(u8::from(truth)))).collect()
        }
        DataType::UInt64 => mapped!(array, UInt64Type, |value| value as f64),
        DataType::Float16 => mapped!(array, Float16Type, f64::from),
        DataType::Float32 => mapped!(array, Float32Type, f64::from),
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::Decimal32(_, scale) => {
            mapped!(array, Decimal32Type, |value| value as f64 / unit(*scale))
        }
        DataType::Decimal64(_, scale) => {
            mapped!(array, Decimal64Type, |value| value as f64 / unit(*scale))
        }
        DataType::Decimal128(_, scale) => {
            mapped!(array, Decimal128Type, |value| value as f64 / unit(*scale))
        }
        _ => whole_numbers(array)?.unary(|value| value as f64),
    })
}

/// Numbers as they are printed, dates and times as ISO 8601 writes them, bytes if they are UTF-8.
fn texts(array: &ArrayRef) -> Option<StringArray> {
    let (kind, whole) = (array.data_type(), whole_numbers(array));
    let text = |row: usize| -> Option<String> {
        Some(match kind {
            DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
            DataType::Binary => str::from_utf8(array.as_binary::<i32>().value(row)).ok()?.to_owned(),
            DataType::Boolean => array.as_boolean().value(row).to_string(),
            DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
            DataType::Float16 => format!("{:?}", array.as_primitive::<Float16Type>().value(row)),
            DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
            DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
            DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
            DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
            DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
            DataType::Date32 => array.as_primitive::<Date32Type>().value_as_date(row)?.to_string(),
            DataType::Timestamp(unit, zone) => {
                let time = match unit {
                    TimeUnit::Second => None,
                    TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value_as_datetime(row),
                    TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value_as_datetime(row),
                    TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value_as_datetime(row),
                };
                // Times with a zone are kept in UTC.
                format!("{:?}{}", time?, if zone.is_some() { "Z" } else { "" })
            }
            _ => whole.as_ref()?.value(row).to_string(),
        })
    };
    let cells = (0..array.len()).map(|row| match array.is_null(row) {
        true => Some(None),
        false => text(row).map(Some),
    });
    Some(cells.collect::<Option<Vec<_>>>()?.into())
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Int32Array, TimestampMillisecondArray,
        UInt64Array,
    };

    use super::*;

    fn cast(array: impl Array + 'static, kind: DataType) -> Result<ArrayRef> {
        column_as(&(Arc::new(array) as ArrayRef), &kind, Path::new("t.parquet"), "c")
    }

    fn texts_of(array: impl Array + 'static) -> Vec<Option<String>> {
        let column = cast(array, DataType::Utf8).unwrap();
        column.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect()
    }

    #[test]
    fn cells_of_all_types_have_a_text() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts_of(Int32Array::from(vec![Some(-7), None])), [some("-7"), None]);
        assert_eq!(texts_of(UInt64Array::from(vec![u64::MAX])), [some("18446744073709551615")]);
        assert_eq!(texts_of(Float32Array::from(vec![0.1, 2.0])), [some("0.1"), some("2.0")]);
        assert_eq!(texts_of(BooleanArray::from(vec![true])), [some("true")]);
        assert_eq!(texts_of(Date32Array::from(vec![18_262, -1])), [some("2020-01-01"), some("1969-12-31")]);
        let time = TimestampMillisecondArray::from(vec![1_577_836_800_500]);
        assert_eq!(texts_of(time.clone()), [some("2020-01-01T00:00:00.500")]);
        assert_eq!(texts_of(time.with_timezone("UTC")), [some("2020-01-01T00:00:00.500Z")]);
        let decimal = Decimal128Array::from(vec![1250]).with_precision_and_scale(6, 2).unwrap();
        assert_eq!(texts_of(decimal), [some("12.50")]);
        assert_eq!(texts_of(BinaryArray::from(vec!["é".as_bytes()])), [some("é")]);
    }

    #[test]
    fn cells_of_all_types_of_numbers_are_numbers() {
        let of = |array: ArrayRef| {
            let column = column_as(&array, &DataType::Float64, Path::new("t.parquet"), "c").unwrap();
            column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>()
        };
        assert_eq!(of(Arc::new(BooleanArray::from(vec![Some(true), None]))), [Some(1.0), None]);
        assert_eq!(of(Arc::new(UInt64Array::from(vec![u64::MAX]))), [Some(u64::MAX as f64)]);
        assert_eq!(of(Arc::new(Float32Array::from(vec![0.5]))), [Some(0.5)]);
        let decimal = Decimal128Array::from(vec![-1250]).with_precision_and_scale(6, 2).unwrap();
        assert_eq!(of(Arc::new(decimal)), [Some(-12.5)]);
    }

    #[test]
    fn what_has_no_such_form_is_an_error() {
        let bytes = BinaryArray::from(vec![[0xff_u8].as_slice()]);
        let error = cast(bytes, DataType::Utf8).unwrap_err().to_string();
        assert!(error.contains("column 'c': expected values of type Utf8"), "{error}");
        assert!(cast(UInt64Array::from(vec![u64::MAX]), DataType::Int64).is_err());
        assert!(cast(StringArray::from(vec!["1"]), DataType::Float64).is_err());
    }
}
