//! Adam with the constants of PyTorch's default, on all weights of a module at once.
//!
//! ```text
//! m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²
//! w ← w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//! ```
//!
//! The moments are two flat vectors over all weights. On a GPU a step is then a dozen operations, not a dozen for every tensor; on the
//! CPU it is one pass over the weights, in place.
//! (Kingma and Ba, 2015, <https://arxiv.org/abs/1412.6980>.)

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Device, Element, Gradients, Tensor, TensorData};
use labelflow_flow::{flat_weights, with_flat_weights};
use num_traits::Float;
use rayon::prelude::*;

use crate::{Error, Result};

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
// Written out: burn's default is 1e-5.
const EPSILON: f64 = 1e-8;

/// The state of the optimiser.
#[derive(Debug, Clone)]
pub struct Adam {
    first_moment: Tensor<1>,
    second_moment: Tensor<1>,
    n_steps: usize,
    /// β₁ and β₂
    betas: [f64; 2],
}

/// The state of the optimiser, off its device.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamState {
    /// m
    pub first_moment: TensorData,
    /// v
    pub second_moment: TensorData,
    /// The steps so far.
    pub n_steps: usize,
}

impl Adam {
    /// The usual β₁ and β₂.
    pub const BETAS: [f64; 2] = [BETA_1, BETA_2];

    /// What a checkpoint keeps.
    pub(crate) fn state(&self) -> AdamState {
        AdamState {
            first_moment: self.first_moment.to_data(),
            second_moment: self.second_moment.to_data(),
            n_steps: self.n_steps,
        }
    }

    /// The optimiser of a checkpoint, for a module with `n_weights` trained values.
    pub fn from_state(state: AdamState, n_weights: usize, device: &Device) -> Result<Self> {
        for moment in [&state.first_moment, &state.second_moment] {
            if moment.shape().to_vec() != [n_weights] {
                let found = format!("moments of the shape {:?}", moment.shape());
                return Err(Error::data("checkpoint", format!("{n_weights} moments"), found));
            }
        }
        Ok(Self {
            first_moment: Tensor::from_data(state.first_moment, device),
            second_moment: Tensor::from_data(state.second_moment, device),
            n_steps: state.n_steps,
            betas: Self::BETAS,
        })
    }

    /// The state before the first step, for a module with `n_weights` trained values.
    pub fn new(n_weights: usize, device: &Device) -> Self {
        Self {
            first_moment: Tensor::zeros([n_weights], device),
            second_moment: Tensor::zeros([n_weights], device),
            n_steps: 0,
            betas: Self::BETAS,
        }
    }

    /// With another β₁ and β₂, how much of the last direction and of its size is remembered. Players of adversarial training often remember
    /// less.
    #[must_use]
    pub fn with_betas(self, betas: [f64; 2]) -> Self {
        Self { betas, ..self }
    }

    /// The steps so far.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// Both moments.
    pub fn into_moments(self) -> [Tensor<1>; 2] {
        [self.first_moment, self.second_moment]
    }

    /// What the number of a step, counted from 1, makes of its size: lr / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ).
    pub fn scales(lr: f64, betas: [f64; 2], number: usize) -> [f64; 2] {
        let t = number as i32;
        [lr / (1.0 - betas[0].powi(t)), (1.0 - betas[1].powi(t)).sqrt().recip()]
    }

    /// The module after one step along a [flat gradient](flat_gradient).
    pub(crate) fn step<M: Module>(&mut self, module: M, gradient: Tensor<1>, lr: f64) -> M {
        self.n_steps += 1;
        if gradient.device() == Device::flex() {
            return match gradient.dtype() {
                DType::F64 => self.step_in_place::<f64, M>(module, gradient, lr),
                _ => self.step_in_place::<f32, M>(module, gradient, lr),
            };
        }
        self.composed_step(module, gradient, lr)
    }

