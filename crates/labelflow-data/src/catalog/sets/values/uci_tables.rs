//! Tables of the UCI repository with real values, whose columns have names.
//!
//! - Air Quality: absolute humidity, from the responses of gas sensors in an Italian city.
//! - Temperature Forecast: tomorrow's highest temperature in Seoul, from today's and a weather model's forecast.
//! - Bike Sharing: how many bicycles are rented in an hour, from the calendar and the weather.

use std::path::{Path, PathBuf};

use csv::StringRecord;

use crate::catalog::ValueTable;
use crate::catalog::sets::number_table::{number, value_table};
use crate::tables::cells::{into_table, parse_number};
use crate::tables::csv_file::visit_records;
use crate::{Error, Result};

/// The features, then the label.
const AIR_COLUMNS: &str = "CO(GT),PT08.S1(CO),NMHC(GT),C6H6(GT),PT08.S2(NMHC),NOx(GT),PT08.S3(NOx),\
                       NO2(GT),PT08.S4(NO2),PT08.S5(O3),T,RH,AH";

/// Two sensors are of tungsten oxide; with the one for NO2, the average of the rules is as good as in the paper.
pub(crate) const AIR_RULES: [&str; 5] = ["CO(GT)", "C6H6(GT)", "NOx(GT)", "PT08.S4(NO2)", "RH"];

/// What the file has where a sensor was silent.
const SILENT: f64 = -200.0;

/// Cells are separated by semicolons and have decimal commas; blank lines of semicolons end the file. Rows without a label
/// are dropped. Features keep their −200: of the rows with a label, few have all others.
pub(crate) fn read_air(paths: &[PathBuf]) -> Result<ValueTable> {
    let path = &paths[0];
    let names = AIR_COLUMNS.split(',').collect::<Vec<_>>();
    read_columns(path, b';', &names, &names[..12], |record, cells| {
        if record.iter().all(|cell| cell.trim().is_empty()) {
            return Ok(None);
        }
        let value = |(name, cell): (&&str, &&str)| {
            let value = parse_number(&cell.replace(',', ".")).filter(|value| value.is_finite());
            let refuse = || Error::cell(path, "a number with a decimal comma", cell).in_column(name);
            value.ok_or_else(refuse)
        };
        let values = names.iter().zip(cells).map(value).collect::<Result<Vec<_>>>()?;
        Ok((values.last() != Some(&SILENT)).then_some(values))
    })
}

/// The columns of numbers: the features, then the label. Tomorrow's lowest temperature is a second label and no feature.
const FORECAST_COLUMNS: &str = "station,Present_Tmax,Present_Tmin,LDAPS_RHmin,LDAPS_RHmax,LDAPS_Tmax_lapse,\
                       LDAPS_Tmin_lapse,LDAPS_WS,LDAPS_LH,LDAPS_CC1,LDAPS_CC2,LDAPS_CC3,LDAPS_CC4,\
                       LDAPS_PPT1,LDAPS_PPT2,LDAPS_PPT3,LDAPS_PPT4,lat,lon,DEM,Slope,\
                       Solar radiation,Next_Tmax";

/// Of the four columns of cloud cover and of precipitation, the paper does not say which: the first of each.
pub(crate) const FORECAST_RULES: [&str; 5] = ["Present_Tmax", "LDAPS_WS", "LDAPS_CC1", "LDAPS_PPT1", "Solar radiation"];

