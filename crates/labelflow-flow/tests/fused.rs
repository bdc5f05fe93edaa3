//! The fused operations of the CPU against the compositions of tensor operations that other devices run.
//!
//! burn's float type is a setting of the whole process, so each test needs a process of its own: run them with nextest.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData};
use labelflow_flow::{
    Activation, AffineFlowConfig, Bijection, Coupling, CouplingFlowConfig, Flow, MAX_LOG_SCALE, MOMENTUM, Mode, State,
    StatisticsRecorder, absorb, fold_inverse, load_state, state,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Sizes that are no multiple of any vector or tile, one row, and more rows than a part or a tile has.
const CASES: [Case; 8] = [
    Case { n_rows: 1, d_features: 3, d_labels: 2, d_hidden: 5, n_steps: 2, n_members: 1 },
    Case { n_rows: 2, d_features: 1, d_labels: 3, d_hidden: 16, n_steps: 1, n_members: 1 },
    Case { n_rows: 37, d_features: 7, d_labels: 10, d_hidden: 6, n_steps: 1, n_members: 1 },
    Case { n_rows: 129, d_features: 30, d_labels: 2, d_hidden: 64, n_steps: 2, n_members: 1 },
    Case { n_rows: 300, d_features: 4, d_labels: 3, d_hidden: 17, n_steps: 2, n_members: 1 },
    Case { n_rows: 4500, d_features: 2, d_labels: 2, d_hidden: 8, n_steps: 1, n_members: 1 },
    Case { n_rows: 90, d_features: 3, d_labels: 2, d_hidden: 8, n_steps: 2, n_members: 3 },
    Case { n_rows: 41, d_features: 2, d_labels: 4, d_hidden: 5, n_steps: 1, n_members: 2 },
];

#[derive(Debug, Clone, Copy)]
struct Case {
    n_rows: usize,
    d_features: usize,
    d_labels: usize,
    d_hidden: usize,
    n_steps: usize,
    n_members: usize,
}

fn device(dtype: FloatDType) -> Device {
    let mut device = Device::flex().autodiff();
    // The setting is process-wide; under a threaded test runner another test may have made it already.
    let _ = device.configure(dtype);
    device
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    StandardNormal.sample_iter(ChaCha8Rng::seed_from_u64(seed)).take(n).collect()
}

fn random<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(normal(seed, shape.iter().product()), shape), device)
}

impl Case {
    /// The labels of all members.
    fn d_all(&self) -> usize {
        self.n_members * self.d_labels
    }

    /// A flow with weights far from their start.
    fn flow(&self, device: &Device) -> Flow<Coupling> {
        let config = CouplingFlowConfig {
            d_features: self.d_features,
            d_labels: self.d_labels,
            d_hidden: self.d_hidden,
            n_steps: self.n_steps,
            n_members: self.n_members,
            // Several members are not of the paper, and may stretch labels farther.
            max_log_scale: if self.n_members > 1 { 1.5 } else { MAX_LOG_SCALE },
        };
        shaken(config.init(1, device))
    }
}

/// The same module with weights far from their start.
fn shaken<M: Module>(module: M) -> M {
    let mut shaken = State::new();
    for (index, (name, data)) in state(&module).into_iter().enumerate() {
        let mut values = normal(index as u64, data.num_elements());
        for value in &mut values {
            *value = 0.25 * *value + 0.1 * value.signum();
            if name.ends_with("running_variance") || name.ends_with("scale") {
                *value = value.abs() + 0.3;
            }
        }
        shaken.insert(name, TensorData::new(values, data.shape()).convert_dtype(data.dtype()));
    }
    load_state(module, shaken).expect("the same names and shapes")
}

/// Labels and log-determinants, the gradients of everything, and the running statistics after the pass.
struct Pass {
    labels: Vec<f64>,
    log_det: Vec<f64>,
    gradients: Vec<(String, Vec<f64>)>,
    running: State,
}

#[derive(Clone, Copy, PartialEq)]
enum Path {
    Fused,
    Composed,
}