    /// [`step`](Self::step) on weights that are one vector themselves, as a composition of tensor operations.
    pub(crate) fn flat_step(&mut self, weights: Tensor<1>, gradient: Tensor<1>, lr: f64) -> Tensor<1> {
        self.n_steps += 1;
        weights + self.change(gradient, lr)
    }

    /// [`step`](Self::step) as a composition of tensor operations.
    fn composed_step<M: Module>(&mut self, module: M, gradient: Tensor<1>, lr: f64) -> M {
        add_flat(module, self.change(gradient, lr))
    }

    /// What the step that is being taken adds to the weights.
    fn change(&mut self, gradient: Tensor<1>, lr: f64) -> Tensor<1> {
        let t = self.n_steps as i32;
        let [beta_1, beta_2] = self.betas;
        let m = self.first_moment.clone() * beta_1 + gradient.clone() * (1.0 - beta_1);
        let v = self.second_moment.clone() * beta_2 + gradient.square() * (1.0 - beta_2);
        self.first_moment = m.clone();
        self.second_moment = v.clone();
        let deviation = v.sqrt() / (1.0 - beta_2.powi(t)).sqrt() + EPSILON;
        m / deviation * (-lr / (1.0 - beta_1.powi(t)))
    }

    /// [`step`](Self::step) on the CPU: weights and moments are read once and written once.
    fn step_in_place<T: Number, M: Module>(&mut self, module: M, gradient: Tensor<1>, lr: f64) -> M {
        let device = gradient.device();
        let mut update = InPlace {
            gradient: into_vec::<T, 1>(gradient),
            first_moment: take_vec::<T>(&mut self.first_moment),
            second_moment: take_vec::<T>(&mut self.second_moment),
            step: Step::numbered(lr, self.betas, self.n_steps),
            start: 0,
        };
        let module = module.map(&mut update);
        self.first_moment = from_vec(update.first_moment, &device);
        self.second_moment = from_vec(update.second_moment, &device);
        module
    }
}

/// Weights and moments as vectors, all that a step changes: what a recording can repeat.
#[derive(Debug, Clone)]
pub struct AdamVectors {
    /// The weights.
    pub weights: Tensor<1>,
    /// m
    pub first_moment: Tensor<1>,
    /// v
    pub second_moment: Tensor<1>,
}

impl AdamVectors {
    /// One step along a gradient, unless its length is not a number. The [scales](Adam::scales) are `[2]`.
    pub fn step(&mut self, gradient: Tensor<1>, length: &Tensor<1>, scales: Tensor<1>, betas: [f64; 2]) {
        if gradient.device() != Device::flex() {
            return self.composed_step(gradient, length, scales, betas);
        }
        if !length.to_data().iter::<f64>().all(f64::is_finite) {
            return;
        }
        match gradient.dtype() {
            DType::F64 => self.step_in_memory::<f64>(gradient, scales, betas),
            _ => self.step_in_memory::<f32>(gradient, scales, betas),
        }
    }

    /// [`step`](Self::step) as a composition of tensor operations, none of which asks for a value.
    fn composed_step(
        &mut self,
        gradient: Tensor<1>,
        length: &Tensor<1>,
        scales: Tensor<1>,
        [beta_1, beta_2]: [f64; 2],
    ) {
        let [rate, correction] = [0, 1].map(|index| scales.clone().narrow(0, index, 1));
        let Self { weights, first_moment, second_moment } = self.clone();
        let m = first_moment.clone() * beta_1 + gradient.clone() * (1.0 - beta_1);
        let v = second_moment.clone() * beta_2 + gradient.square() * (1.0 - beta_2);
        let change = m.clone() / (v.clone().sqrt() * correction + EPSILON) * rate;
        let is_finite = length.clone().lower_equal_elem(f32::MAX).expand(weights.shape());
        let next = |old: Tensor<1>, new: Tensor<1>| old.mask_where(is_finite.clone(), new);
        *self = Self {
            weights: next(weights.clone(), weights - change),
            first_moment: next(first_moment, m),
            second_moment: next(second_moment, v),
        };
    }

