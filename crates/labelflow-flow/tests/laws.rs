//! Laws that every bijection obeys, each written once and run over all of them, in f64.
//!
//! burn's float type is a setting of the whole process, so each test needs a process of its own: run them with nextest.

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use labelflow_flow::{
    Activation, AffineFlowConfig, Bijection, CouplingFlowConfig, Flow, MAX_LOG_SCALE, MOMENTUM, Mode, N_AXES,
    PointFlowConfig, State, StatisticsRecorder, absorb, load_state, n_parameters, standard_normal_log_prob, state,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const D_FEATURES: usize = 5;
const D_HIDDEN: usize = 6;

/// Calls `$law(name, flow, d_labels)` for every kind of flow, with weights far from their start.
macro_rules! for_every_flow {
    ($law:ident) => {{
        let device = f64_device();
        for (d_labels, n_members) in [(2, 1), (3, 1), (10, 1), (2, 3)] {
            let config = CouplingFlowConfig {
                d_features: D_FEATURES,
                d_labels,
                d_hidden: D_HIDDEN,
                n_steps: 2,
                n_members,
                // Several flows side by side are not of the paper, and may shrink labels more.
                max_log_scale: if n_members > 1 { 1.5 } else { MAX_LOG_SCALE },
            };
            let flow = shaken(config.init(1, &device));
            $law(&format!("coupling flow, k = {d_labels}, {n_members} of them"), flow, n_members * d_labels);
        }
        for activation in [Activation::NormalizedSilu, Activation::Tanh, Activation::Relu] {
            for d_labels in [1, 3] {
                let config =
                    AffineFlowConfig { d_features: D_FEATURES, d_labels, d_hidden: D_HIDDEN, n_steps: 3, activation };
                let flow = shaken(config.init(1, &device));
                $law(&format!("affine flow, {activation:?}, d = {d_labels}"), flow, d_labels);
            }
        }
        let config = PointFlowConfig { d_features: D_FEATURES, d_hidden: D_HIDDEN, n_steps: 2 };
        $law("point flow", shaken(config.init(1, &device)), N_AXES);
    }};
}

fn f64_device() -> Device {
    let mut device = Device::flex().autodiff();
    // The setting is process-wide; under a threaded test runner another test may have made it already.
    let _ = device.configure(FloatDType::F64);
    device
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    let rng = ChaCha8Rng::seed_from_u64(seed);
    StandardNormal.sample_iter(rng).take(n).collect()
}

fn matrix(values: &[f64], n_columns: usize) -> Tensor<2> {
    let shape = [values.len() / n_columns, n_columns];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), &f64_device())
}

fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().try_to_vec().expect("tensors of these tests are f64")
}

/// The same flow with random weights and running statistics, so that no map is close to the identity.
fn shaken<M: Module>(module: M) -> M {
    let mut shaken = State::new();
    for (index, (name, data)) in state(&module).into_iter().enumerate() {
        let mut values = normal(index as u64, data.num_elements());
        for value in &mut values {
            *value *= 0.25;
            // A normalised layer is steep where its weights are close to zero: numerical derivatives fail there.
            *value += 0.1 * value.signum();
            if name.ends_with("running_variance") || name.ends_with("scale") {
                *value = value.abs() + 0.3;
            }
        }
        shaken.insert(name, TensorData::new(values, data.shape()));
    }
    load_state(module, shaken).expect("a module's own names and shapes")
}

/// ln |det| of a square matrix in row order, by elimination with pivoting.
fn ln_abs_det(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut sum = 0.0;
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))
            .expect("a column is not empty");
        a.swap(column, pivot);
        sum += a[column][column].abs().ln();
        for row in column + 1..n {
            let factor = a[row][column] / a[column][column];
            let pivot = a[column].clone();
            for (entry, pivot) in a[row].iter_mut().zip(pivot) {
                *entry -= factor * pivot;
            }
        }
    }
    sum
}

/// The derivative of `f` at 0 from four points; its error is of the order of the step's fourth power.
fn derivative(f: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    let step = 1e-4;
    let [near, far] =
        [step, 2.0 * step].map(|step| f(step).iter().zip(f(-step)).map(|(up, down)| up - down).collect::<Vec<f64>>());
    near.iter().zip(&far).map(|(near, far)| (8.0 * near - far) / (12.0 * step)).collect()
}