/// Rows with a missing cell in any column are dropped.
///
/// Deviation: the paper has 24 features, which are all other columns and so tomorrow's lowest temperature too. Here the date
/// counts as two numbers, the year and the day of the year, and that temperature is left out.
pub(crate) fn read_forecast(paths: &[PathBuf]) -> Result<ValueTable> {
    let path = &paths[0];
    let names = FORECAST_COLUMNS.split(',').chain(["Date"]).collect::<Vec<_>>();
    let features = [&names[..22], &["year", "day of year"]].concat();
    read_columns(path, b',', &names, &features, |record, cells| {
        if record.iter().any(|cell| parse_number(cell).is_some_and(f64::is_nan)) {
            return Ok(None);
        }
        let mut values = numbers(path, &names[..23], cells)?;
        let day = parse_date(cells[23])
            .ok_or_else(|| Error::cell(path, "a date such as 2013-06-30", cells[23]).in_column("Date"))?;
        values.splice(22..22, day);
        Ok(Some(values))
    })
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

/// The features, then the label. The two parts of the count, casual and registered, would give it away.
const BIKE_COLUMNS: &str = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,\
                       windspeed,cnt";

pub(crate) const BIKE_RULES: [&str; 5] = ["season", "hr", "workingday", "atemp", "windspeed"];

pub(crate) fn read_bikes(paths: &[PathBuf]) -> Result<ValueTable> {
    let path = &paths[0];
    let names = BIKE_COLUMNS.split(',').collect::<Vec<_>>();
    read_columns(path, b',', &names, &names[..12], |_, cells| numbers(path, &names, cells).map(Some))
}

/// The numbers in cells of columns with these names.
fn numbers(path: &Path, names: &[&str], cells: &[&str]) -> Result<Vec<f64>> {
    let cells = names.iter().zip(cells);
    cells.map(|(name, cell)| number(path, cell).map_err(|error| error.in_column(name))).collect()
}

/// Reads a table below a header. `row` makes the features and the label of a record and of its cells in the columns with
/// these names, or leaves it out.
fn read_columns(
    path: &Path,
    separator: u8,
    names: &[&str],
    features: &[&str],
    mut row: impl FnMut(&StringRecord, &[&str]) -> Result<Option<Vec<f64>>>,
) -> Result<ValueTable> {
    let mut places: Option<Vec<usize>> = None;
    let mut values = Vec::new();
    visit_records(path, separator, |record| {
        if let Some(places) = &places {
            let cells = places.iter().map(|&place| record.get(place).unwrap_or(""));
            values.extend(row(record, &cells.collect::<Vec<_>>())?.into_iter().flatten());
            return Ok(());
        }
        let header = record.iter().map(str::trim).collect::<Vec<_>>();
        let place = |name: &&str| {
            header.iter().position(|other| other == name).ok_or_else(|| {
                let found = format!("the columns {}", header.join(", "));
                Error::content(path, format!("a column '{name}'"), found)
            })
        };
        places = Some(names.iter().map(place).collect::<Result<_>>()?);
        Ok(())
    })?;
    let features = features.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    value_table(path, &into_table(values, features.len() + 1), features)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::find;

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
        fn rows_without_a_label_are_dropped_and_other_gaps_stay() {
            let dir = crate::real_data_dir();
            let table = read_air(&find("air-quality").unwrap().paths(&dir, &Default::default()).unwrap()).unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (8991, 12));
            assert_eq!(table.truth.extremes(), (0.1847, 2.231));
            let n_gaps = table.features.values().iter().filter(|&&value| value == -200.0).count();
            assert!(n_gaps > 8000, "{n_gaps}");
            assert_eq!(table.features.rounded().row(0)[0], 2.6);
            assert_eq!(table.truth.values()[0], 0.7578);
        }

        #[test]
        fn rows_with_gaps_are_dropped_and_the_other_label_is_no_feature() {
            let dir = crate::real_data_dir();
            let table = read_forecast(&find("temperature-forecast").unwrap().paths(&dir, &Default::default()).unwrap())
                .unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (7588, 24));
            assert_eq!(table.truth.extremes(), (17.4, 38.9));
            assert!(table.features.names().iter().all(|name| !name.starts_with("Next")));
            assert_eq!(table.features.values().row(0).to_vec()[22..], [2013.0, 181.0]);
            assert_eq!(table.truth.values()[0], 29.1);
        }

        #[test]
        fn counts_are_those_published() {
            let dir = crate::real_data_dir();
            let table = read_bikes(&find("bike-sharing").unwrap().paths(&dir, &Default::default()).unwrap()).unwrap();
            assert_eq!((table.n_rows(), table.features.d_features()), (17_379, 12));
            assert_eq!(table.truth.extremes(), (1.0, 977.0));
            assert_eq!(table.truth.values()[..3], [16.0, 40.0, 32.0]);
        }
    }
}