    /// [`step`](Self::step) on the CPU, in one pass.
    fn step_in_memory<T: Number>(&mut self, gradient: Tensor<1>, scales: Tensor<1>, betas: [f64; 2]) {
        let device = gradient.device();
        let vectors = [&mut self.weights, &mut self.first_moment, &mut self.second_moment];
        let [mut weights, mut first, mut second] = vectors.map(take_vec::<T>);
        let scales = into_vec::<T, 1>(scales);
        let step = Step { betas: betas.map(from_f64), rate: scales[0], correction: scales[1] };
        step.update(&mut weights, &into_vec(gradient), [&mut first, &mut second]);
        let [weights, first_moment, second_moment] = [weights, first, second].map(|values| from_vec(values, &device));
        *self = Self { weights, first_moment, second_moment };
    }
}

/// f32 or f64.
trait Number: Element + Float + Send + Sync {}

impl Number for f32 {}
impl Number for f64 {}

/// A tensor's values, without a copy when no other tensor shares them.
fn into_vec<T: Element, const D: usize>(tensor: Tensor<D>) -> Vec<T> {
    tensor.into_data().try_into_vec().expect("all tensors of a module are of one type")
}

/// The same of a vector that is about to be replaced.
fn take_vec<T: Element>(vector: &mut Tensor<1>) -> Vec<T> {
    let nothing = Tensor::empty([0], &vector.device());
    into_vec(std::mem::replace(vector, nothing))
}

fn from_vec<T: Element>(values: Vec<T>, device: &Device) -> Tensor<1> {
    let n_values = values.len();
    Tensor::from_data(TensorData::new(values, [n_values]), device)
}

/// A step on the CPU in progress.
struct InPlace<T> {
    gradient: Vec<T>,
    first_moment: Vec<T>,
    second_moment: Vec<T>,
    step: Step<T>,
    start: usize,
}

impl<T: Number> ModuleMapper for InPlace<T> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.is_require_grad() {
            return param;
        }
        param.map(|weight| {
            let weight = weight.inner();
            let (shape, device) = (weight.shape(), weight.device());
            let mut weights = into_vec::<T, D>(weight);
            let range = self.start..self.start + weights.len();
            self.start = range.end;
            let moments = [&mut self.first_moment[range.clone()], &mut self.second_moment[range.clone()]];
            self.step.update(&mut weights, &self.gradient[range], moments);
            Tensor::from_inner(Tensor::from_data(TensorData::new(weights, shape), &device)).require_grad()
        })
    }
}

/// The numbers of the t-th step.
#[derive(Clone, Copy)]
struct Step<T> {
    betas: [T; 2],
    /// lr / (1 − β₁ᵗ)
    rate: T,
    /// 1 / √(1 − β₂ᵗ)
    correction: T,
}

impl<T: Float + Send + Sync> Step<T> {
    fn numbered(lr: f64, betas: [f64; 2], number: usize) -> Self {
        let [rate, correction] = Adam::scales(lr, betas, number).map(from_f64);
        Self { betas: betas.map(from_f64), rate, correction }
    }

    /// The step on weights that lie in memory, and on both of their moments.
    fn update(self, weights: &mut [T], gradient: &[T], [first, second]: [&mut [T]; 2]) {
        /// What one task updates: less is not worth waking a thread for.
        const LEN: usize = 1 << 15;
        if weights.len() <= LEN {
            return self.update_part(weights, gradient, first, second);
        }
        let moments = first.par_chunks_mut(LEN).zip(second.par_chunks_mut(LEN));
        let parts = weights.par_chunks_mut(LEN).zip(gradient.par_chunks(LEN)).zip(moments);
        parts.for_each(|((weights, gradient), (first, second))| self.update_part(weights, gradient, first, second));
    }

