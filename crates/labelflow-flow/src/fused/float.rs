//! The numbers that the fused operations compute with: f32, and f64 for tests and exact work.

use std::cell::Cell;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};
use std::sync::Mutex;
use std::thread::LocalKey;

use burn::backend::Element;

/// A floating-point number whose functions the compiler can vectorise: no branches, no calls.
pub(super) trait Float:
    Element
    + bytemuck::Pod
    + PartialOrd
    + Sum
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;

    fn from_f64(value: f64) -> Self;
    /// self · factor + term, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    fn sqrt(self) -> Self;
    fn ln(self) -> Self;
    fn abs(self) -> Self;
    /// e^self, to the last digit or two; beyond the range of normal numbers it stays at the range's end.
    fn exp(self) -> Self;

    /// Large buffers that wait for their next use.
    fn spare_buffers() -> &'static Mutex<Vec<Vec<Self>>>;

    /// Memory of this thread for a tile.
    fn scratch() -> &'static LocalKey<Cell<Vec<Self>>>;

    #[inline(always)]
    fn recip(self) -> Self {
        Self::ONE / self
    }

    /// 1 / (1 + e^−self)
    #[inline(always)]
    fn sigmoid(self) -> Self {
        (Self::ONE + (-self).exp()).recip()
    }

    /// Exact to the last digits of 1; for f64 not to those of a small result.
    fn tanh(self) -> Self;

    #[inline(always)]
    fn silu(self) -> Self {
        self * self.sigmoid()
    }

    /// SiLU and its derivative.
    #[inline(always)]
    fn silu_with_slope(self) -> (Self, Self) {
        let sigmoid = self.sigmoid();
        let value = self * sigmoid;
        (value, sigmoid.mul_add(Self::ONE - value, value))
    }
}

/// e^x = 2ⁿ · e^r with n = round(x / ln 2): adding 1.5 · 2^(digits) rounds, and leaves n in the lowest bits, from where it is
/// shifted into the exponent of the polynomial's value.
macro_rules! float {
    ($float:ident, $n_digits:literal, $range:expr, $ln_2:expr, $n_terms:literal, $tanh:expr) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $float::mul_add(self, factor, term)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $float::ln(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                const ROUND: $float = 1.5 * (1u64 << $n_digits) as $float;
                const LN_2: [$float; 2] = $ln_2;
                /// 1 / n!, from the highest power of a Taylor polynomial to the lowest.
                const TAYLOR: [$float; $n_terms] = {
                    let mut coefficients = [1.0; $n_terms];
                    let (mut exact, mut power) = (1.0, 1);
                    while power < $n_terms {
                        exact /= power as f64;
                        coefficients[$n_terms - 1 - power] = exact as $float;
                        power += 1;
                    }
                    coefficients
                };
                let (low, high) = $range;
                let x = self.clamp(low, high);
                let shifted = x.mul_add(std::$float::consts::LOG2_E, ROUND);
                let n = shifted - ROUND;
                let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x));
                let mut value = 0.0;
                for coefficient in TAYLOR {
                    value = r.mul_add(value, coefficient);
                }
                $float::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << $n_digits))
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                $tanh(self)
            }

            fn spare_buffers() -> &'static Mutex<Vec<Vec<Self>>> {
                static SPARE: Mutex<Vec<Vec<$float>>> = Mutex::new(Vec::new());
                &SPARE
            }

            fn scratch() -> &'static LocalKey<Cell<Vec<Self>>> {
                thread_local! {
                    static SCRATCH: Cell<Vec<$float>> = const { Cell::new(Vec::new()) };
                }
                &SCRATCH
            }
        }
    };
}

// ln 2 in two parts, the first with zeros at its end, so that n times it is exact.
float!(f32, 23, (-87.0, 88.0), [0.693_359_4, -2.121_944_4e-4], 8, tanh_by_fraction);
float!(f64, 52, (-708.0, 709.0), [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10], 14, tanh_by_exponential);

/// 1 − 2 / (1 + e^2x)
#[inline(always)]
fn tanh_by_exponential(x: f64) -> f64 {
    1.0 - 2.0 * (1.0 + Float::exp(2.0 * x)).recip()
}

/// x P(x²) / Q(x²), two thirds of the work of an exponential. The coefficients minimise the largest relative error between −8 and 8, which
/// is 6.4e-9 before rounding; beyond, the result stays what it is there.
#[inline(always)]
fn tanh_by_fraction(x: f32) -> f32 {
    const P: [f32; 5] = [1.523_012e-8, 2.189_445e-5, 3.571_585e-3, 1.344_448_8e-1, 1.0];
    const Q: [f32; 5] = [8.522_325e-7, 3.411_270_7e-4, 2.616_439_4e-2, 4.677_781_5e-1, 1.0];
    let x = x.clamp(-8.0, 8.0);
    let square = x * x;
    let polynomial = |coefficients: [f32; 5]| {
        coefficients.into_iter().fold(0.0, |value, coefficient| square.mul_add(value, coefficient))
    };
    x * polynomial(P) / polynomial(Q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_exact_to_two_digits_of_the_last_place() {
        for step in -8700..8800 {
            let x = f64::from(step) / 100.0 + 0.000_7;
            let exact = x.exp();
            assert!((Float::exp(x) / exact - 1.0).abs() < 1e-15, "f64 at {x}");
            let x = x as f32;
            let relative = f64::from(Float::exp(x)) / f64::from(x).exp() - 1.0;
            assert!(relative.abs() < 2.4e-7, "f32 at {x}: {relative}");
        }
    }

    #[test]
    fn beyond_its_range_the_exponential_is_finite_and_nan_stays_nan() {
        assert!(Float::exp(-1e30f32) < 1e-37 && Float::exp(1e30f32) > 1e38);
        assert!(Float::exp(-1e30f64) < 1e-300 && Float::exp(1e30f64) > 1e300);
        assert!(Float::exp(f32::NAN).is_nan() && Float::exp(f64::NAN).is_nan());
    }

    #[test]
    fn the_hyperbolic_tangent_is_exact_to_the_last_digits_of_one() {
        for step in -5000..5000 {
            let x = (f64::from(step) + 0.5) / 250.0;
            assert!((Float::tanh(x) - x.tanh()).abs() < 4e-16, "f64 at {x}");
            let x = x as f32;
            let (tanh, exact) = (f64::from(Float::tanh(x)), f64::from(x).tanh());
            assert!((tanh - exact).abs() < 3e-7 * exact.abs() && tanh.abs() <= 1.0, "f32 at {x}: {tanh}");
        }
        assert_eq!((Float::tanh(0.0f32), Float::tanh(-1e30f32)), (0.0, -Float::tanh(1e30f32)));
        assert!((1.0 - 3e-7..=1.0).contains(&Float::tanh(1e30f32)));
        assert_eq!((Float::tanh(-1e30f64), Float::tanh(1e30f64)), (-1.0, 1.0));
        assert!(Float::tanh(f32::NAN).is_nan());
    }

    #[test]
    fn the_slope_of_silu_is_its_derivative() {
        for x in [-30.0, -2.0, -0.1, 0.0, 0.7, 5.0, 40.0f64] {
            let (value, slope) = x.silu_with_slope();
            assert_eq!(value, x.silu());
            let numeric = ((x + 1e-6).silu() - (x - 1e-6).silu()) / 2e-6;
            assert!((slope - numeric).abs() < 1e-8, "at {x}: {slope} against {numeric}");
        }
    }
}
