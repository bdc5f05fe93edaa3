//! Operations on slices of numbers.

/// The sum of products. Eight sums at once let the compiler use vector instructions.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_in_lanes::<8, f64>(a, b)
}

/// The sum of products, as so many sums at once.
#[inline]
pub fn dot_in_lanes<const LANES: usize, T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(&a, b)| a.into() * b).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane].into() * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The largest absolute value; NaN counts as infinite, so that it never looks converged.
pub(crate) fn largest(values: &[f64]) -> f64 {
    largest_of(values.iter().copied())
}

/// The largest absolute difference; NaN counts as infinite.
pub(crate) fn largest_change(a: &[f64], b: &[f64]) -> f64 {
    largest_of(a.iter().zip(b).map(|(a, b)| a - b))
}

fn largest_of(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |largest, value| if value.is_nan() { f64::INFINITY } else { value.abs().max(largest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_length_are_added_up() {
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        for n in 0..19 {
            let expected = (n * (n + 1) * (2 * n + 1) / 6) as f64;
            assert_eq!(dot(&values[..n], &values[..n]), expected);
        }
    }

    #[test]
    fn nan_never_looks_small() {
        assert_eq!(largest(&[0.5, -2.0, 1.0]), 2.0);
        assert_eq!(largest(&[]), 0.0);
        assert_eq!(largest(&[f64::NAN, 1.0]), f64::INFINITY);
        assert_eq!(largest_change(&[1.0, 2.0], &[1.5, 1.0]), 1.0);
        assert_eq!(largest_change(&[1.0, f64::NAN], &[1.0, 1.0]), f64::INFINITY);
    }
}