    fn update_part(self, weights: &mut [T], gradient: &[T], first: &mut [T], second: &mut [T]) {
        let (Self { betas: [beta_1, beta_2], rate, correction }, epsilon) = (self, from_f64::<T>(EPSILON));
        let (rest_1, rest_2) = (T::one() - beta_1, T::one() - beta_2);
        let moments = first.iter_mut().zip(second);
        let all = weights.iter_mut().zip(gradient).zip(moments);
        // With the widest instructions that this machine has; the closure consumes `all`, so that it is inlined into them.
        pulp::Arch::new().dispatch(
            #[inline(always)]
            move || {
                for ((w, &g), (m, v)) in all {
                    *m = *m * beta_1 + g * rest_1;
                    *v = *v * beta_2 + g * g * rest_2;
                    *w = *w - rate * *m / (v.sqrt() * correction + epsilon);
                }
            },
        );
    }
}

pub(crate) fn from_f64<T: Float>(value: f64) -> T {
    T::from(value).expect("a float takes any float")
}

/// The same optimiser on weights that lie in memory, for models without tensors.
#[derive(Debug, Clone)]
pub(crate) struct SliceAdam<T> {
    first_moment: Vec<T>,
    second_moment: Vec<T>,
    n_steps: usize,
}

impl<T: Float + Send + Sync> SliceAdam<T> {
    /// The state before the first step.
    pub(crate) fn new(n_weights: usize) -> Self {
        let zeros = vec![T::zero(); n_weights];
        Self { first_moment: zeros.clone(), second_moment: zeros, n_steps: 0 }
    }

    /// One step along a gradient.
    pub(crate) fn step(&mut self, weights: &mut [T], gradient: &[T], lr: f64) {
        self.n_steps = self.n_steps.saturating_add(1);
        let step = Step::numbered(lr, Adam::BETAS, self.n_steps);
        step.update(weights, gradient, [&mut self.first_moment, &mut self.second_moment]);
    }
}

/// The gradients of all trained weights, one after another in the order of the module's fields.
pub fn flat_gradient<M: Module>(module: &M, mut gradients: Gradients) -> Tensor<1> {
    Tensor::cat(flat_gradients(module, &mut gradients), 0)
}

/// The gradient of each trained tensor as a vector, in the order of the module's fields.
pub fn flat_gradients<M: Module>(module: &M, gradients: &mut Gradients) -> Vec<Tensor<1>> {
    struct Collect<'a> {
        gradients: &'a mut Gradients,
        parts: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if !param.is_require_grad() {
                return;
            }
            let weight = param.val();
            let gradient = weight.grad_remove(self.gradients);
            let gradient = gradient.unwrap_or_else(|| weight.inner().zeros_like());
            self.parts.push(gradient.reshape([-1]));
        }
    }
    let mut collect = Collect { gradients, parts: Vec::new() };
    module.visit(&mut collect);
    collect.parts
}

/// Adds to each trained weight its part of a flat change.
pub fn add_flat<M: Module>(module: M, change: Tensor<1>) -> M {
    let weights = flat_weights(&module);
    with_flat_weights(module, weights + change)
}

#[cfg(test)]
mod tests {
    use labelflow_flow::{CouplingFlowConfig, n_parameters, state};

    use super::*;