/// The transposed Jacobian of `map` at `point`: its determinant is the Jacobian's.
fn jacobian(map: impl Fn(&[f64]) -> Vec<f64>, point: &[f64]) -> Vec<Vec<f64>> {
    let by_input = |index: usize| {
        derivative(|by| {
            let mut nudged = point.to_vec();
            nudged[index] += by;
            map(&nudged)
        })
    };
    (0..point.len()).map(by_input).collect()
}

fn assert_close(name: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < tolerance, "{name}: {a} and {b} differ");
    }
}

#[test]
fn forward_undoes_inverse() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let recorder = StatisticsRecorder::default();
        let features = matrix(&normal(100, 7 * D_FEATURES), D_FEATURES);
        let noise = normal(101, 7 * d_labels);
        for mode in [Mode::Predict, Mode::Train(&recorder)] {
            let condition = flow.condition(features.clone(), mode);
            let (labels, there) = flow.chain.inverse(matrix(&noise, d_labels), condition.clone(), mode);
            let (back, home) = flow.chain.forward(labels, condition, mode);
            assert_close(name, &to_vec(back), &noise, 1e-10);
            assert_close(name, &to_vec(there + home), &[0.0; 7], 1e-10);
        }
    }
    for_every_flow!(law);
}

#[test]
fn log_det_is_that_of_the_numerical_jacobian_of_each_row() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        for row in 0..3 {
            let features = matrix(&normal(200 + row, D_FEATURES), D_FEATURES);
            let condition = flow.condition(features, Mode::Predict);
            let inverse = |noise: &[f64]| flow.chain.inverse(matrix(noise, d_labels), condition.clone(), Mode::Predict);
            let noise = normal(300 + row, d_labels);
            let numerical = ln_abs_det(jacobian(|noise| to_vec(inverse(noise).0), &noise));
            assert_close(name, &to_vec(inverse(&noise).1), &[numerical], 1e-6);
        }
    }
    for_every_flow!(law);
}

/// Batch statistics make every row depend on every other one. The log-determinants of the rows still add up to that of the
/// whole batch, since the statistics depend on kept labels only.
#[test]
fn log_det_in_training_is_that_of_the_numerical_jacobian_of_the_batch() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let n_rows = 4;
        let features = matrix(&normal(400, n_rows * D_FEATURES), D_FEATURES);
        let condition = flow.condition(features, mode);
        let inverse = |noise: &[f64]| flow.chain.inverse(matrix(noise, d_labels), condition.clone(), mode);
        let noise = normal(401, n_rows * d_labels);
        let numerical = ln_abs_det(jacobian(|noise| to_vec(inverse(noise).0), &noise));
        let sum: f64 = to_vec(inverse(&noise).1).iter().sum();
        assert_close(name, &[sum], &[numerical], 1e-5);
    }
    for_every_flow!(law);
}

#[test]
fn log_prob_of_a_sample_is_the_one_it_came_with() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let features = matrix(&normal(500, 4 * D_FEATURES), D_FEATURES);
        let noise = matrix(&normal(501, 4 * d_labels), d_labels);
        let (labels, log_prob) = flow.sample_with_log_prob(noise.clone(), features.clone(), Mode::Predict);
        let sampled = flow.sample(noise, features.clone(), Mode::Predict);
        assert_close(name, &to_vec(labels.clone()), &to_vec(sampled), 1e-12);
        let again = flow.log_prob(labels, features, Mode::Predict);
        assert_close(name, &to_vec(log_prob), &to_vec(again), 1e-9);
    }
    for_every_flow!(law);
}

#[test]
fn a_row_is_predicted_the_same_whatever_stands_beside_it() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let (features, noise) = (normal(600, 5 * D_FEATURES), normal(601, 5 * d_labels));
        let sample = |rows: std::ops::Range<usize>| {
            let features = &features[rows.start * D_FEATURES..rows.end * D_FEATURES];
            let noise = &noise[rows.start * d_labels..rows.end * d_labels];
            let features = matrix(features, D_FEATURES);
            to_vec(flow.sample(matrix(noise, d_labels), features, Mode::Predict))
        };
        let alone: Vec<f64> = (0..5).flat_map(|row| sample(row..row + 1)).collect();
        assert_close(name, &sample(0..5), &alone, 1e-12);
    }
    for_every_flow!(law);
}

