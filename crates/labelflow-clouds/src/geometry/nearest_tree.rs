//! Nearest neighbours, exactly: a balanced tree over blocks of sixteen points.
//!
//! Points are halved along the longest side of their bounding box until blocks of sixteen are left. Queries are such a tree too
//! and come a block at a time: a block of queries walks down the tree of targets, nearer half first, leaves out every
//! half whose box is farther away than all of its sixteen neighbours so far, and compares with whole blocks, sixteen distances
//! an instruction or two. Of the 2048² distances between two shapes it computes a twentieth.
//!
//! Distances come from differences of coordinates, as (dx² + dy²) + dz² in single precision; no instruction set changes a bit of them,
//! and the distance of two boxes is never above that of points in them, even after rounding.

use rayon::prelude::*;

use crate::geometry::PointSet;

/// Points in a block: one register of the widest instruction set, two or four of the others.
pub(super) const BLOCK: usize = 16;
/// The blocks of queries that one thread takes at once, when there are more than that.
const BLOCKS_AT_ONCE: usize = 256;
/// More halvings than any set of points can have.
const DEEPEST: usize = 40;
/// Sets from this size on are split by several threads.
const LARGE: usize = 1 << 15;

/// Evaluates an expression with the best instructions that this machine has; only what is inlined into it profits.
macro_rules! vectorized {
    ($pass:expr) => {{
        // A closure that consumes something can be called only once. Others are called through a shim that is not inlined.
        let once = Once;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let _consumed = once;
                $pass
            },
        )
    }};
}

/// What the closures of `vectorized!` consume.
struct Once;

/// A set of points, ordered for questions about nearest neighbours.
///
/// ```
/// use labelflow_clouds::geometry::{NearestTree, PointSet};
///
/// let targets = NearestTree::new(&PointSet::new(vec![[0.0; 3], [0.0, 2.0, 0.0]])?);
/// let queries = NearestTree::new(&PointSet::new(vec![[0.0, 1.5, 0.0], [3.0, 0.0, 0.0]])?);
/// assert_eq!(targets.squared_distances(&queries), [0.25, 9.0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NearestTree {
    pub(super) blocks: Vec<Block>,
    /// The tree's nodes, each before its left half, which comes before its right half.
    boxes: Vec<Bounds>,
    /// The original index of each point.
    pub(super) order: Vec<u32>,
}

/// Sixteen points by coordinate. The last block of a tree may repeat its last point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block(pub(super) [[f32; BLOCK]; 3]);

/// The smallest and largest coordinates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) low: [f32; 3],
    pub(crate) high: [f32; 3],
}

/// A part of a tree that is still to be visited.
#[derive(Clone, Copy, Default)]
pub(super) struct Visit {
    pub(super) node: usize,
    pub(super) first_block: usize,
    pub(super) n_blocks: usize,
    pub(super) distance: f32,
}

impl NearestTree {
    /// Orders a set of points, in n log n steps.
    pub fn new(points: &PointSet) -> Self {
        let points = points.as_slice();
        let n_blocks = points.len().div_ceil(BLOCK);
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let mut boxes = vec![Bounds::default(); 2 * n_blocks - 1];
        split(points, &mut order, &mut boxes);
        let blocks = order.chunks(BLOCK).map(|indices| Block::of(points, indices)).collect();
        Self { blocks, boxes, order }
    }

    /// The number of points, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// For each query, in the order in which they were given, the squared distance to the nearest point of this tree.
    pub fn squared_distances(&self, queries: &Self) -> Vec<f32> {
        let in_tree_order = self.squared_distances_in_tree_order(queries);
        let mut distances = vec![0.0; queries.len()];
        for (&index, distance) in queries.order.iter().zip(in_tree_order) {
            distances[index as usize] = distance;
        }
        distances
    }

    /// The same in the order of the queries' tree.
    pub fn squared_distances_in_tree_order(&self, queries: &Self) -> Vec<f32> {
        let mut distances = vec![0.0; queries.blocks.len() * BLOCK];
        let fill = |(chunk, distances): (usize, &mut [f32])| {
            let first = chunk * BLOCKS_AT_ONCE;
            vectorized!({
                for (offset, minima) in distances.chunks_exact_mut(BLOCK).enumerate() {
                    minima.copy_from_slice(&self.block_minima(queries, first + offset));
                }
            });
        };
        if queries.blocks.len() <= BLOCKS_AT_ONCE {
            // Handing so little to another thread would take longer than doing it.
            fill((0, &mut distances));
        } else {
            distances.par_chunks_mut(BLOCKS_AT_ONCE * BLOCK).enumerate().for_each(fill);
        }
        distances.truncate(queries.len());
        distances
    }

    /// `offset` plus the mean squared distance of the queries, or nothing as soon as that is known to be above `limit`.
    ///
    /// The sum grows, so that giving up never loses a value that is at most `limit`, not even by rounding.
    pub fn mean_squared_up_to(&self, queries: &Self, offset: f64, limit: f64) -> Option<f64> {
        let n_queries = queries.len() as f64;
        vectorized!({
            let mut sum = 0.0;
            for index in 0..queries.blocks.len() {
                let minima = self.block_minima(queries, index);
                let n_real = (queries.len() - index * BLOCK).min(BLOCK);
                minima[..n_real].iter().for_each(|&distance| sum += f64::from(distance));
                if offset + sum / n_queries > limit {
                    return None;
                }
            }
            Some(offset + sum / n_queries)
        })
    }

