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

/// Repeats rounds that improve a model until one moves it by less than `tolerance`. A round returns the objective and how
/// far it moved; the objectives of all rounds are returned.
pub(crate) fn until_settled(
    max_iterations: usize,
    tolerance: f64,
    mut round: impl FnMut() -> (f64, f64),
) -> (Vec<f64>, StopReason) {
    let mut objectives = Vec::new();
    for _ in 0..max_iterations {
        let (objective, change) = round();
        objectives.push(objective);
        if change < tolerance {
            return (objectives, StopReason::Converged);
        }
    }
    (objectives, StopReason::MaxIterations)
}