fn pass(case: &Case, path: Path, device: &Device) -> Pass {
    let flow = case.flow(device);
    let noise = random(7, [case.n_rows, case.d_all()], device).require_grad();
    let features = random(8, [case.n_rows, case.d_features], device).require_grad();
    let recorder = StatisticsRecorder::default();
    let mode = Mode::Train(&recorder);
    let (labels, log_det) = match path {
        Path::Fused => {
            let condition = flow.condition(features.clone(), mode);
            Bijection::inverse(&flow.chain, noise.clone(), condition, mode)
        }
        Path::Composed => {
            let condition = flow.bank.composed(features.clone(), mode);
            fold_inverse(&flow.chain.maps, noise.clone(), condition, mode)
        }
    };
    let weights = random(9, [case.n_rows, case.d_all()], device);
    let loss = (labels.clone() * weights).sum() + (log_det.clone() * random(10, [case.n_rows], device)).sum();
    let gradients = loss.backward();
    let mut collected = vec![
        ("noise".to_owned(), to_vec(noise.grad(&gradients).expect("noise has a gradient"))),
        ("features".to_owned(), to_vec(features.grad(&gradients).expect("features have one"))),
    ];
    collected.extend(weight_gradients(&flow, &gradients));
    Pass {
        labels: to_vec(labels.inner()),
        log_det: to_vec(log_det.inner()),
        gradients: collected,
        running: state(&absorb(flow, recorder, MOMENTUM)),
    }
}

fn weight_gradients<M: Module>(flow: &M, gradients: &Gradients) -> Vec<(String, Vec<f64>)> {
    struct Collect<'a> {
        gradients: &'a Gradients,
        collected: Vec<Vec<f64>>,
    }
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let zeros = || vec![0.0; param.val().shape().num_elements()];
            let gradient = param.val().grad(self.gradients).map(to_vec);
            self.collected.push(gradient.unwrap_or_else(zeros));
        }
    }
    let mut collect = Collect { gradients, collected: Vec::new() };
    flow.visit(&mut collect);
    collect.collected.into_iter().enumerate().map(|(index, gradient)| (format!("weight {index}"), gradient)).collect()
}

fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Equal up to `tolerance` times the larger of one and the largest number.
fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1.0f64, |largest, value| largest.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= tolerance * largest;
        assert!(close, "{what}, number {index}: {found} instead of {expected}");
    }
}

fn fused_equals_composed(dtype: FloatDType, tolerance: f64) {
    let device = device(dtype);
    for case in CASES {
        // Two normalised rows are ±1 wherever they were, and the gradient is what rounding leaves of a difference.
        let tolerance = if case.n_rows == 2 { 50.0 * tolerance } else { tolerance };
        let fused = pass(&case, Path::Fused, &device);
        let composed = pass(&case, Path::Composed, &device);
        assert_close(&format!("{case:?}: labels"), &fused.labels, &composed.labels, tolerance);
        assert_close(&format!("{case:?}: log_det"), &fused.log_det, &composed.log_det, tolerance);
        for ((name, found), (_, expected)) in fused.gradients.iter().zip(&composed.gradients) {
            assert_close(&format!("{case:?}: gradient of {name}"), found, expected, tolerance);
        }
        for (name, expected) in &composed.running {
            let found: Vec<f64> = fused.running[name].iter::<f64>().collect();
            let expected: Vec<f64> = expected.iter::<f64>().collect();
            assert_close(&format!("{case:?}: {name} after"), &found, &expected, tolerance);
        }
    }
}

#[test]
fn training_in_f64() {
    fused_equals_composed(FloatDType::F64, 1e-11);
}

#[test]
fn training_in_f32() {
    fused_equals_composed(FloatDType::F32, 1e-3);
}