    #[test]
    fn in_place_and_composed_steps_are_the_same() {
        let device = Device::flex();
        let config =
            CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 1, ..CouplingFlowConfig::default() };
        let start = config.init(0, &device.clone().autodiff());
        let n_weights = n_parameters(&start);
        let (mut in_place, mut composed) = (start.clone(), start);
        let (mut one, mut other) = (Adam::new(n_weights, &device), Adam::new(n_weights, &device));
        for step in 1..5 {
            let values = (0..n_weights).map(|i| ((i * step) as f32).sin()).collect::<Vec<_>>();
            let gradient = Tensor::from_data(TensorData::new(values, [n_weights]), &device);
            in_place = one.step(in_place, gradient.clone(), 1e-2);
            other.n_steps += 1;
            composed = other.composed_step(composed, gradient, 1e-2);
        }
        for ((name, one), other) in state(&in_place).iter().zip(state(&composed).values()) {
            for (one, other) in one.iter::<f32>().zip(other.iter::<f32>()) {
                assert!((one - other).abs() < 1e-6, "{name}: {one} and {other}");
            }
        }
    }

    /// Vectors that a recording can repeat, in memory and composed, end where modules do.
    #[test]
    fn steps_on_vectors_are_those_on_modules() {
        let device = Device::flex();
        let config =
            CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 1, ..CouplingFlowConfig::default() };
        let mut module = config.init(0, &device.clone().autodiff());
        let n_weights = n_parameters(&module);
        let mut adam = Adam::new(n_weights, &device);
        let start = AdamVectors {
            weights: labelflow_flow::flat_weights(&module),
            first_moment: Tensor::zeros([n_weights], &device),
            second_moment: Tensor::zeros([n_weights], &device),
        };
        let (mut in_memory, mut composed) = (start.clone(), start);
        let numbers = |tensor: &Tensor<1>| tensor.to_data().iter::<f32>().collect::<Vec<f32>>();
        for step in 1..5 {
            let values = (0..n_weights).map(|i| ((i * step) as f32).sin()).collect::<Vec<_>>();
            let gradient = Tensor::from_data(TensorData::new(values, [n_weights]), &device);
            module = adam.step(module, gradient.clone(), 1e-2);
            let betas = [BETA_1, BETA_2];
            let scales = Tensor::from_data(Adam::scales(1e-2, betas, step), &device);
            let length = Tensor::ones([1], &device);
            in_memory.step(gradient.clone(), &length, scales.clone(), betas);
            composed.composed_step(gradient, &length, scales.clone(), betas);
            // A gradient that is not a number is not followed.
            for length in [f32::NAN, f32::INFINITY] {
                let length = Tensor::full([1], length, &device);
                let nothing = Tensor::full([n_weights], f32::NAN, &device);
                in_memory.step(nothing.clone(), &length, scales.clone(), betas);
                composed.composed_step(nothing, &length, scales.clone(), betas);
            }
        }
        let expected = numbers(&labelflow_flow::flat_weights(&module));
        assert_eq!(numbers(&in_memory.weights), expected);
        assert_eq!(in_memory.first_moment.to_data(), adam.first_moment.to_data());
        assert_eq!(in_memory.second_moment.to_data(), adam.second_moment.to_data());
        for (one, other) in numbers(&composed.weights).iter().zip(expected) {
            assert!((one - other).abs() < 1e-6, "{one} and {other}");
        }
    }

    /// With β₁ = 0 nothing of earlier gradients is left in the direction.
    #[test]
    fn the_first_beta_is_what_is_remembered() {
        let device = Device::flex();
        let config =
            CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 1, ..CouplingFlowConfig::default() };
        let start = config.init(0, &device.clone().autodiff());
        let n_weights = n_parameters(&start);
        let ones = || Tensor::<1>::ones([n_weights], &device);
        let after = |beta_1: f64| {
            let mut adam = Adam::new(n_weights, &device).with_betas([beta_1, BETA_2]);
            let there = adam.step(start.clone(), ones(), 1e-2);
            state(&adam.step(there, -ones(), 1e-2))
        };
        for (name, first) in state(&start) {
            for (forgot, first) in after(0.0)[&name].iter::<f32>().zip(first.iter::<f32>()) {
                assert!((forgot - first).abs() < 1e-6, "{name}");
            }
        }
        assert_ne!(after(0.0), after(0.9));
    }

    #[test]
    fn the_first_step_has_the_length_of_the_rate() {
        let mut weights = [1.0, 1.0, 1.0];
        SliceAdam::new(3).step(&mut weights, &[0.3, -20.0, 0.0], 1e-2);
        for (weight, expected) in weights.iter().zip([0.99, 1.01, 1.0]) {
            assert!((weight - expected).abs() < 1e-6, "{weights:?}");
        }
    }
}
