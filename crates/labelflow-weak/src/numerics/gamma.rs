//! The logarithm of the gamma function and its derivative, for positive numbers.
//!
//! ```text
//! ln Γ(x) = ln Γ(x + n) − Σ ln(x + k),   ψ(x) = ψ(x + n) − Σ 1 / (x + k)      until the series of Stirling converges
//! ln Γ(x) ≈ (x − ½) ln x − x + ½ ln 2π + 1 / 12x − 1 / 360x³ + 1 / 1260x⁵ − 1 / 1680x⁷
//! ψ(x)    ≈ ln x − 1 / 2x − 1 / 12x² + 1 / 120x⁴ − 1 / 252x⁶ + 1 / 240x⁸
//! ```

use std::f64::consts::TAU;

/// From here on the series have twelve digits.
const LARGE: f64 = 12.0;

/// ln Γ(x) for x > 0.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < LARGE {
        product *= x;
        x += 1.0;
    }
    let inverse = x.recip();
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + series - product.ln()
}

/// The derivative of [`ln_gamma`].
pub(crate) fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum += x.recip();
        x += 1.0;
    }
    let inverse = x.recip();
    let square = inverse * inverse;
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)));
    x.ln() - 0.5 * inverse - series - sum
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn known_answers() {
        assert_abs_diff_eq!(ln_gamma(1.0), 0.0, epsilon = 1e-12);
        assert_abs_diff_eq!(ln_gamma(11.0), 3_628_800f64.ln(), epsilon = 1e-12);
        assert_abs_diff_eq!(ln_gamma(0.5), (TAU / 2.0).sqrt().ln(), epsilon = 1e-12);
        // Minus Euler's constant, and what a half adds to it.
        assert_abs_diff_eq!(digamma(1.0), -0.577_215_664_901_532_9, epsilon = 1e-12);
        assert_abs_diff_eq!(digamma(0.5), -0.577_215_664_901_532_9 - 4f64.ln(), epsilon = 1e-12);
    }

    #[test]
    fn one_is_the_derivative_of_the_other() {
        for x in [0.1, 0.9, 3.3, 11.99, 12.01, 500.0] {
            let slope = (ln_gamma(x + 1e-5) - ln_gamma(x - 1e-5)) / 2e-5;
            assert_abs_diff_eq!(slope, digamma(x), epsilon = 1e-6);
        }
    }
}
