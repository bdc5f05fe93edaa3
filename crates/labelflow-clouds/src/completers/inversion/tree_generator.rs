//! A tree that generates a cloud from noise: every node of a layer branches, and the leaves are points.
//!
//! ```text
//! x'_{n,d} = a( Σ_{ancestors i of n} x_i U_i  +  a(x_n B_n)_d V W  +  c_d )
//! ```
//!
//! B_n is a matrix of the node n that gives all of its `degree` children at once; U, V and W are shared by the nodes of a layer. The last
//! layer has no bias c and no activation after it. V is ten times as wide as what it sees. No activation follows it, so that V W is
//! multiplied first: a matrix of the layer's input by its output, where the two maps of every node would cost hundreds of times as much.
//!
//! Weights have copies in front: one in training, and as many as there are clouds when each has a generator of its own.
//! (Shu et al., 2019, <https://arxiv.org/abs/1905.06292>.)

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use labelflow_flow::{Initializer, Linear, N_AXES};

/// The slope of activations below zero.
pub(crate) const NEGATIVE_SLOPE: f64 = 0.2;

/// Layers from the root to the points.
#[derive(Module, Debug)]
pub(crate) struct TreeGenerator {
    layers: Vec<TreeLayer>,
}

#[derive(Module, Debug)]
struct TreeLayer {
    /// U, of each layer above and of this one.
    ancestors: Vec<Linear>,
    /// B, `[n_copies · n_nodes, d_input, degree · d_input]`
    branch: Param<Tensor<3>>,
    /// V
    widening: Linear,
    /// W
    narrowing: Linear,
    /// c, `[n_copies, degree, d_output]`
    bias: Option<Param<Tensor<3>>>,
    #[module(skip)]
    n_nodes: usize,
    #[module(skip)]
    degree: usize,
}

impl TreeGenerator {
    /// Initial weights of a tree with these widths of nodes, the root's first, and numbers of children, one per layer. The leaves are points.
    pub(crate) fn init(widths: &[usize], degrees: &[usize], widening: usize, init: &mut Initializer) -> Self {
        let widths = [widths, &[N_AXES]].concat();
        let mut n_nodes = 1;
        let mut layers = Vec::with_capacity(degrees.len());
        for (depth, &degree) in degrees.iter().enumerate() {
            let (d_input, d_output) = (widths[depth], widths[depth + 1]);
            // Deviation: the published start counts all nodes as one layer and is close to nothing; this is the usual one of each node's own
            // matrix, U(±√2 √(6 / (inputs + outputs))).
            let branch = init.fan_in([n_nodes, d_input, degree * d_input], ((1 + degree) * d_input / 12).max(1));
            let ancestor = |&width: &usize| Linear::without_bias([1, width, d_output], init);
            let ancestors = widths[..=depth].iter().map(ancestor).collect();
            let is_last = depth + 1 == degrees.len();
            layers.push(TreeLayer {
                ancestors,
                branch,
                widening: Linear::without_bias([1, d_input, widening * d_input], init),
                narrowing: Linear::without_bias([1, widening * d_input, d_output], init),
                bias: (!is_last).then(|| init.fan_in([1, degree, d_output], d_output)),
                n_nodes,
                degree,
            });
            n_nodes *= degree;
        }
        Self { layers }
    }

    /// # Shapes
    ///
    /// - noise: `[n_copies, n_clouds, d_noise]`: so many clouds of each copy of the weights
    /// - returns: `[n_copies · n_clouds, n_points, 3]`
    pub(crate) fn forward(&self, noise: Tensor<3>) -> Tensor<3> {
        let [n_copies, n_clouds, _] = noise.dims();
        // The nodes of each layer, `[n_copies, n_clouds · n_nodes, width]`.
        let mut tree = vec![noise];
        for layer in &self.layers {
            let next = layer.forward(&tree, n_clouds);
            tree.push(next);
        }
        let points = tree.pop().expect("the root at least");
        let n_points = points.dims()[1] / n_clouds;
        points.reshape([n_copies * n_clouds, n_points, N_AXES])
    }

    /// The same weights several times, to be trained apart.
    pub(crate) fn copies(self, n_copies: usize) -> Self {
        struct Copy(usize);
        impl ModuleMapper for Copy {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                param.map(|weight| Tensor::from_inner(weight.inner().repeat_dim(0, self.0)).require_grad())
            }
        }
        self.map(&mut Copy(n_copies))
    }
}

impl TreeLayer {
    fn forward(&self, tree: &[Tensor<3>], n_clouds: usize) -> Tensor<3> {
        let nodes = tree.last().expect("the root at least").clone();
        let [n_copies, n_rows, d_input] = nodes.dims();
        let &Self { n_nodes, degree, .. } = self;

        let split = nodes.reshape([n_copies, n_clouds, n_nodes, d_input]).swap_dims(1, 2);
        let split = split.reshape([n_copies * n_nodes, n_clouds, d_input]);
        let children = leaky_relu(split.matmul(self.branch.val()), NEGATIVE_SLOPE);
        let children = children.reshape([n_copies, n_nodes, n_clouds, degree * d_input]);
        let children = children.swap_dims(1, 2).reshape([n_copies, n_rows * degree, d_input]);
        let both = self.widening.weight.val().matmul(self.narrowing.weight.val());
        let own = children.matmul(both);

        let sum = own + spread(self.inherited(tree), degree);
        let Some(bias) = &self.bias else {
            return sum;
        };
        let [_, n_children, d_output] = sum.dims();
        let sum = sum.reshape([n_copies, n_rows, degree, d_output]);
        let sum = sum + bias.val().unsqueeze_dim::<4>(1);
        leaky_relu(sum, NEGATIVE_SLOPE).reshape([n_copies, n_children, d_output])
    }

