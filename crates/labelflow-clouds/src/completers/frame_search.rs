//! Where a scan lies in the frame of the shapes.
//!
//! Networks know shapes in a ball of radius 0.5 around the middle of their box. A scan shows neither the middle nor the radius of the
//! whole. The search tries frames, completes the scan in each, and keeps the frame whose completions fit best:
//!
//! ```text
//! cost = d_H(scan, completion) / radius of the scan + w · (D(completion) − 1)²
//! ```
//!
//! Distances are taken relative to the scan: a scan that is made very small would otherwise fit anywhere. Candidates are drawn broadly
//! first, then around the best ones (the cross-entropy method).

use labelflow::Result;
use labelflow::training::stream;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::completion_dataset::redrawn;
use crate::completers::Completer;
use crate::completers::settings_check::is;
use crate::geometry::{Normalization, PointCloud, PointSet};
use crate::metrics::directed_hausdorff;

/// How the frame of a scan is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanFrame {
    /// The scan is in the frame of the shapes already.
    Same,
    /// The scan's own box, as if nothing large were missing.
    Scan,
    /// A given one: the middle of the complete shape's box, and what brings its radius to 0.5.
    Given(Normalization),
    /// The one whose completions fit best.
    Auto(FrameSearch),
}

settings! {
    checked
    /// Settings of the search.
    pub struct FrameSearch {
        /// Frames that are tried in a round. Default: 48.
        n_candidates: usize = 48 => at_least(1),
        /// Rounds. Default: 4.
        n_rounds: usize = 4 => at_least(1),
        /// The weight of (D − 1)² beside the distance. Default: 0.1.
        doubt_weight: f64 = 0.1 => not_negative,
        /// The smallest share of the complete shape's radius that the scan may have. Default: 0.4.
        smallest_scan: f64 = 0.4 => share_above_zero,
        /// The seed of the candidates. Default: 0.
        seed: u64 = 0,
    }
}

impl ScanFrame {
    /// The frame with a name: `auto`, `scan` or `same`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto(FrameSearch::default())),
            "scan" => Some(Self::Scan),
            "same" => Some(Self::Same),
            _ => None,
        }
    }

    /// The one of a complete shape with this middle and radius, in the scan's units.
    pub fn of_ball(center: [f64; 3], radius: f64) -> Result<Self> {
        Ok(Self::Given(Normalization::new(center, Normalization::SHAPE_RADIUS / radius)?))
    }
}

/// A frame in the terms of the scan's own box: how large the scan is in it, and where its middle lies.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    /// The radius of the scan in the frame of the shapes.
    radius: f64,
    /// The middle of the scan's box in the frame of the shapes.
    middle: [f64; 3],
}

fn share_above_zero(setting: &str, share: &f64) -> Result<()> {
    is(setting, "a share above 0 and at most 1", share, *share > 0.0 && *share <= 1.0)
}

impl FrameSearch {
    /// Any frame in which the scan is large enough and inside the ball.
    fn broad(&self, rng: &mut ChaCha8Rng) -> Candidate {
        let largest = Normalization::SHAPE_RADIUS;
        let radius = rng.random_range(self.smallest_scan..=1.0) * largest;
        let middle = std::array::from_fn(|_| rng.random_range(-1.0..=1.0) * (largest - radius));
        Candidate { radius, middle }
    }

    /// A frame near those of the elite.
    fn near(&self, elite: &[Candidate], rng: &mut ChaCha8Rng) -> Candidate {
        let mut draw = |value: &dyn Fn(&Candidate) -> f64| {
            let n = elite.len() as f64;
            let mean = elite.iter().map(value).sum::<f64>() / n;
            let square = elite.iter().map(|one| (value(one) - mean).powi(2)).sum::<f64>() / n;
            let noise: f64 = StandardNormal.sample(rng);
            mean + (square.sqrt() + 0.005) * noise
        };
        let largest = Normalization::SHAPE_RADIUS;
        let radius = draw(&|one| one.radius).clamp(self.smallest_scan * largest, largest);
        Candidate { radius, middle: std::array::from_fn(|axis| draw(&|one| one.middle[axis])) }
    }

    /// The frame of a scan whose completions by a model fit best.
    pub(crate) fn find<M: Completer + ?Sized>(&self, model: &M, scan: &PointCloud) -> Result<Normalization> {
        self.check_each("")?;
        let own = Normalization::fit(scan, 1.0)?;
        let rng = &mut stream(self.seed, "frames", 0);
        // All candidates see the same points and the same noise: they differ by their frames alone.
        let points = redrawn(&own.apply(scan)?, model.n_partial_points(), rng)?;
        let whole = Candidate { radius: Normalization::SHAPE_RADIUS, middle: [0.0; 3] };
        let mut candidates: Vec<Candidate> = (1..self.n_candidates).map(|_| self.broad(rng)).chain([whole]).collect();
        let mut tried: Vec<(f64, Candidate)> = Vec::new();
        for round in 0..self.n_rounds {
            if round > 0 {
                let elite = &tried[..tried.len().min((self.n_candidates / 6).max(2))];
                let elite: Vec<Candidate> = elite.iter().map(|&(_, one)| one).collect();
                candidates = (0..self.n_candidates).map(|_| self.near(&elite, rng)).collect();
            }
            let costs = self.costs(model, &points, &candidates)?;
            tried.extend(costs.into_iter().zip(candidates.iter().copied()));
            tried.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        let (_, best) = tried[0];
        // best: p = (x − c) · s · radius + middle = (x − (c − middle / (s · radius))) · s · radius
        let scale = own.scale() * best.radius;
        let center = own.center();
        let center = std::array::from_fn(|axis| center[axis] - best.middle[axis] / scale);
        Ok(Normalization::new(center, scale)?)
    }

    /// What completions of a scan of radius 1 cost in each of these frames.
    fn costs<M: Completer + ?Sized>(&self, model: &M, points: &PointSet, candidates: &[Candidate]) -> Result<Vec<f64>> {
        let place = |Candidate { radius, middle }: &Candidate| {
            let placed =
                |point: &[f32; 3]| std::array::from_fn(|axis| (f64::from(point[axis]) * radius + middle[axis]) as f32);
            Ok(PointSet::new(points.as_slice().iter().map(placed).collect())?)
        };
        let scans: Vec<PointSet> = candidates.iter().map(place).collect::<Result<_>>()?;
        let completions = model.one_each(&scans, self.seed)?;
        let doubts = model.scores(&completions)?;
        let cost = |index: usize| {
            let distance = directed_hausdorff(&scans[index], &completions[index]).distance;
            let doubt = (doubts[index] - 1.0).powi(2);
            distance / candidates[index].radius + self.doubt_weight * doubt
        };
        Ok((0..candidates.len()).into_par_iter().map(cost).collect())
    }
}
