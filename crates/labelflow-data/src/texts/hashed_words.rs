//! Text as numbers without a vocabulary: each word adds to the column that its hash names.
//!
//! ```text
//! x[i][h(word)] += count        then log(1 + x), then each row scaled to length one
//! ```

use labelflow_weak::rows::Features;
use labelflow_weak::settings::check_at_least_one;
use ndarray::{Array2, Axis};

use crate::Result;

/// Turns texts into rows of hashed word counts. Nothing is learnt, so train and test texts can be treated apart.
///
/// A word is a run of letters, digits and apostrophes, in lower case. A text without words is a row of zeros.
///
/// ```
/// use labelflow_data::texts::HashedWords;
///
/// let features = HashedWords { d_features: 64 }.transform(&["Free prize!", "free PRIZE", ""])?;
/// assert_eq!(features.values().row(0), features.values().row(1));
/// assert_eq!(features.values().row(2).sum(), 0.0);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedWords {
    /// Number of columns.
    pub d_features: usize,
}

impl Default for HashedWords {
    fn default() -> Self {
        Self { d_features: 512 }
    }
}

impl HashedWords {
    /// One row a text, `[n_texts, d_features]`.
    pub fn transform(&self, texts: &[impl AsRef<str>]) -> Result<Features> {
        check_at_least_one(&[("d_features", self.d_features)])?;
        let mut values = Array2::<f32>::zeros((texts.len(), self.d_features));
        for (text, mut row) in texts.iter().zip(values.axis_iter_mut(Axis(0))) {
            for word in words(text.as_ref()) {
                row[(fnv1a(&word) % self.d_features as u64) as usize] += 1.0;
            }
            row.mapv_inplace(f32::ln_1p);
            let length = row.dot(&row).sqrt();
            if length > 0.0 {
                row /= length;
            }
        }
        let names = (0..self.d_features).map(|column| format!("words{column}")).collect();
        Ok(Features::with_names(values, names)?)
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The 64-bit FNV-1a hash: the same on every machine and in every version, which std's hasher does not promise.
fn fnv1a(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of the FNV authors.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn rows_have_length_one_and_counts_are_damped() {
        let hashed = HashedWords::default();
        let features = hashed.transform(&["call call call now", "don't É"]).unwrap();
        let row = features.values().row(0).to_owned();
        assert_abs_diff_eq!(row.dot(&row), 1.0, epsilon = 1e-6);
        let column = |word: &str| (fnv1a(word) % 512) as usize;
        let ratio = row[column("call")] / row[column("now")];
        assert_abs_diff_eq!(ratio, 4f64.ln() / 2f64.ln(), epsilon = 1e-5);
        assert!(features.values()[[1, column("don't")]] > 0.0);
        assert!(features.values()[[1, column("é")]] > 0.0);
    }

    #[test]
    fn no_columns_and_no_texts_are_errors() {
        assert!(HashedWords { d_features: 0 }.transform(&["a"]).is_err());
        assert!(HashedWords::default().transform(&[""; 0]).is_err());
    }
}