/// Heads of networks without normalisation, and the gradients of everything.
fn fused_networks_equal_composed(dtype: FloatDType, tolerance: f64) {
    let device = device(dtype);
    for activation in [Activation::Tanh, Activation::Relu] {
        for case in CASES {
            let config = AffineFlowConfig {
                d_features: case.d_features,
                d_labels: case.d_labels - 1,
                d_hidden: case.d_hidden,
                n_steps: case.n_steps,
                activation,
            };
            let flow = shaken(config.init(1, &device));
            let pass = |path: Path| {
                let noise = random(7, [case.n_rows, config.d_labels], &device).require_grad();
                let features = random(8, [case.n_rows, case.d_features], &device).require_grad();
                let recorder = StatisticsRecorder::default();
                let mode = Mode::Train(&recorder);
                let (labels, log_det) = match path {
                    Path::Fused => Bijection::generate(&flow, noise.clone(), features.clone(), mode),
                    Path::Composed => {
                        let condition = flow.bank.composed(features.clone(), mode);
                        fold_inverse(&flow.chain.maps, noise.clone(), condition, mode)
                    }
                };
                let weights = random(9, [case.n_rows, config.d_labels], &device);
                let loss =
                    (labels.clone() * weights).sum() + (log_det.clone() * random(10, [case.n_rows], &device)).sum();
                let gradients = loss.backward();
                let mut all = vec![
                    ("labels".to_owned(), to_vec(labels.inner())),
                    ("log-determinants".to_owned(), to_vec(log_det.inner())),
                    ("noise".to_owned(), to_vec(noise.grad(&gradients).expect("a gradient"))),
                    ("features".to_owned(), to_vec(features.grad(&gradients).expect("a gradient"))),
                ];
                all.extend(weight_gradients(&flow, &gradients));
                all
            };
            for ((what, fused), (_, composed)) in pass(Path::Fused).into_iter().zip(pass(Path::Composed)) {
                assert_close(&format!("{case:?}, {activation:?}: {what}"), &fused, &composed, tolerance);
            }
            let noise = random(11, [3, case.n_rows, config.d_labels], &device).inner();
            let features = random(12, [case.n_rows, case.d_features], &device).inner();
            let flow = flow.valid();
            let fused = to_vec(flow.samples(noise.clone(), features.clone()));
            let composed = to_vec(flow.composed_samples(noise, features));
            assert_close(&format!("{case:?}, {activation:?}: samples"), &fused, &composed, tolerance);
        }
    }
}

#[test]
fn networks_in_f64() {
    fused_networks_equal_composed(FloatDType::F64, 1e-9);
}

#[test]
fn networks_in_f32() {
    fused_networks_equal_composed(FloatDType::F32, 2e-4);
}

fn fused_samples_equal_composed(dtype: FloatDType, tolerance: f64) {
    let device = device(dtype).inner();
    for case in CASES {
        let flow = case.flow(&device);
        let features = random(8, [case.n_rows, case.d_features], &device);
        for n_samples in [0, 1, 3] {
            let noise = random(7, [n_samples, case.n_rows, case.d_all()], &device);
            let fused = to_vec(flow.samples(noise.clone(), features.clone()));
            let composed = to_vec(flow.composed_samples(noise, features.clone()));
            assert_close(&format!("{case:?}: samples"), &fused, &composed, tolerance);
        }
    }
}

#[test]
fn samples_in_f64() {
    fused_samples_equal_composed(FloatDType::F64, 1e-12);
}

#[test]
fn samples_in_f32() {
    fused_samples_equal_composed(FloatDType::F32, 2e-5);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let device = device(FloatDType::F32);
    let case = Case { n_rows: 700, d_features: 9, d_labels: 3, d_hidden: 24, n_steps: 2, n_members: 1 };
    let with_threads = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| pass(&case, Path::Fused, &device))
    };
    let alone = with_threads(1);
    for n_threads in [2, 3, 8] {
        let several = with_threads(n_threads);
        assert_eq!(several.labels, alone.labels);
        assert_eq!(several.log_det, alone.log_det);
        assert_eq!(several.gradients, alone.gradients);
        assert!(several.running == alone.running, "running statistics");
    }
}
