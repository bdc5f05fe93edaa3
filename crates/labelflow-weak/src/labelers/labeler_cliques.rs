//! Which labelers must be treated as one group because they depend on each other beyond the true class.
//!
//! Dependencies are the edges of a graph. The theory of graphical models speaks of the cliques of a graph without empty
//! cycles (a triangulated graph): labelers are taken out one by one, those first whose neighbours need the fewest new
//! edges to know each other, and the new edges are added. A graph that has no empty cycles stays as it is.

use ndarray::Array2;

use crate::{Error, Result};

/// For each pair of labelers whether one clique holds both, `[n_signals, n_signals]`. A labeler shares one with itself.
pub(crate) fn shared_cliques(n_signals: usize, dependencies: &[(usize, usize)]) -> Result<Array2<bool>> {
    let mut joined = Array2::from_elem((n_signals, n_signals), false);
    for &(one, other) in dependencies {
        if one.max(other) >= n_signals || one == other {
            let expected = format!("pairs of different labelers from 0 to {}", n_signals - 1);
            return Err(Error::config("dependencies", expected, format!("({one}, {other})")));
        }
        join(&mut joined, one, other);
    }
    triangulate(&mut joined);
    (0..n_signals).for_each(|signal| joined[[signal, signal]] = true);
    Ok(joined)
}

fn join(joined: &mut Array2<bool>, one: usize, other: usize) {
    joined[[one, other]] = true;
    joined[[other, one]] = true;
}

fn triangulate(joined: &mut Array2<bool>) {
    let mut remaining: Vec<usize> = (0..joined.nrows()).collect();
    while !remaining.is_empty() {
        let missing_of = |&(_, &signal): &(usize, &usize)| missing_edges(joined, &remaining, signal).len();
        let (position, &signal) = remaining.iter().enumerate().min_by_key(missing_of).expect("some labelers remain");
        for (one, other) in missing_edges(joined, &remaining, signal) {
            join(joined, one, other);
        }
        remaining.remove(position);
    }
}

/// The pairs of a labeler's remaining neighbours that are not joined.
fn missing_edges(joined: &Array2<bool>, remaining: &[usize], signal: usize) -> Vec<(usize, usize)> {
    let neighbours: Vec<usize> = remaining.iter().copied().filter(|&other| joined[[signal, other]]).collect();
    let mut missing = Vec::new();
    for (position, &one) in neighbours.iter().enumerate() {
        let others = neighbours[position + 1..].iter().filter(|&&other| !joined[[one, other]]);
        missing.extend(others.map(|&other| (one, other)));
    }
    missing
}

/// Whether there are three labelers of which no two share a clique.
pub(crate) fn has_independent_triple(shared: &Array2<bool>) -> bool {
    let n = shared.nrows();
    (0..n).any(|a| {
        (a + 1..n).filter(|&b| !shared[[a, b]]).any(|b| (b + 1..n).any(|c| !shared[[a, c]] && !shared[[b, c]]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n_signals: usize, dependencies: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let shared = shared_cliques(n_signals, dependencies).unwrap();
        assert_eq!(shared, shared.t());
        let upper = shared.indexed_iter().filter(|((a, b), shared)| a < b && **shared);
        upper.map(|(pair, _)| pair).collect()
    }

    #[test]
    fn graphs_without_empty_cycles_stay_as_they_are() {
        assert_eq!(pairs(4, &[]), []);
        assert_eq!(pairs(4, &[(2, 0), (0, 2)]), [(0, 2)]);
        assert_eq!(pairs(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]), [(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(pairs(3, &[(0, 1), (1, 2), (0, 2)]), [(0, 1), (0, 2), (1, 2)]);
        let star = [(0, 1), (0, 2), (0, 3), (0, 4)];
        assert_eq!(pairs(5, &star), star);
    }

    #[test]
    fn an_empty_cycle_gets_a_chord() {
        assert_eq!(pairs(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).len(), 5);
        // A cycle of six needs three chords, whichever they are.
        let cycle: Vec<_> = (0..6).map(|signal| (signal, (signal + 1) % 6)).collect();
        assert_eq!(pairs(6, &cycle).len(), 9);
    }

    #[test]
    fn independent_triples_are_found() {
        let found = |n_signals, dependencies: &[(usize, usize)]| {
            has_independent_triple(&shared_cliques(n_signals, dependencies).unwrap())
        };
        assert!(found(3, &[]));
        assert!(!found(4, &[(0, 1), (2, 3)]));
        assert!(found(4, &[(0, 1)]));
        assert!(found(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]));
    }

    #[test]
    fn unknown_labelers_are_an_error() {
        for pair in [(0, 3), (3, 0), (1, 1)] {
            let error = shared_cliques(3, &[pair]).unwrap_err().to_string();
            assert!(error.starts_with("dependencies: expected pairs of different"), "{error}");
        }
    }
}