    /// Every `n`-th point in the order of the tree, so that they lie all over the shape; at most `n_wanted`.
    pub fn sketch(&self, n_wanted: usize) -> Self {
        let stride = self.len().div_ceil(n_wanted.max(1));
        let point = |index: usize| std::array::from_fn(|axis| self.blocks[index / BLOCK].0[axis][index % BLOCK]);
        let points: Vec<[f32; 3]> = (0..self.len()).step_by(stride).map(point).collect();
        Self::new(&PointSet::new(points).expect("points of a tree are good points"))
    }

    /// The squared distances from a block of queries to their nearest points.
    #[inline(always)]
    fn block_minima(&self, queries: &Self, index: usize) -> [f32; BLOCK] {
        let block = &queries.blocks[index];
        let bounds = block.bounds();
        let mut minima = [f32::INFINITY; BLOCK];
        let mut farthest = f32::INFINITY;
        let mut waiting = [Visit::default(); DEEPEST];
        waiting[0].n_blocks = self.blocks.len();
        let mut n_waiting = 1;
        while n_waiting > 0 {
            n_waiting -= 1;
            let mut here = waiting[n_waiting];
            if here.distance >= farthest {
                continue;
            }
            while here.n_blocks > 1 {
                let (left, right) = self.halves(here, &bounds);
                let (near, far) = if right.distance < left.distance { (right, left) } else { (left, right) };
                if far.distance < farthest {
                    waiting[n_waiting] = far;
                    n_waiting += 1;
                }
                here = near;
            }
            if here.distance < farthest {
                self.blocks[here.first_block].lower(block, &mut minima);
                farthest = minima.iter().fold(0.0, |most, &d| if d > most { d } else { most });
            }
        }
        minima
    }

    #[inline(always)]
    pub(super) fn halves(&self, whole: Visit, bounds: &Bounds) -> (Visit, Visit) {
        let n_left = whole.n_blocks / 2;
        let visit = |node: usize, first_block, n_blocks| Visit {
            node,
            first_block,
            n_blocks,
            distance: self.boxes[node].squared_distance(bounds),
        };
        let left = visit(whole.node + 1, whole.first_block, n_left);
        let right = visit(whole.node + 2 * n_left, whole.first_block + n_left, whole.n_blocks - n_left);
        (left, right)
    }
}

/// Orders points so that each node of the tree owns a run of whole blocks, and measures the nodes.
fn split(points: &[[f32; 3]], order: &mut [u32], boxes: &mut [Bounds]) {
    boxes[0] = Bounds::of(order.iter().map(|&index| points[index as usize]));
    let n_left = order.len().div_ceil(BLOCK) / 2;
    if n_left == 0 {
        return;
    }
    let axis = boxes[0].longest_side();
    let key = |index: u32| points[index as usize][axis];
    order.select_nth_unstable_by(n_left * BLOCK, |&a, &b| key(a).total_cmp(&key(b)).then_with(|| a.cmp(&b)));
    let is_large = order.len() >= LARGE;
    let (left, right) = order.split_at_mut(n_left * BLOCK);
    let (left_boxes, right_boxes) = boxes[1..].split_at_mut(2 * n_left - 1);
    if is_large {
        rayon::join(|| split(points, left, left_boxes), || split(points, right, right_boxes));
    } else {
        split(points, left, left_boxes);
        split(points, right, right_boxes);
    }
}

impl Block {
    fn of(points: &[[f32; 3]], indices: &[u32]) -> Self {
        let point = |lane: usize| points[indices[lane.min(indices.len() - 1)] as usize];
        Self(std::array::from_fn(|axis| std::array::from_fn(|lane| point(lane)[axis])))
    }

    #[inline(always)]
    fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::default();
        for axis in 0..3 {
            let values = &self.0[axis];
            bounds.low[axis] = values.iter().fold(values[0], |a, &b| if b < a { b } else { a });
            bounds.high[axis] = values.iter().fold(values[0], |a, &b| if b > a { b } else { a });
        }
        bounds
    }

    /// Lowers each query's minimum where a point of this block is nearer.
    #[inline(always)]
    fn lower(&self, queries: &Self, minima: &mut [f32; BLOCK]) {
        let [query_x, query_y, query_z] = &queries.0;
        let mut lowest = *minima;
        for target in 0..BLOCK {
            let (x, y, z) = (self.0[0][target], self.0[1][target], self.0[2][target]);
            for lane in 0..BLOCK {
                let (dx, dy, dz) = (query_x[lane] - x, query_y[lane] - y, query_z[lane] - z);
                let distance = dx * dx + dy * dy + dz * dz;
                lowest[lane] = if distance < lowest[lane] { distance } else { lowest[lane] };
            }
        }
        *minima = lowest;
    }
}

