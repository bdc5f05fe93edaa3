//! Linear programs: the largest c·x over x ≥ 0 with every row a·x between two numbers.
//!
//! A thin coat over the solver `microlp`, which holds its answers to the constraints as they were written.

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, Variable};

use crate::{Error, Result};

/// How far a constraint may be missed. Shares of a million rows differ by 1e-6.
const TOLERANCE: f64 = 1e-9;

/// A linear program in the making: variables that are not negative, and an objective to maximise.
#[derive(Debug)]
pub(crate) struct LinearProgram {
    problem: Problem,
    variables: Vec<Variable>,
}

/// Where the objective is largest, and how large.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Optimum {
    pub(crate) value: f64,
    pub(crate) variables: Vec<f64>,
}

impl LinearProgram {
    /// One variable for each coefficient of the objective.
    pub(crate) fn maximize(objective: impl IntoIterator<Item = f64>) -> Self {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let variables =
            objective.into_iter().map(|coefficient| problem.add_var(coefficient, (0.0, f64::INFINITY))).collect();
        Self { problem, variables }
    }

    /// Demands low ≤ Σ coefficient · variable ≤ high. Terms name each variable once at most; a `low` of minus
    /// infinity leaves that side open.
    pub(crate) fn constrain(&mut self, terms: impl IntoIterator<Item = (usize, f64)>, low: f64, high: f64) {
        let terms: Vec<(Variable, f64)> =
            terms.into_iter().map(|(variable, coefficient)| (self.variables[variable], coefficient)).collect();
        if low == high {
            self.problem.add_constraint(&terms, ComparisonOp::Eq, low);
            return;
        }
        self.problem.add_constraint(&terms, ComparisonOp::Le, high);
        if low > f64::NEG_INFINITY {
            self.problem.add_constraint(&terms, ComparisonOp::Ge, low);
        }
    }

    /// The optimum, or nothing when the constraints contradict each other.
    pub(crate) fn solve(&self) -> Result<Option<Optimum>> {
        let mut options = SolveOptions::default();
        options.tolerances.feasibility = TOLERANCE;
        let outcome = match self.problem.solve_with(options) {
            Ok(outcome) => outcome,
            Err(microlp::Error::Infeasible) => return Ok(None),
            Err(error) => return Err(unsolved(error)),
        };
        let solution = outcome.solution().ok_or_else(|| unsolved("no answer"))?;
        Ok(Some(Optimum {
            value: solution.objective(),
            variables: self.variables.iter().map(|&v| solution.var_value(v).max(0.0)).collect(),
        }))
    }
}

fn unsolved(reason: impl std::fmt::Display) -> Error {
    Error::data("linear program of the labelers' errors", "an optimum", reason)
        .with_hint("round the errors to fewer digits, or leave out labelers that hardly ever vote")
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn a_textbook_program_has_its_known_optimum() {
        // max 3x + 5y, x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6).
        let mut program = LinearProgram::maximize([3.0, 5.0]);
        program.constrain([(0, 1.0)], f64::NEG_INFINITY, 4.0);
        program.constrain([(1, 2.0)], f64::NEG_INFINITY, 12.0);
        program.constrain([(0, 3.0), (1, 2.0)], f64::NEG_INFINITY, 18.0);
        let optimum = program.solve().unwrap().unwrap();
        assert_abs_diff_eq!(optimum.value, 36.0, epsilon = 1e-8);
        assert_abs_diff_eq!(&optimum.variables[..], &[2.0, 6.0][..], epsilon = 1e-8);
    }

    #[test]
    fn both_sides_and_equalities_count() {
        let mut program = LinearProgram::maximize([-1.0, 0.0]);
        program.constrain([(0, 1.0), (1, 1.0)], 1.0, 1.0);
        program.constrain([(1, 1.0)], 0.25, 0.75);
        assert_abs_diff_eq!(program.solve().unwrap().unwrap().value, -0.25, epsilon = 1e-8);
    }

    #[test]
    fn contradictions_have_no_optimum() {
        let mut program = LinearProgram::maximize([1.0]);
        program.constrain([(0, 1.0)], 1.0, 1.0);
        program.constrain([(0, 1.0)], 2.0, 2.0);
        assert_eq!(program.solve().unwrap(), None);
    }

    #[test]
    fn equalities_that_repeat_each_other_and_empty_rows_do_no_harm() {
        let mut program = LinearProgram::maximize([1.0, 0.0]);
        for scale in [1.0, 1.0, 0.5] {
            program.constrain([(0, scale), (1, scale)], scale, scale);
        }
        program.constrain([], 0.0, 0.0);
        assert_abs_diff_eq!(program.solve().unwrap().unwrap().value, 1.0, epsilon = 1e-8);
    }

    #[test]
    fn an_unbounded_program_is_an_error() {
        assert!(LinearProgram::maximize([1.0]).solve().is_err());
    }
}
