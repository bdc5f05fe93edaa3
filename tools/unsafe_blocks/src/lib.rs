//! The files with unsafe blocks, where they are in the crates, and tests of them for Miri and the address sanitizer.

#![allow(dead_code)]

// The little that the files want of the tensor library and of their crate.
extern crate self as burn;

pub mod layers {
    pub const EPSILON: f64 = 1e-5;
}

pub mod backend {
    pub trait Element: Copy + Default + std::fmt::Debug + Send + Sync + 'static {}
    impl Element for f32 {}
    impl Element for f64 {}
}

#[path = "../../../crates/labelflow-flow/src/fused"]
mod fused {
    mod buffers;
    mod float;
    mod matmul;
    mod rows;
}

#[cfg(feature = "python")]
#[path = "../../../bindings/python/src/shared_votes.rs"]
mod shared_votes;

#[cfg(all(test, feature = "python"))]
mod tests {
    use numpy::{PyArray2, PyArrayMethods};
    use pyo3::prelude::*;
    use pyo3::types::IntoPyDict;

    use super::shared_votes::SharedVotes;

    fn array(py: Python<'_>, n_rows: usize) -> Bound<'_, PyArray2<i8>> {
        let rows: Vec<Vec<i8>> = (0..n_rows).map(|row| vec![0, 1, (row % 3) as i8 - 1]).collect();
        PyArray2::from_vec2(py, &rows).unwrap()
    }

    #[test]
    fn votes_outlive_the_array_of_their_caller() {
        for n_rows in [1, 1000] {
            let shared = Python::attach(|py| SharedVotes::new(&array(py, n_rows)).unwrap());
            Python::attach(|py| py.run(c"import gc; gc.collect()", None, None).unwrap());
            let sum = |votes: &[u8]| votes.iter().map(|&vote| i64::from(vote.cast_signed())).sum::<i64>();
            let expected =
                Python::attach(|py| array(py, n_rows).to_vec().unwrap()).into_iter().map(i64::from).sum::<i64>();
            // Read by several threads without the interpreter's lock, dropped by one of them.
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert_eq!(sum(shared.as_ref()), expected));
                }
            });
            std::thread::spawn(move || drop(shared)).join().unwrap();
        }
    }

    #[test]
    fn an_array_is_resized_once_it_is_no_longer_shared_and_one_with_gaps_is_refused() {
        Python::attach(|py| {
            let array = array(py, 10);
            let shared = SharedVotes::new(&array).unwrap();
            let refcheck = [("refcheck", false)].into_py_dict(py).unwrap();
            let resize = || array.call_method("resize", ((100_000, 3),), Some(&refcheck));
            assert!(resize().is_err());
            assert_eq!(shared.as_ref().len(), 30);
            drop(shared);
            assert!(resize().is_ok());
            let transposed = array.getattr("T").unwrap();
            assert!(SharedVotes::new(transposed.cast().unwrap()).is_err());
            let every_other = array.get_item((pyo3::types::PySlice::new(py, 0, 10, 2), pyo3::types::PySlice::full(py)));
            assert!(SharedVotes::new(every_other.unwrap().cast().unwrap()).is_err());
        });
    }
}
