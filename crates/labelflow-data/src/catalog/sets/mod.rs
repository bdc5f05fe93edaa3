//! The datasets, one file each.

use std::path::Path;

use labelflow_weak::rows::{Features, TrueValues, Truth};
use ndarray::{Array2, ArrayView1, Axis, Slice};

use crate::catalog::{CatalogEntry, LabelledTable, ValueTable};
use crate::{Error, Result};

mod air_quality;
mod bike_sharing;
pub(crate) mod breast_cancer;
mod cardiotocography;
mod clave_direction;
mod credit_card;
mod diabetes;
mod digits_planted;
mod fashion_mnist;
mod imdb;
mod obs_network;
mod phishing_websites;
mod sms_rules;
mod sst2;
mod statlog_satellite;
mod temperature_forecast;
mod texts;
mod wine_quality;
mod yelp;

pub(crate) use texts::WORD_VECTOR_FILES;

/// All datasets, in the order of the paper's tables.
pub(crate) const ALL: &[CatalogEntry] = &[
    breast_cancer::ENTRY,
    obs_network::ENTRY,
    cardiotocography::ENTRY,
    clave_direction::ENTRY,
    credit_card::ENTRY,
    statlog_satellite::ENTRY,
    phishing_websites::ENTRY,
    wine_quality::ENTRY,
    fashion_mnist::DRESS_SNEAKER,
    fashion_mnist::SANDAL_BOOT,
    fashion_mnist::COAT_BAG,
    sst2::ENTRY,
    imdb::ENTRY,
    yelp::ENTRY,
    air_quality::ENTRY,
    temperature_forecast::ENTRY,
    bike_sharing::ENTRY,
    sms_rules::ENTRY,
    digits_planted::ENTRY,
    diabetes::ENTRY,
];

const UCI_LICENCE: &str = "CC BY 4.0 (UCI Machine Learning Repository)";

/// Keeps the rows that `class_of` gives a class, and of them the first `names.len()` columns as features.
fn two_class_table(
    path: &Path,
    table: &Array2<f64>,
    names: Vec<String>,
    classes: [&str; 2],
    class_of: impl Fn(ArrayView1<'_, f64>) -> Option<usize>,
) -> Result<LabelledTable> {
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for (row, values) in table.axis_iter(Axis(0)).enumerate() {
        if let Some(class) = class_of(values) {
            rows.push(row);
            labels.push(class);
        }
    }
    let values = table.slice_axis(Axis(1), Slice::from(..names.len())).select(Axis(0), &rows);
    Ok(LabelledTable {
        features: Features::with_names(values.mapv(|value| value as f32), names)
            .map_err(Error::in_file(path))?,
        truth: Truth::new(labels, 2).map_err(Error::in_file(path))?,
        classes: classes.map(str::to_owned).to_vec(),
    })
}

/// Names for columns that their publisher did not name.
fn numbered_names(n_columns: usize) -> Vec<String> {
    (0..n_columns).map(|column| format!("x{column}")).collect()
}

/// Numbers read row by row, the label last in each row, and the rest features with these names.
fn value_table(path: &Path, values: Vec<f64>, names: Vec<String>) -> Result<ValueTable> {
    let n_columns = names.len() + 1;
    let table = Array2::from_shape_vec((values.len() / n_columns, n_columns), values)
        .expect("every row gave as many numbers");
    let labels = table.column(names.len()).to_vec();
    let values = table.slice_axis(Axis(1), Slice::from(..names.len()));
    let features = Features::with_names(values.mapv(|value| value as f32), names);
    ValueTable::new(
        features.map_err(Error::in_file(path))?,
        TrueValues::new(labels).map_err(Error::in_file(path))?,
    )
}

/// Where the columns with these names are in a header.
fn places_of(path: &Path, header: &[String], names: &[&str]) -> Result<Vec<usize>> {
    let place = |name: &&str| {
        header.iter().position(|other| other == name).ok_or_else(|| {
            let found = format!("the columns {}", header.join(", "));
            Error::content(path, format!("a column '{name}'"), found)
        })
    };
    names.iter().map(place).collect()
}
