//! The whole loss, differentiated by autodiff and by central differences, in f64.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData};
use labelflow::constraints::ConstraintConfig;
use labelflow::flow::{Bijection, Coupling, CouplingFlowConfig, Flow, Mode, StatisticsRecorder, load_state, state};
use labelflow::training::{Batch, Objective};
use labelflow::{Bounds, Features, WeakDataset};
use labelflow_data::synthetic::PlantedVotes;
use ndarray::Array2;

const N_ROWS: usize = 9;
const D_FEATURES: usize = 4;

fn f64_device() -> Device {
    let mut device = Device::flex().autodiff();
    let _ = device.configure(FloatDType::F64);
    device
}

/// Numbers without a pattern, of about unit size.
fn wavy(n: usize, phase: f64) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + 1.0) * 1.7 + phase).sin() * 1.3).collect()
}

fn objective(n_classes: usize, device: &Device) -> Objective {
    let votes = PlantedVotes { n_rows: N_ROWS, n_signals: 4, n_classes, ..PlantedVotes::default() };
    let signals = votes.generate().unwrap().signals;
    let features = Features::new(Array2::from_shape_fn((N_ROWS, 1), |(row, _)| row as f32)).unwrap();
    let bounds = Bounds::constant(0.1, &signals).unwrap();
    let dataset = WeakDataset::new(features, signals, bounds).unwrap();
    let mut constraints = ConstraintConfig::classification();
    constraints.push(ConstraintConfig::GroupMean {
        weight: 5.0,
        feature: "x0".to_owned(),
        threshold: 4.0,
        class: 1,
        above: 0.7,
        below: 0.2,
    });
    let penalties = constraints.iter().map(|c| c.build(&dataset, device).unwrap()).collect();
    Objective { likelihood_weight: 1.0, final_likelihood_weight: None, penalties, n_members: 1 }
}

fn loss(flow: &Flow<Coupling>, objective: &Objective, n_classes: usize) -> Tensor<1> {
    let device = f64_device();
    let matrix =
        |values: Vec<f64>, columns: usize| Tensor::<2>::from_data(TensorData::new(values, [N_ROWS, columns]), &device);
    let recorder = StatisticsRecorder::default();
    let (labels, log_prob) = flow.sample_with_log_prob(
        matrix(wavy(N_ROWS * n_classes, 0.3), n_classes),
        matrix(wavy(N_ROWS * D_FEATURES, 0.9), D_FEATURES),
        Mode::Train(&recorder),
    );
    objective.evaluate(&labels, log_prob, &Batch::full(), 0.0).loss
}

fn gradients(flow: &Flow<Coupling>, loss: &Tensor<1>) -> BTreeMap<String, Vec<f64>> {
    struct Collect(Vec<String>, Gradients, BTreeMap<String, Vec<f64>>);
    impl ModuleVisitor for Collect {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.0.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.0.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = param.val().grad(&self.1) {
                self.2.insert(self.0.join("."), gradient.into_data().try_to_vec().unwrap());
            }
        }
    }
    let mut collect = Collect(Vec::new(), loss.backward(), BTreeMap::new());
    flow.visit(&mut collect);
    collect.2
}

fn check(n_classes: usize) {
    let device = f64_device();
    let config = CouplingFlowConfig {
        d_features: D_FEATURES,
        d_labels: n_classes,
        d_hidden: 5,
        n_steps: 1,
        ..CouplingFlowConfig::default()
    };
    let flow = config.init(1, &device);
    // Away from the start, where the last layers are nearly zero.
    let mut weights = state(&flow);
    for (index, data) in weights.values_mut().enumerate() {
        let values: Vec<f64> = data.clone().try_to_vec().unwrap();
        let shaken = wavy(values.len(), index as f64);
        let values = values.iter().zip(shaken).map(|(v, s)| v + 0.3 * s).collect::<Vec<f64>>();
        *data = TensorData::new(values, data.shape());
    }
    let flow = load_state(flow, weights.clone()).unwrap();
    let objective = objective(n_classes, &device);
    let value = |flow: &Flow<Coupling>| -> f64 {
        loss(flow, &objective, n_classes).into_data().try_to_vec::<f64>().unwrap()[0]
    };
    for (name, gradient) in gradients(&flow, &loss(&flow, &objective, n_classes)) {
        let at = gradient.len() / 2;
        let nudged = |by: f64| {
            let mut nudged = weights.clone();
            let mut values: Vec<f64> = weights[&name].clone().try_to_vec().unwrap();
            values[at] += by;
            nudged.insert(name.clone(), TensorData::new(values, weights[&name].shape()));
            value(&load_state(flow.clone(), nudged).unwrap())
        };
        let step = 1e-5;
        let numerical =
            (8.0 * (nudged(step) - nudged(-step)) - nudged(2.0 * step) + nudged(-2.0 * step)) / (12.0 * step);
        let difference = (gradient[at] - numerical).abs();
        assert!(
            difference < 1e-5 * numerical.abs().max(1.0),
            "k = {n_classes}, {name}: {} by autodiff, {numerical} by differences",
            gradient[at]
        );
    }
}

#[test]
fn two_classes() {
    check(2);
}

#[test]
fn three_classes() {
    check(3);
}

#[test]
fn ten_classes() {
    check(10);
}

/// Specification 2.2: with 8 maps a dimension and ln s > −1/2 each, the expected likelihood term is never below
/// (1.4189 − 4) / ln 2 = −3.7237 bits. Rows with |z| = 1 have the expected ½ z² exactly.
#[test]
fn the_likelihood_term_has_a_floor() {
    let device = f64_device();
    let config =
        CouplingFlowConfig { d_features: 2, d_labels: 2, d_hidden: 4, n_steps: 8, ..CouplingFlowConfig::default() };
    let flow = config.init(0, &device);
    let mut weights = state(&flow);
    for (name, data) in &mut weights {
        if name.ends_with("merge.bias") {
            *data = TensorData::new(vec![-1e12, 0.0], [2, 1, 1]);
        }
    }
    let flow = load_state(flow, weights).unwrap();
    let noise = Tensor::<2>::from_data([[1.0, -1.0], [-1.0, -1.0], [1.0, 1.0]], &device);
    let features = Tensor::<2>::from_data([[0.1, 0.2], [0.3, -0.5], [1.0, 0.0]], &device);
    let recorder = StatisticsRecorder::default();
    let (labels, log_prob) = flow.sample_with_log_prob(noise, features, Mode::Train(&recorder));
    let objective =
        Objective { likelihood_weight: 1.0, final_likelihood_weight: None, penalties: Vec::new(), n_members: 1 };
    let nll = objective.evaluate(&labels, log_prob, &Batch::full(), 0.0).loss;
    let nll = nll.into_data().try_to_vec::<f64>().unwrap()[0];
    assert!((nll - -3.7237).abs() < 1e-4, "{nll}");
    assert_eq!(flow.chain.n_conditioners(), 64);
}
