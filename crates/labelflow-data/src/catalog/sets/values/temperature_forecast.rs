//! Temperature Forecast: tomorrow's highest temperature in Seoul, from today's and a weather model's forecast.

use std::path::Path;

use crate::catalog::sets::number_table::{number, owned, places_of, value_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, Loader, UCI_LICENCE, ValueTable};
use crate::tables::cells::{into_table, parse_number};
use crate::tables::csv_file::{Visit, visit_records};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "temperature-forecast",
    title: "Bias correction of numerical prediction model temperature forecast",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00514/Bias_correction_ucl.csv",
        "f1e630ba9a637e9dae3e2c75c9ec46c50c7f3a54377fc177dce6557f08676552",
        1_650_766,
    )],
    licence: UCI_LICENCE,
    citation: "D. Cho, C. Yoo, J. Im, D.-H. Cha (2020), https://doi.org/10.24432/C59K76",
    counts: Counts { n_rows: 7588, d_features: 24, n_classes: 0 },
    load: Loader::ValueTable(read, &RULE_FEATURES),
};

const FILE: &str = "uci/temperature-forecast/Bias_correction_ucl.csv";

/// The columns of numbers: the features, then the label. Tomorrow's lowest temperature is a second label and no feature.
const COLUMNS: &str = "station,Present_Tmax,Present_Tmin,LDAPS_RHmin,LDAPS_RHmax,LDAPS_Tmax_lapse,\
                       LDAPS_Tmin_lapse,LDAPS_WS,LDAPS_LH,LDAPS_CC1,LDAPS_CC2,LDAPS_CC3,LDAPS_CC4,\
                       LDAPS_PPT1,LDAPS_PPT2,LDAPS_PPT3,LDAPS_PPT4,lat,lon,DEM,Slope,\
                       Solar radiation,Next_Tmax";

/// Of the four columns of cloud cover and of precipitation, the paper does not say which: the first of each.
const RULE_FEATURES: [&str; 5] =
    ["Present_Tmax", "LDAPS_WS", "LDAPS_CC1", "LDAPS_PPT1", "Solar radiation"];

/// Rows with a missing cell in any column are dropped.
///
/// Deviation: the paper has 24 features, which are all other columns and so tomorrow's lowest temperature too. Here the date
/// counts as two numbers, the year and the day of the year, and that temperature is left out.
fn read(dir: &Path) -> Result<ValueTable> {
    let path = dir.join(FILE);
    let columns = COLUMNS.split(',').collect::<Vec<_>>();
    let mut places = None;
    let mut values = Vec::new();
    visit_records(&path, b',', |_, record| {
        let Some((places, date)) = &places else {
            let header = record.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
            let date = places_of(&path, &header, &["Date"])?[0];
            places = Some((places_of(&path, &header, &columns)?, date));
            return Ok(Visit::Next);
        };
        if record.iter().any(|cell| parse_number(cell).is_some_and(f64::is_nan)) {
            return Ok(Visit::Next);
        }
        let cell = |place: usize| record.get(place).unwrap_or("");
        let text = cell(*date);
        let day = parse_date(text).ok_or_else(|| {
            Error::cell(&path, "a date such as 2013-06-30", text).in_column("Date")
        })?;
        for (index, (name, &place)) in columns.iter().zip(places).enumerate() {
            if index == columns.len() - 1 {
                values.extend(day);
            }
            values.push(number(&path, cell(place)).map_err(|error| error.in_column(name))?);
        }
        Ok(Visit::Next)
    })?;
    let names = [&columns[..22], &["year", "day of year"]].concat();
    value_table(&path, &into_table(values, names.len() + 1), owned(&names))
}

/// The year and the day of the year, counted from 1.
fn parse_date(text: &str) -> Option<[f64; 2]> {
    let mut parts = text.trim().splitn(3, '-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month).ok()?.checked_sub(1)?;
    let length = *lengths.get(month)?;
    let days_before: u32 = lengths[..month].iter().sum();
    (1..=length).contains(&day).then(|| [f64::from(year), f64::from(days_before + day)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_of_years() {
        assert_eq!(parse_date("2013-01-01"), Some([2013.0, 1.0]));
        assert_eq!(parse_date("2015-06-30"), Some([2015.0, 181.0]));
        assert_eq!(parse_date("2016-12-31"), Some([2016.0, 366.0]));
        for text in ["", "2013-02-29", "2013-13-01", "2013-00-10", "30.6.2013", "2013-06"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    mod real_data {
        use super::*;

        #[test]
        fn rows_with_gaps_are_dropped_and_the_other_label_is_no_feature() {
            let dir = crate::real_data_dir();
            let table = read(&dir).unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (7588, 24));
            assert_eq!(table.truth.extremes(), (17.4, 38.9));
            assert!(table.features.names().iter().all(|name| !name.starts_with("Next")));
            assert_eq!(table.features.values().row(0).to_vec()[22..], [2013.0, 181.0]);
            assert_eq!(table.truth.values()[0], 29.1);
        }
    }
}
