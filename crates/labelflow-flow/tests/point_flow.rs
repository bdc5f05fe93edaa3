//! Known answers of point flows, in f64. Each test needs a process of its own: run them with nextest.

#![allow(clippy::unwrap_used)]

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use labelflow_flow::{
    Bijection, Flow, Initializer, Mode, N_AXES, PointCoupling, PointFlowConfig, State, StatisticsRecorder, load_state,
    n_parameters, state,
};

fn f64_device() -> Device {
    let mut device = Device::flex();
    let _ = device.configure(FloatDType::F64);
    device
}

/// The same module with these values for tensors whose name ends as given, and zero for all other trained tensors.
fn with_only<M: Module>(module: M, values: &[(&str, &[f64])]) -> M {
    let replaced = |(name, data): (String, TensorData)| {
        if name.contains("running") {
            return (name, data);
        }
        let known = values.iter().find(|(end, _)| name.ends_with(end));
        let values = match known {
            Some((_, values)) => values.to_vec(),
            None => vec![0.0; data.num_elements()],
        };
        let data = TensorData::new(values, data.shape());
        (name, data)
    };
    let replaced: State = state(&module).into_iter().map(replaced).collect();
    load_state(module, replaced).unwrap()
}

fn points(values: &[f64]) -> Tensor<2> {
    let shape = [values.len() / N_AXES, N_AXES];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), &f64_device())
}

fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().try_to_vec().unwrap()
}

fn waves(n: usize, factor: f64) -> Vec<f64> {
    (0..n).map(|index| (1.0 + factor * index as f64).sin()).collect()
}

fn flow(n_steps: usize) -> Flow<PointCoupling> {
    PointFlowConfig { d_features: 4, d_hidden: 5, n_steps }.init(3, &f64_device())
}

fn features(n_clouds: usize) -> Tensor<2> {
    let values = waves(n_clouds * 4, 2.3);
    Tensor::from_data(TensorData::new(values, [n_clouds, 4]), &f64_device())
}

/// Far from the identity: all weights are waves.
fn stirred(flow: Flow<PointCoupling>) -> Flow<PointCoupling> {
    let wave = |(index, (name, data)): (usize, (String, TensorData))| {
        let mut values = waves(data.num_elements(), 0.7 + 0.13 * index as f64);
        if name.ends_with("running_variance") {
            values.iter_mut().for_each(|value| *value = 0.5 + value.abs());
        }
        (name, TensorData::new(values, data.shape()))
    };
    let stirred: State = state(&flow).into_iter().enumerate().map(wave).collect();
    load_state(flow, stirred).unwrap()
}

#[test]
fn nothing_learned_changes_nothing_but_the_floor() {
    let flow = with_only(flow(8), &[]);
    let noise = points(&waves(12, 1.1));
    let condition = flow.condition(features(2), Mode::Predict);
    let (generated, log_det) = flow.chain.inverse(noise.clone(), condition, Mode::Predict);
    let expected = to_vec(noise).into_iter().map(|z| z * (1.0f64 + 1e-6).powi(6));
    for (found, expected) in to_vec(generated).into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
    for log_det in to_vec(log_det) {
        assert!((log_det - 1.8e-5).abs() < 1e-10, "{log_det}");
    }
}

#[test]
fn one_coupling_by_hand() {
    let mut init = Initializer::new(0, &f64_device());
    let coupling = PointCoupling::new(&[0], 3, &mut init);
    let coupling = with_only(coupling, &[("merge.bias", &[1.0, 0.25])]);
    let condition = Tensor::zeros([4, 1, 3], &f64_device());
    let (moved, log_det) = coupling.inverse(points(&[2.0, 3.0, 4.0]), condition, Mode::Predict);
    let moved = to_vec(moved);
    assert!((moved[0] - 2.8180516122).abs() < 1e-9, "{moved:?}");
    assert_eq!(moved[1..], [3.0, 4.0]);
    assert!((to_vec(log_det)[0] - 0.2500003033).abs() < 1e-9);
}

