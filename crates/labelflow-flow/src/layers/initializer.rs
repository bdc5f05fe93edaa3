//! Initial weights from a seed that means the same on every device.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, Uniform};

/// Draws initial weights.
///
/// burn's own generator is seeded per device and shared between threads, so its numbers depend on who else draws; this one
/// belongs to whoever initialises.
#[derive(Debug)]
pub struct Initializer {
    rng: ChaCha8Rng,
    device: Device,
}

impl Initializer {
    /// A generator for weights on `device`.
    pub fn new(seed: u64, device: &Device) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), device: device.clone() }
    }

    /// The device that the weights live on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// U(−1/√fan_in, 1/√fan_in), the usual start of a linear layer.
    pub fn fan_in(&mut self, shape: [usize; 3], fan_in: usize) -> Param<Tensor<3>> {
        self.uniform(shape, 1.0 / (fan_in as f32).sqrt())
    }

    /// U(±√(6 / d_input)) for weights `[n_groups, d_input, d_output]` whose output is rectified.
    pub fn rectified(&mut self, shape: [usize; 3]) -> Param<Tensor<3>> {
        self.uniform(shape, (6.0 / shape[1] as f32).sqrt())
    }

    fn uniform(&mut self, shape: [usize; 3], bound: f32) -> Param<Tensor<3>> {
        self.draw(shape, Uniform::new(-bound, bound).expect("a finite, non-empty interval"))
    }

    /// N(0, deviation²).
    pub fn normal(&mut self, shape: [usize; 3], deviation: f32) -> Param<Tensor<3>> {
        self.draw(shape, Normal::new(0.0, deviation).expect("a positive deviation"))
    }

    /// N(0, 0.01²): layers that start close to doing nothing.
    pub fn nearly_zero(&mut self, shape: [usize; 3]) -> Param<Tensor<3>> {
        self.normal(shape, 0.01)
    }

    /// The same value everywhere.
    pub fn constant(&mut self, shape: [usize; 3], value: f32) -> Param<Tensor<3>> {
        Param::from_tensor(Tensor::full(shape, value, &self.device))
    }

    fn draw(&mut self, shape: [usize; 3], distribution: impl Distribution<f32>) -> Param<Tensor<3>> {
        let values: Vec<f32> = distribution.sample_iter(&mut self.rng).take(shape.iter().product()).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), &self.device))
    }
}
