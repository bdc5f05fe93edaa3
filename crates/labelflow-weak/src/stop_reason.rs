//! Why an iterative method ended.

/// Why an iterative method ended. Not converging is no error: the result is the best one found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The tolerance was reached.
    Converged,
    /// The iterations were used up.
    MaxIterations,
    /// Rounding errors hide any further progress.
    NoProgress,
}
