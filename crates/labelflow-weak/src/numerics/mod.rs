//! Solvers, sums over rows in parallel, and seeded streams.

pub(crate) mod assignment;
pub(crate) mod cholesky;
mod gamma;
mod lbfgs;
pub(crate) mod linear_program;
pub(crate) mod row_chunks;
mod simplex;
mod streams;
mod symmetric_eigen;
pub(crate) mod vectors;

pub use assignment::best_assignment;
pub(crate) use cholesky::Cholesky;
pub(crate) use gamma::{digamma, ln_gamma};
pub(crate) use lbfgs::Point;
pub use lbfgs::{Lbfgs, Minimum};
pub(crate) use linear_program::{LinearProgram, Optimum};
pub use row_chunks::RowChunks;
pub(crate) use row_chunks::fill_rows;
pub(crate) use simplex::normalize_weights;
pub use simplex::{normalize_logs, project_onto_simplex};
pub use streams::{indexed_stream, scramble, stream};
pub(crate) use symmetric_eigen::SymmetricEigen;
pub use vectors::dot_in_lanes;
pub(crate) use vectors::{dot, largest, largest_change};