#[test]
fn couplings_warp_their_axes_alone_in_the_order_of_the_paper() {
    let flow = stirred(flow(2));
    let warped: Vec<&[usize]> = flow.chain.maps.iter().map(|map| &*map.warped).collect();
    assert_eq!(warped, [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]);
    let noise = waves(15, 1.9);
    for map in &flow.chain.maps {
        let condition = flow.condition(features(1), Mode::Predict).narrow(0, 0, 4);
        let moved = to_vec(map.inverse(points(&noise), condition, Mode::Predict).0);
        for (index, (before, after)) in noise.iter().zip(&moved).enumerate() {
            let is_warped = map.warped.contains(&(index % N_AXES));
            assert_eq!(is_warped, before != after, "{:?} {index}", map.warped);
        }
    }
}

#[test]
fn log_determinants_are_bounded() {
    let mut flow = stirred(flow(8));
    let huge = state(&flow).into_iter().map(|(name, data)| {
        let factor = if name.ends_with("merge.weight") { 1e4 } else { 1.0 };
        let values: Vec<f64> = data.iter::<f64>().map(|value| value * factor).collect();
        (name, TensorData::new(values, data.shape()))
    });
    flow = load_state(flow, huge.collect()).unwrap();
    let condition = flow.condition(features(2), Mode::Predict);
    let (_, log_det) = flow.chain.inverse(points(&waves(60, 0.3)), condition, Mode::Predict);
    let largest = to_vec(log_det).into_iter().map(f64::abs).fold(0.0, f64::max);
    assert!(largest > 3.0 && largest <= 18.001, "{largest}");
}

#[test]
fn a_cloud_hears_its_own_condition() {
    let flow = stirred(flow(2));
    let noise = waves(4 * 2 * N_AXES, 0.9);
    let generate = |noise: &[f64], features: Tensor<2>| to_vec(flow.sample(points(noise), features, Mode::Predict));
    let both = generate(&noise, features(2));
    let half = noise.len() / 2;
    let first = generate(&noise[..half], features(2).narrow(0, 0, 1));
    let second = generate(&noise[half..], features(2).narrow(0, 1, 1));
    for (one, other) in both.iter().zip(first.iter().chain(&second)) {
        assert!((one - other).abs() < 1e-12);
    }
    assert_ne!(generate(&noise[..half], features(2).narrow(0, 1, 1)), first);
}

/// Folding running statistics into the weights is what normalising with them is.
#[test]
fn prediction_uses_running_statistics() {
    let coupling = stirred(flow(1)).chain.maps.remove(0);
    let layer = coupling.second;
    let input = Tensor::<4>::from_data(TensorData::new(waves(2 * 3 * 5, 1.7), [2, 1, 3, 5]), &f64_device());
    let found = to_vec(layer.forward(input.clone(), Mode::Predict));
    let product = layer.linear.forward(input.squeeze_dim::<3>(1));
    let expected = to_vec(layer.norm.unwrap().forward(product, Mode::Predict));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
}

/// Over two clouds of three points each, the rows' log-determinants add up to that of the whole batch.
#[test]
fn training_of_clouds_has_the_log_determinant_of_the_batch() {
    let flow = stirred(flow(2));
    let recorder = StatisticsRecorder::default();
    let mode = Mode::Train(&recorder);
    let condition = flow.condition(features(2), mode);
    let inverse = |noise: &[f64]| flow.chain.inverse(points(noise), condition.clone(), mode);
    let noise = waves(6 * N_AXES, 1.3);
    let step = 1e-5;
    let n = noise.len();
    let mut jacobian: Vec<Vec<f64>> = (0..n)
        .map(|input| {
            let at = |by: f64| {
                let mut nudged = noise.clone();
                nudged[input] += by;
                to_vec(inverse(&nudged).0)
            };
            at(step).iter().zip(at(-step)).map(|(up, down)| (up - down) / (2.0 * step)).collect()
        })
        .collect();
    let mut numerical = 0.0;
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| jacobian[a][column].abs().total_cmp(&jacobian[b][column].abs())).unwrap();
        jacobian.swap(column, pivot);
        numerical += jacobian[column][column].abs().ln();
        let top = jacobian[column].clone();
        for row in &mut jacobian[column + 1..] {
            let factor = row[column] / top[column];
            row.iter_mut().zip(&top).for_each(|(entry, top)| *entry -= factor * top);
        }
    }
    let sum: f64 = to_vec(inverse(&noise).1).iter().sum();
    assert!((sum - numerical).abs() < 1e-4, "{sum} and {numerical}");
}

