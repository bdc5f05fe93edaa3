//! Bike Sharing: how many bicycles are rented in an hour, from the calendar and the weather.

use std::path::Path;

use crate::Result;
use crate::catalog::sets::number_table::{owned, value_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader, UCI_LICENCE, ValueTable};
use crate::tables::table::TableFile;

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "bike-sharing",
    title: "Bike Sharing (hourly)",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00275/Bike-Sharing-Dataset.zip#hour.csv",
        "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f",
        1_156_736,
    )],
    licence: UCI_LICENCE,
    citation: "H. Fanaee-T (2013), https://doi.org/10.24432/C5W894",
    counts: Counts { n_rows: 17_379, d_features: 12, n_classes: 0 },
    load: Loader::ValueTable(read, &RULE_FEATURES),
};

const FILE: &str = "uci/bike-sharing/hour.csv";

/// The features, then the label. The two parts of the count, casual and registered, would give it away.
const COLUMNS: &str = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,\
                       windspeed,cnt";

const RULE_FEATURES: [&str; 5] = ["season", "hr", "workingday", "atemp", "windspeed"];

fn read(dir: &Path) -> Result<ValueTable> {
    let path = dir.join(FILE);
    let columns = COLUMNS.split(',').collect::<Vec<_>>();
    let table = TableFile::open_named(&path)?;
    let places = columns.iter().map(|name| table.required_column(name)).collect::<Result<Vec<_>>>()?;
    value_table(&path, &table.numbers::<f64>(&places)??, owned(&columns[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;

    mod real_data {
        use super::*;

        #[test]
        fn counts_are_those_published() {
            let dir = crate::real_data_dir();
            let table = read(&dir).unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (17_379, 12));
            assert_eq!(table.truth.extremes(), (1.0, 977.0));
            assert_eq!(table.truth.values()[..3], [16.0, 40.0, 32.0]);
        }
    }
}
