//! Ordinary least squares: the straight line, or plane, nearest to the labels.
//!
//! ```text
//! minimise over w, w0:  mean over rows of (w · z + w0 − y)² + ε |w|²,   z = standardised features,  ε = 1e-10
//! (Zᵀ Z / n + ε I) w = Zᵀ (y − mean y) / n,   w0 = mean y
//! ```
//!
//! The tiny ε decides where least squares does not: among weights that fit equally well, as with columns that are constant,
//! repeated or sums of others, it takes the shortest. Elsewhere it changes nothing that could be measured.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::linear::Scaler;
use crate::numerics::Cholesky;
use crate::rows::check_columns;
use crate::{Error, Result, ensure};

/// The weight of |w|², in units of the features' variance.
const RIDGE: f64 = 1e-10;
/// So many rows are standardised at a time.
const CHUNK: usize = 4096;

/// Least squares with an intercept. It needs true labels: it is the reference that weak supervision is compared with.
///
/// ```
/// use labelflow_weak::linear::LinearRegression;
/// use ndarray::array;
///
/// let features = array![[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
/// let fitted = LinearRegression.fit(features.view(), &[1.0, 3.0, 5.0])?;
/// let predicted = fitted.predict(array![[10.0, 1.0]].view())?;
/// assert!((predicted[0] - 21.0).abs() < 1e-6);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinearRegression;

/// A linear function of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedLinearRegression {
    scaler: Scaler,
    /// The weight of each standardised column, `[d_features]`.
    pub weights: Vec<f64>,
    /// The prediction where every column has its mean.
    pub intercept: f64,
}