/// The mean log-probability of training, differentiated by autodiff and by central differences in some weights of every tensor.
#[test]
fn gradients_are_those_of_central_differences() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let features = matrix(&normal(700, 6 * D_FEATURES), D_FEATURES);
        let noise = matrix(&normal(701, 6 * d_labels), d_labels);
        let loss = |flow: &Flow<B>| {
            let recorder = StatisticsRecorder::default();
            let mode = Mode::Train(&recorder);
            let (labels, log_prob) = flow.sample_with_log_prob(noise.clone(), features.clone(), mode);
            (labels.square().sum() + log_prob.sum()) / 6.0
        };
        let gradients = gradient_by_name(&flow, loss(&flow));
        let weights = state(&flow);
        for (name_of_weight, gradient) in &gradients {
            let values: Vec<f64> = weights[name_of_weight].clone().try_to_vec().expect("f64");
            for i in (0..values.len()).step_by(values.len().div_ceil(3)) {
                let nudged = |by: f64| {
                    let mut values = values.clone();
                    values[i] += by;
                    let mut nudged = weights.clone();
                    let shape = weights[name_of_weight].shape();
                    nudged.insert(name_of_weight.clone(), TensorData::new(values, shape));
                    let flow = load_state(flow.clone(), nudged).expect("its own names");
                    to_vec(loss(&flow))
                };
                let numerical = derivative(nudged)[0];
                let difference = (gradient[i] - numerical).abs();
                let scale = numerical.abs().max(1.0);
                assert!(difference < 1e-5 * scale, "{name}, {name_of_weight}[{i}]: {} and {numerical}", gradient[i]);
            }
        }
        // A bias cancels in the normalisation after it: its gradient is zero, and may be left out.
        let cancels = |name: &str| name.contains("maps") && name.ends_with("second.bias");
        for name_of_weight in weights.keys().filter(|name| !name.contains("running")) {
            let known = gradients.contains_key(name_of_weight) || cancels(name_of_weight);
            assert!(known, "{name}: {name_of_weight} has a gradient");
        }
    }
    for_every_flow!(law);
}

fn gradient_by_name<M: Module>(module: &M, loss: Tensor<1>) -> std::collections::BTreeMap<String, Vec<f64>> {
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::Gradients;
    struct Collect {
        path: Vec<String>,
        gradients: Gradients,
        by_name: std::collections::BTreeMap<String, Vec<f64>>,
    }
    impl ModuleVisitor for Collect {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = param.val().grad(&self.gradients) {
                self.by_name.insert(self.path.join("."), to_vec(gradient));
            }
        }
    }
    let mut collect = Collect { path: Vec::new(), gradients: loss.backward(), by_name: Default::default() };
    module.visit(&mut collect);
    collect.by_name
}

#[test]
fn running_statistics_move_a_tenth_towards_the_batch() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, d_labels: usize) {
        let Some(before) = state(&flow).remove("bank.norm.running_mean") else {
            return;
        };
        let before: Vec<f64> = before.try_to_vec().expect("f64");
        let recorder = StatisticsRecorder::default();
        let features = matrix(&normal(800, 6 * D_FEATURES), D_FEATURES);
        let noise = matrix(&normal(801, 6 * d_labels), d_labels);
        let batch_mean = to_vec(flow.bank.first.forward(features.clone().unsqueeze_dim(0)).mean_dim(1));
        flow.sample(noise, features, Mode::Train(&recorder));
        let n_before = state(&flow).len();
        let flow = absorb(flow, recorder, MOMENTUM);
        let after: Vec<f64> = state(&flow)["bank.norm.running_mean"].clone().try_to_vec().expect("f64");
        let expected: Vec<f64> = before.iter().zip(&batch_mean).map(|(b, m)| 0.9 * b + 0.1 * m).collect();
        assert_close(name, &after, &expected, 1e-12);
        assert_eq!(state(&flow).len(), n_before);
    }
    for_every_flow!(law);
}

#[test]
fn a_loaded_state_is_the_saved_one_and_foreign_states_are_refused() {
    fn law<B: Bijection>(name: &str, flow: Flow<B>, _: usize) {
        let saved = state(&flow);
        let loaded = load_state(flow.clone(), saved.clone()).expect("its own state");
        assert_eq!(state(&loaded), saved, "{name}");
        let mut missing = saved.clone();
        missing.pop_first();
        assert!(load_state(flow.clone(), missing).is_err());
        let mut unknown = saved.clone();
        unknown.insert("stranger".to_owned(), TensorData::from([1.0]));
        assert!(load_state(flow.clone(), unknown).is_err());
        let mut reshaped = saved;
        reshaped.insert("bank.first.weight".to_owned(), TensorData::from([[[1.0]]]));
        assert!(load_state(flow, reshaped).is_err());
    }
    for_every_flow!(law);
}