#[test]
fn a_coupling_has_as_many_parameters_as_the_specification_says() {
    let per_step = |n_steps| {
        let config = PointFlowConfig { d_features: 640, d_hidden: 64, n_steps };
        n_parameters(&config.init(0, &f64_device()))
    };
    assert_eq!(per_step(1), 3 * 189_826);
    assert_eq!(per_step(2) - per_step(1), 3 * 189_828);
    let narrow =
        |d_features| n_parameters(&PointFlowConfig { d_features, d_hidden: 64, n_steps: 8 }.init(0, &f64_device()));
    assert_eq!((narrow(128), narrow(512)), (1_410_120, 3_769_416));
}

/// Points, log-determinants, statistics and all gradients of the pass with a tape are those of the composed one.
#[test]
fn the_way_back_by_hand_is_that_of_autodiff() {
    let mut device = Device::flex().autodiff();
    let _ = device.configure(FloatDType::F64);
    for (n_clouds, n_points) in [(2, 7), (1, 3), (3, 1)] {
        let config = PointFlowConfig { d_features: 4, d_hidden: 5, n_steps: 2 };
        let flow = stirred(config.init(3, &device));
        let tensor =
            |values: Vec<f64>, shape: [usize; 2]| Tensor::<2>::from_data(TensorData::new(values, shape), &device);
        let noise = tensor(waves(n_clouds * n_points * 3, 1.1), [n_clouds * n_points, 3]);
        let weights = tensor(waves(n_clouds * n_points * 3, 0.77), [n_clouds * n_points, 3]);
        let features = tensor(waves(n_clouds * 4, 2.3), [n_clouds, 4]);
        let log_det_weight = 0.37;
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let condition = flow.condition(features, mode).detach().require_grad();

        let (points, log_det) = flow.chain.inverse(noise.clone(), condition.clone(), mode);
        let loss = (points.clone() * weights.clone()).sum() + log_det.clone().sum() * log_det_weight;
        let gradients = loss.backward();
        let expected_condition = condition.grad(&gradients).unwrap();
        let mut by_module = Gradient { gradients, parts: Vec::new() };
        flow.chain.visit(&mut by_module);
        let composed = labelflow_flow::absorb(flow.clone(), recorder, 0.5);

        let plain = flow.clone().valid();
        let recorder = StatisticsRecorder::default();
        let (found_points, found_log_det, tape) =
            labelflow_flow::generate_with_tape(&plain.chain.maps, noise.inner(), &condition.inner(), &recorder);
        let found = tape.backward(&plain.chain.maps, weights.inner(), log_det_weight);
        let close = |name: &str, found: Vec<f64>, expected: Vec<f64>| {
            assert_eq!(found.len(), expected.len(), "{name}");
            for (found, expected) in found.iter().zip(&expected) {
                let scale = expected.abs().max(1.0);
                assert!((found - expected).abs() < 1e-9 * scale, "{name}: {found} and {expected}");
            }
        };
        close("points", to_vec(found_points), to_vec(points));
        close("log-determinants", to_vec(found_log_det), to_vec(log_det));
        close("condition", to_vec(found.condition), to_vec(expected_condition));
        let weights = found.weights.into_iter().flat_map(to_vec).collect();
        close("weights", weights, by_module.parts.concat());
        let statistics = |flow: &Flow<PointCoupling>| -> Vec<f64> {
            let all = state(flow).into_iter().filter(|(name, _)| name.starts_with("chain"));
            let running = all.filter(|(name, _)| name.contains("running"));
            running.flat_map(|(_, data)| data.iter::<f64>().collect::<Vec<_>>()).collect()
        };
        let with_tape = labelflow_flow::absorb(flow, recorder, 0.5);
        close("statistics", statistics(&with_tape), statistics(&composed));
    }
}

/// The gradients of a module's weights, in the order of its fields.
struct Gradient {
    gradients: burn::tensor::Gradients,
    parts: Vec<Vec<f64>>,
}

impl burn::module::ModuleVisitor for Gradient {
    fn visit_float<const D: usize>(&mut self, param: &burn::module::Param<Tensor<D>>) {
        if param.is_require_grad() {
            self.parts.push(to_vec(param.val().grad(&self.gradients).unwrap()));
        }
    }
}