impl Bounds {
    pub(crate) fn of(mut points: impl Iterator<Item = [f32; 3]>) -> Self {
        let first = points.next().expect("there are points");
        points.fold(Self { low: first, high: first }, |mut bounds, point| {
            for (axis, value) in point.into_iter().enumerate() {
                bounds.low[axis] = bounds.low[axis].min(value);
                bounds.high[axis] = bounds.high[axis].max(value);
            }
            bounds
        })
    }

    fn longest_side(&self) -> usize {
        let side = |axis: usize| self.high[axis] - self.low[axis];
        (1..3).fold(0, |longest, axis| if side(axis) > side(longest) { axis } else { longest })
    }

    /// At most the squared distance of any point of one box from any point of the other.
    #[inline(always)]
    fn squared_distance(&self, other: &Self) -> f32 {
        let gap = |axis: usize| {
            let (above, below) = (self.low[axis] - other.high[axis], other.low[axis] - self.high[axis]);
            let gap = if above > below { above } else { below };
            if gap > 0.0 { gap } else { 0.0 }
        };
        let (x, y, z) = (gap(0), gap(1), gap(2));
        x * x + y * y + z * z
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::geometry::shape_stream;

    /// Every distance, the plain way.
    fn brute_force(queries: &[[f32; 3]], targets: &[[f32; 3]]) -> Vec<f32> {
        let squared = |a: &[f32; 3], b: &[f32; 3]| {
            let [x, y, z] = std::array::from_fn(|axis| a[axis] - b[axis]);
            x * x + y * y + z * z
        };
        let nearest = |query| targets.iter().map(|target| squared(query, target)).reduce(f32::min);
        queries.iter().map(|query| nearest(query).unwrap()).collect()
    }

    /// Random points in a box, every third of them given twice.
    pub(crate) fn random_points(n: usize, seed: u64) -> PointSet {
        let rng = &mut shape_stream(seed, "points", "test");
        let mut points: Vec<[f32; 3]> = (0..n).map(|_| std::array::from_fn(|_| rng.random_range(-0.5..0.5))).collect();
        (3..n).step_by(3).for_each(|index| points[index] = points[index - 1]);
        PointSet::new(points).unwrap()
    }

    #[test]
    fn the_tree_finds_what_brute_force_finds() {
        let sizes = [1, 2, 7, 15, 16, 17, 31, 33, 255, 257, 2048];
        let sets = sizes.map(|n| random_points(n, n as u64));
        let trees = sets.each_ref().map(NearestTree::new);
        for (queries, query_tree) in sets.iter().zip(&trees) {
            for (targets, target_tree) in sets.iter().zip(&trees) {
                let found = target_tree.squared_distances(query_tree);
                assert_eq!(found, brute_force(queries.as_slice(), targets.as_slice()));
            }
        }
    }

    #[test]
    fn sets_of_one_place_or_of_far_places_are_fine() {
        let same = NearestTree::new(&PointSet::new(vec![[1.0, 2.0, 3.0]; 1000]).unwrap());
        assert!(same.squared_distances(&same).iter().all(|&distance| distance == 0.0));
        let far = PointSet::new(vec![[1e18; 3], [-1e18; 3]]).unwrap();
        let distances = same.squared_distances(&NearestTree::new(&far));
        assert!(distances.iter().all(|distance| distance.is_finite()), "{distances:?}");
    }

    #[test]
    fn many_points_and_any_number_of_threads() {
        let (queries, targets) = (random_points(20_000, 1), random_points(LARGE + 5, 2));
        let run = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| NearestTree::new(&targets).squared_distances(&NearestTree::new(&queries)))
        };
        let one = run(1);
        assert_eq!(one, run(3));
        let some = &queries.as_slice()[..50];
        assert_eq!(one[..50], brute_force(some, targets.as_slice()));
    }

    #[test]
    fn giving_up_never_changes_a_value() {
        let a = NearestTree::new(&random_points(100, 1));
        let b = NearestTree::new(&random_points(77, 2));
        let whole = a.mean_squared_up_to(&b, 0.5, f64::INFINITY).unwrap();
        assert_eq!(a.mean_squared_up_to(&b, 0.5, whole), Some(whole));
        assert_eq!(a.mean_squared_up_to(&b, 0.5, whole.next_down()), None);
        assert!((1..=16).contains(&a.sketch(16).len()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lattices_with_ties_are_exact(
            queries in proptest::collection::vec([-3i8..3, -3..3, -3..3], 1..80),
            targets in proptest::collection::vec([-3i8..3, -3..3, -3..3], 1..80),
        ) {
            let set = |points: Vec<[i8; 3]>| points.into_iter().map(|p| p.map(f32::from)).collect::<Vec<_>>();
            let (queries, targets) = (set(queries), set(targets));
            let tree = |points: &[[f32; 3]]| NearestTree::new(&PointSet::new(points.to_vec()).unwrap());
            let found = tree(&targets).squared_distances(&tree(&queries));
            prop_assert_eq!(found, brute_force(&queries, &targets));
        }
    }
}