    /// What nodes have of all of their ancestors and of themselves, summed on the way down.
    fn inherited(&self, tree: &[Tensor<3>]) -> Tensor<3> {
        let levels = tree.iter().zip(&self.ancestors).map(|(nodes, map)| map.forward(nodes.clone()));
        let sum = levels.reduce(|above, own| {
            let n_each = own.dims()[1] / above.dims()[1];
            spread(above, n_each) + own
        });
        sum.expect("the root at least")
    }
}

/// Every row several times in a row.
fn spread(rows: Tensor<3>, n_each: usize) -> Tensor<3> {
    if n_each == 1 {
        return rows;
    }
    let [n_copies, n_rows, width] = rows.dims();
    let rows = rows.unsqueeze_dim::<4>(2).expand([n_copies, n_rows, n_each, width]);
    rows.reshape([n_copies, n_rows * n_each, width])
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use labelflow_flow::n_parameters;

    use super::*;

    fn noise(n_copies: usize, n_clouds: usize, width: usize, factor: f32) -> Tensor<3> {
        let n_values = n_copies * n_clouds * width;
        let values: Vec<f32> = (0..n_values).map(|index| (factor * index as f32).sin()).collect();
        Tensor::from_data(TensorData::new(values, [n_copies, n_clouds, width]), &Device::flex())
    }

    fn numbers(tensor: Tensor<3>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let init = &mut Initializer::new(0, &Device::flex());
        let widths = [96, 256, 256, 256, 128, 128, 128];
        let tree = TreeGenerator::init(&widths, &[1, 2, 2, 2, 2, 2, 64], 10, init);
        assert_eq!(n_parameters(&tree), 40_690_080);
        assert_eq!(tree.layers[6].branch.val().shape().num_elements(), 33_554_432);
    }

    #[test]
    fn clouds_and_copies_do_not_hear_of_each_other() {
        let init = &mut Initializer::new(3, &Device::flex());
        let tree = TreeGenerator::init(&[4, 5, 6], &[1, 2, 3], 2, init);
        let together = numbers(tree.forward(noise(1, 3, 4, 0.7)));
        assert_eq!(together.len(), 3 * 6 * 3);
        let all = noise(1, 3, 4, 0.7);
        let alone: Vec<f32> = (0..3).flat_map(|cloud| numbers(tree.forward(all.clone().narrow(1, cloud, 1)))).collect();
        let copies = tree.copies(3).forward(all.swap_dims(0, 1));
        for (one, (two, three)) in together.iter().zip(alone.iter().zip(numbers(copies))) {
            assert!((one - two).abs() < 1e-6 && (one - three).abs() < 1e-6);
        }
        assert_ne!(alone[..18], alone[18..36]);
    }

    /// The formula, node by node.
    #[test]
    fn a_small_tree_by_hand() {
        let init = &mut Initializer::new(5, &Device::flex());
        let tree = TreeGenerator::init(&[2, 2], &[2, 2], 3, init);
        let weights = |param: &Param<Tensor<3>>| numbers(param.val());
        let leaky = |value: f32| if value > 0.0 { value } else { 0.2 * value };
        let times = |row: &[f32], matrix: &[f32]| -> Vec<f32> {
            let width = matrix.len() / row.len();
            let product =
                |column: usize| row.iter().enumerate().map(|(r, value)| value * matrix[r * width + column]).sum();
            (0..width).map(product).collect()
        };
        let root = [0.3f32, -0.8];
        let grow = |layer: &TreeLayer, node: usize, path: &[&[f32]]| -> Vec<Vec<f32>> {
            let own = path[path.len() - 1];
            let branch = &weights(&layer.branch)[node * 2 * 4..][..8];
            let children: Vec<f32> = times(own, branch).into_iter().map(leaky).collect();
            let grown = |child: usize| {
                let wide = times(&children[2 * child..][..2], &weights(&layer.widening.weight));
                let mut sum = times(&wide, &weights(&layer.narrowing.weight));
                for (node, map) in path.iter().zip(&layer.ancestors) {
                    let part = times(node, &weights(&map.weight));
                    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                }
                if let Some(bias) = &layer.bias {
                    let bias = weights(bias);
                    sum = sum.iter().zip(&bias[2 * child..]).map(|(s, c)| leaky(s + c)).collect();
                }
                sum
            };
            (0..2).map(grown).collect()
        };
        let nodes = grow(&tree.layers[0], 0, &[&root]);
        let points: Vec<f32> =
            (0..2).flat_map(|node| grow(&tree.layers[1], node, &[&root, &nodes[node]])).flatten().collect();
        let root = Tensor::from_data(TensorData::new(root.to_vec(), [1, 1, 2]), &Device::flex());
        for (found, expected) in numbers(tree.forward(root)).iter().zip(&points) {
            assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
        }
    }
}
