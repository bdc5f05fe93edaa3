//! Air Quality: absolute humidity, from the responses of gas sensors in an Italian city.

use std::path::Path;

use crate::catalog::sets::number_table::{owned, places_of, value_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader, UCI_LICENCE, ValueTable};
use crate::tables::cells::{into_table, parse_number};
use crate::tables::csv_file::{Visit, visit_records};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "air-quality",
    title: "Air Quality",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00360/AirQualityUCI.zip#AirQualityUCI.csv",
        "edcba3469f7e4a13c4897b64f412ebc06914a55c86ffb9af03ad0fa9d0858722",
        785_065,
    )],
    licence: UCI_LICENCE,
    citation: "S. Vito (2008), https://doi.org/10.24432/C59K5F",
    counts: Counts { n_rows: 8991, d_features: 12, n_classes: 0 },
    load: Loader::ValueTable(read, &RULE_FEATURES),
};

const FILE: &str = "uci/air-quality/AirQualityUCI.csv";

/// The features, then the label.
const COLUMNS: &str = "CO(GT),PT08.S1(CO),NMHC(GT),C6H6(GT),PT08.S2(NMHC),NOx(GT),PT08.S3(NOx),\
                       NO2(GT),PT08.S4(NO2),PT08.S5(O3),T,RH,AH";

/// Two sensors are of tungsten oxide; with the one for NO2, the average of the rules is as good as in the paper.
const RULE_FEATURES: [&str; 5] = ["CO(GT)", "C6H6(GT)", "NOx(GT)", "PT08.S4(NO2)", "RH"];

/// What the file has where a sensor was silent.
const SILENT: f64 = -200.0;

/// Cells are separated by semicolons and have decimal commas; blank lines of semicolons end the file. Rows without a label
/// are dropped. Features keep their −200: of the rows with a label, few have all others.
fn read(dir: &Path) -> Result<ValueTable> {
    let path = dir.join(FILE);
    let columns = COLUMNS.split(',').collect::<Vec<_>>();
    let mut places = None;
    let mut values = Vec::new();
    visit_records(&path, b';', |_, record| {
        let Some(places) = &places else {
            let header = record.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
            places = Some(places_of(&path, &header, &columns)?);
            return Ok(Visit::Next);
        };
        if record.iter().all(|cell| cell.trim().is_empty()) {
            return Ok(Visit::Next);
        }
        let before = values.len();
        for (name, &place) in columns.iter().zip(places) {
            let cell = record.get(place).unwrap_or("");
            let value = parse_number(&cell.replace(',', ".")).filter(|value| value.is_finite());
            values.push(value.ok_or_else(|| {
                Error::cell(&path, "a number with a decimal comma", cell).in_column(name)
            })?);
        }
        if values.last() == Some(&SILENT) {
            values.truncate(before);
        }
        Ok(Visit::Next)
    })?;
    value_table(&path, &into_table(values, columns.len()), owned(&columns[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;

    mod real_data {
        use super::*;

        #[test]
        fn rows_without_a_label_are_dropped_and_other_gaps_stay() {
            let dir = crate::real_data_dir();
            let table = read(&dir).unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (8991, 12));
            assert_eq!(table.truth.extremes(), (0.1847, 2.231));
            let n_gaps = table.features.values().iter().filter(|&&value| value == -200.0).count();
            assert!(n_gaps > 8000, "{n_gaps}");
            assert_eq!(table.features.values().row(0)[0], 2.6);
            assert_eq!(table.truth.values()[0], 0.7578);
        }
    }
}