impl LinearRegression {
    /// Fits one weight per column of `features`, `[n_rows, d_features]`, and an intercept to the `labels` of the rows.
    /// Features are standardised first, so their units do not matter.
    pub fn fit(&self, features: ArrayView2<'_, f64>, labels: &[f64]) -> Result<FittedLinearRegression> {
        ensure(labels.len() == features.nrows(), || {
            Error::data("labels", format!("{} values, one per row", features.nrows()), labels.len())
        })?;
        if let Some(row) = labels.iter().position(|label| !label.is_finite()) {
            return Err(Error::data(format!("labels, row {row}"), "a finite number", labels[row]));
        }
        let scaler = Scaler::standard(features)?;
        // Labels of any size are brought near 1, so that no square is too large.
        let largest = labels.iter().fold(0.0f64, |largest, label| largest.max(label.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let n_rows = labels.len() as f64;
        let mean = labels.iter().map(|label| label / scale).sum::<f64>() / n_rows;
        let centred: Array1<f64> = labels.iter().map(|label| label / scale - mean).collect();
        let (mut gram, products) = products(&scaler, features, &centred);
        gram.diag_mut().mapv_inplace(|square| square + RIDGE);
        let factor = Cholesky::new(gram.into_raw_vec_and_offset().0, features.ncols()).ok_or_else(|| {
            Error::data("features", "columns that can be told apart", "a singular system")
                .with_hint("drop columns that are sums of others")
        })?;
        let mut weights = products.to_vec();
        factor.solve(&mut weights);
        weights.iter_mut().for_each(|weight| *weight *= scale);
        Ok(FittedLinearRegression { scaler, weights, intercept: mean * scale })
    }
}

/// Zᵀ Z / n and Zᵀ y / n, summed chunk after chunk so that memory stays small.
fn products(scaler: &Scaler, features: ArrayView2<'_, f64>, labels: &Array1<f64>) -> (Array2<f64>, Array1<f64>) {
    let d_features = features.ncols();
    let mut gram = Array2::zeros((d_features, d_features));
    let mut products = Array1::zeros(d_features);
    for (chunk, rows) in features.axis_chunks_iter(Axis(0), CHUNK).enumerate() {
        let z = scaler.scaled(rows, |z| z);
        let first = chunk * CHUNK;
        products += &z.t().dot(&labels.slice(s![first..first + rows.nrows()]));
        gram += &z.t().dot(&z);
    }
    let n_rows = features.nrows() as f64;
    (gram / n_rows, products / n_rows)
}

impl FittedLinearRegression {
    /// The prediction for each row of `features`, `[n_rows, d_features]`.
    pub fn predict(&self, features: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
        check_columns(features, self.weights.len())?;
        let weights = Array1::from(self.weights.clone());
        let predict = |rows| (self.scaler.scaled(rows, |z| z).dot(&weights) + self.intercept).to_vec();
        Ok(features.axis_chunks_iter(Axis(0), CHUNK).flat_map(predict).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
        let near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < tolerance);
        assert!(near && found.len() == expected.len(), "{found:?}, expected {expected:?}");
    }

    #[test]
    fn a_textbook_line_is_found() {
        // By hand: the slope is the sum of (x − 2.5) y over that of (x − 2.5)², 3.4 / 5; the mean label is 3.4.
        let features = array![[1.0], [2.0], [3.0], [4.0]];
        let fitted = LinearRegression.fit(features.view(), &[2.0, 4.0, 3.0, 4.6]).unwrap();
        let slope = fitted.weights[0] / fitted.scaler.widths()[0];
        assert_near(&[slope, fitted.intercept], &[0.68, 3.4], 1e-8);
    }

    #[test]
    fn constant_and_repeated_columns_do_no_harm() {
        let features = array![[1.0, 1.0, 7.0, 2.0], [2.0, 2.0, 7.0, 4.0], [4.0, 4.0, 7.0, 8.0], [8.0, 8.0, 7.0, 16.0]];
        let labels = [3.0, 5.0, 9.0, 17.0];
        let fitted = LinearRegression.fit(features.view(), &labels).unwrap();
        assert_near(&fitted.predict(features.view()).unwrap(), &labels, 1e-6);
        // The shortest weights share the slope alike.
        let weights = fitted.weights;
        assert_near(&[weights[1], weights[3]], &[weights[0]; 2], 1e-4);
        assert_eq!(weights[2], 0.0);
    }

    #[test]
    fn fewer_rows_than_columns_and_one_row_are_fitted() {
        let features = array![[1.0, 2.0, 5.0], [3.0, 1.0, 4.0]];
        let fitted = LinearRegression.fit(features.view(), &[1.0, -1.0]).unwrap();
        assert_near(&fitted.predict(features.view()).unwrap(), &[1.0, -1.0], 1e-6);
        let fitted = LinearRegression.fit(array![[1.0, 2.0]].view(), &[4.0]).unwrap();
        assert_eq!(fitted.predict(array![[9.0, 9.0]].view()).unwrap(), [4.0]);
    }

    #[test]
    fn extreme_labels_stay_finite() {
        let features = array![[1.0], [2.0], [3.0]];
        for scale in [1e-300, 1e300] {
            let labels = [scale, 2.0 * scale, 3.0 * scale];
            let fitted = LinearRegression.fit(features.view(), &labels).unwrap();
            assert_near(&fitted.predict(features.view()).unwrap(), &labels, 1e-6 * scale);
        }
        let fitted = LinearRegression.fit(features.view(), &[0.0; 3]).unwrap();
        assert_eq!(fitted.predict(features.view()).unwrap(), [0.0; 3]);
    }

    #[test]
    fn bad_input_is_an_error() {
        let features = array![[1.0], [2.0]];
        assert!(LinearRegression.fit(features.view(), &[1.0]).is_err());
        assert!(LinearRegression.fit(features.view(), &[1.0, f64::NAN]).is_err());
        assert!(LinearRegression.fit(array![[f64::NAN]].view(), &[1.0]).is_err());
        assert!(LinearRegression.fit(Array2::zeros((0, 1)).view(), &[]).is_err());
        let fitted = LinearRegression.fit(features.view(), &[1.0, 2.0]).unwrap();
        assert!(fitted.predict(array![[1.0, 2.0]].view()).is_err());
    }

    proptest! {
        #[test]
        fn residuals_are_orthogonal_to_every_column(
            rows in proptest::collection::vec([-10.0..10.0, -1.0..1.0, 0.0..1e3], 5..40),
            noise in proptest::collection::vec(-5.0f64..5.0, 40),
        ) {
            let features = Array2::from(rows);
            let labels = &noise[..features.nrows()];
            let fitted = LinearRegression.fit(features.view(), labels).unwrap();
            let predicted = fitted.predict(features.view()).unwrap();
            let z = fitted.scaler.scaled(features.view(), |z| z);
            let residuals: Array1<f64> =
                labels.iter().zip(&predicted).map(|(label, p)| label - p).collect();
            prop_assert!(residuals.sum().abs() < 1e-6);
            prop_assert!(z.t().dot(&residuals).iter().all(|product| product.abs() < 1e-5));
        }
    }
}