#[test]
fn the_same_seed_gives_the_same_weights_and_nearly_the_identity() {
    let device = f64_device();
    let config =
        CouplingFlowConfig { d_features: 30, d_labels: 2, d_hidden: 64, n_steps: 8, ..CouplingFlowConfig::default() };
    assert_eq!(state(&config.init(7, &device)), state(&config.init(7, &device)));
    assert_ne!(state(&config.init(7, &device)), state(&config.init(8, &device)));
    let recorder = StatisticsRecorder::default();
    let noise = normal(1, 200);
    let features = matrix(&normal(2, 100 * 30), 30);
    let labels = config.init(7, &device).sample(matrix(&noise, 2), features, Mode::Train(&recorder));
    let largest = to_vec(labels).iter().zip(&noise).map(|(y, z)| (y - z).abs()).fold(0.0, f64::max);
    assert!(largest < 1.5, "labels start near the noise, off by {largest} at most");
}

#[test]
fn parameters_are_as_many_as_the_paper_has() {
    let config =
        CouplingFlowConfig { d_features: 784, d_labels: 2, d_hidden: 64, n_steps: 8, ..CouplingFlowConfig::default() };
    let flow = config.init(0, &Device::flex());
    assert_eq!(n_parameters(&flow), 3_627_040);
    assert_eq!(n_parameters(&flow) / 16, 226_690);
}

/// Affine maps one after another are one, so that the density is a Gaussian.
#[test]
fn an_affine_flow_is_a_gaussian() {
    let device = f64_device();
    for activation in [Activation::NormalizedSilu, Activation::Tanh, Activation::Relu] {
        let config =
            AffineFlowConfig { d_features: D_FEATURES, d_labels: 1, d_hidden: D_HIDDEN, n_steps: 8, activation };
        let flow = shaken(config.init(1, &device));
        let features = matrix(&normal(800, 9 * D_FEATURES), D_FEATURES);
        let labels = matrix(&normal(801, 9), 1);
        let gaussian = flow.composed(features.clone(), Mode::Predict);
        let noise = (labels.clone() - gaussian.shift.clone()) / gaussian.scale.clone();
        let expected = standard_normal_log_prob(noise) - gaussian.log_scale.clone().squeeze_dim::<1>(1);
        let log_prob = flow.log_prob(labels, features.clone(), Mode::Predict);
        assert_close(&format!("{activation:?}"), &to_vec(log_prob), &to_vec(expected), 1e-10);
        for scale in to_vec(gaussian.scale.clone()) {
            assert!(scale > (-4.0f64).exp() && scale < 4.0f64.exp() * (1.0 + 1e-4));
        }
        // Map by map, all maps as one, and samples of the same noise agree.
        let noise = matrix(&normal(802, 9), 1);
        let condition = flow.condition(features.clone(), Mode::Predict);
        let (one_by_one, log_det) = flow.chain.inverse(noise.clone(), condition, Mode::Predict);
        let at_once = noise.clone() * gaussian.scale + gaussian.shift;
        assert_close("all maps as one", &to_vec(at_once), &to_vec(one_by_one.clone()), 1e-12);
        assert_close("log-determinant", &to_vec(gaussian.log_scale), &to_vec(log_det), 1e-12);
        let samples = flow.samples(noise.unsqueeze_dim::<3>(0), features);
        assert_close("samples", &to_vec(samples), &to_vec(one_by_one), 1e-12);
    }
}

/// Flows side by side share features and nothing else.
#[test]
fn a_member_knows_nothing_of_the_others() {
    let device = f64_device();
    let (n_rows, d_labels, n_members) = (4, 2, 3);
    let config =
        CouplingFlowConfig { d_features: D_FEATURES, d_labels, d_hidden: D_HIDDEN, n_members, ..Default::default() };
    let flow = shaken(config.init(1, &device));
    let features = matrix(&normal(2, n_rows * D_FEATURES), D_FEATURES);
    let noise = normal(3, n_rows * d_labels * n_members);
    // That of the second member in the first row.
    let mut changed = noise.clone();
    changed[d_labels] += 1.0;
    let labels =
        |noise: &[f64]| to_vec(flow.sample(matrix(noise, d_labels * n_members), features.clone(), Mode::Predict));
    let (before, after) = (labels(&noise), labels(&changed));
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before != after, (d_labels..2 * d_labels).contains(&index), "label {index}");
    }
}
