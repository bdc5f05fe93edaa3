//! What all scalers share: each column has a number that is subtracted and one that it is divided by.

use ndarray::{Array2, ArrayView2, Axis};

use crate::rows::features::check_columns;
use crate::{Error, Result};

/// Checks numbers that may come from a file.
pub(super) fn check_stored([shifts, widths]: [&[f64]; 2], [shift, width]: [&str; 2]) -> Result<()> {
    let usable = shifts.len() == widths.len()
        && shifts.iter().chain(widths).all(|value| value.is_finite())
        && widths.iter().all(|&width| width > 0.0);
    if usable {
        return Ok(());
    }
    let expected = format!("as many positive {width} as {shift}");
    Err(Error::data("stored scaler", expected, format!("{shift} {shifts:?}, {width} {widths:?}")))
}

/// (x − shift) / width of each column.
pub(super) fn scaled(
    features: ArrayView2<'_, f32>,
    shifts: &[f64],
    widths: &[f64],
) -> Result<Array2<f32>> {
    check_columns(features, shifts.len())?;
    let mut scaled = features.to_owned();
    for mut row in scaled.axis_iter_mut(Axis(0)) {
        let columns = row.iter_mut().zip(shifts).zip(widths);
        columns.for_each(|((x, shift), width)| *x = ((f64::from(*x) - shift) / width) as f32);
    }
    Ok(scaled)
}

/// A scaler with these two numbers per column, which [`ColumnMoments`](crate::linear::ColumnMoments) measures.
macro_rules! column_scaler {
    (
        $(#[$about:meta])* $Scaler:ident { $shift:ident: $shifts:literal, $width:ident: $widths:literal }, $measured:ident
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(try_from = "Stored")]
        pub struct $Scaler {
            $shift: Vec<f64>,
            $width: Vec<f64>,
        }

        /// What a file holds, not yet checked.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Stored {
            $shift: Vec<f64>,
            $width: Vec<f64>,
        }

        impl TryFrom<Stored> for $Scaler {
            type Error = Error;

            fn try_from(Stored { $shift, $width }: Stored) -> Result<Self> {
                Self::new($shift, $width)
            }
        }

        impl $Scaler {
            /// A scaler whose numbers are known.
            pub fn new($shift: Vec<f64>, $width: Vec<f64>) -> Result<Self> {
                check_stored([&$shift, &$width], [$shifts, $widths])?;
                Ok(Self { $shift, $width })
            }

            /// Measures `features`, `[n_rows, d_features]`.
            pub fn fit(features: ArrayView2<'_, f32>) -> Result<Self> {
                let mut moments = ColumnMoments::default();
                moments.push(features)?;
                moments.$measured()
            }

            /// Scales `features`, `[n_rows, d_features]`, by what was measured in the fit.
            pub fn transform(&self, features: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
                scaled(features, &self.$shift, &self.$width)
            }

            /// The number of columns.
            pub fn d_features(&self) -> usize {
                self.$shift.len()
            }
        }
    };
}

pub(super) use column_scaler;
