//! One loss, its gradients and a run of 20 steps, equal to those of a PyTorch program with the same weights and noise.
//!
//! The files under `tests/golden/` are made by `tools/golden.py`, which says what they hold. All of it is f64: a bias before a
//! normalisation without affine part has no gradient but rounding errors, which Adam would blow up in f32.

use std::path::Path;

use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use labelflow_flow::{Coupling, CouplingFlowConfig, Flow, Mode, State, StatisticsRecorder, load_state, state};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::{Features, WeakDataset};
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, Array3};

use crate::constraints::ConstraintConfig;
use crate::storage::checkpoint::from_safetensors;
use crate::training::{Adam, Batch, Objective, StepInput, TrainConfig, flat_gradient, step};

struct Golden {
    file: State,
    device: Device,
}

impl Golden {
    fn open(name: &str) -> Self {
        let mut device = Device::flex().autodiff();
        // The setting is process-wide; under a threaded test runner the other test may have made it already.
        let _ = device.configure(FloatDType::F64);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let bytes = std::fs::read(&path).expect("a golden file in the repository");
        let (file, _) = from_safetensors(&path, &bytes).expect("a whole golden file");
        Self { file, device }
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.file[name].clone().try_to_vec().expect("golden files are f64")
    }

    fn shape(&self, name: &str) -> Vec<usize> {
        self.file[name].shape().to_vec()
    }

    fn tensor<const D: usize>(&self, name: &str) -> Tensor<D> {
        Tensor::from_data(self.file[name].clone(), &self.device)
    }

    fn noise(&self, step: usize) -> Tensor<2> {
        self.tensor::<3>("noise").narrow(0, step, 1).squeeze_dim(0)
    }

    /// The tensors under a prefix, by the names that they have in a flow.
    fn state(&self, prefix: &str) -> State {
        let ours = |name: &str| name.replace("couplings.", "chain.maps.");
        self.file.iter().filter_map(|(name, data)| Some((ours(name.strip_prefix(prefix)?), data.clone()))).collect()
    }

    /// The flow with the file's weights.
    fn flow(&self) -> Flow<Coupling> {
        let weights = self.state("weights/");
        let [n_networks, d_features, d_hidden] = weights["bank.first.weight"].shape()[..] else {
            panic!("a weight of three dimensions");
        };
        let d_labels = self.shape("labels")[1];
        let config = CouplingFlowConfig {
            d_features,
            d_labels,
            d_hidden,
            n_steps: n_networks / 4 / d_labels,
            ..CouplingFlowConfig::default()
        };
        let flow = config.init(0, &self.device);
        let mut all = state(&flow);
        all.extend(weights);
        load_state(flow, all).expect("the names and shapes of the flow")
    }

    fn objective(&self) -> Objective {
        let as_f32 = |name: &str| self.values(name).iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let [n_rows, n_signals, n_classes] = self.shape("signals")[..] else {
            panic!("signals of three dimensions");
        };
        let signals = Array3::from_shape_vec((n_rows, n_signals, n_classes), as_f32("signals"));
        let signals = WeakSignals::from_probabilities(signals.unwrap()).unwrap();
        let bounds = Array2::from_shape_vec((n_signals, n_classes), self.values("bounds")).unwrap();
        let features = Features::new(Array2::<f64>::zeros((n_rows, 1))).unwrap();
        let dataset = WeakDataset::new(features, signals, Bounds::new(bounds).unwrap()).unwrap();
        let penalties = ConstraintConfig::classification()
            .iter()
            .map(|constraint| constraint.build(&dataset, &self.device).unwrap())
            .collect();
        Objective { likelihood_weight: 1.0, final_likelihood_weight: None, penalties, n_members: 1 }
    }
}

fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().try_to_vec().expect("f64")
}

fn assert_close(what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (index, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}[{index}]: {a}, PyTorch has {b}");
    }
}

fn one_loss_and_its_gradients(name: &str) {
    let golden = Golden::open(name);
    let (flow, objective) = (golden.flow(), golden.objective());
    let recorder = StatisticsRecorder::default();
    let (features, noise) = (golden.tensor("features"), golden.noise(0));
    let condition = flow.condition(features, Mode::Train(&recorder));
    let (labels, log_det) =
        labelflow_flow::Bijection::inverse(&flow.chain, noise.clone(), condition, Mode::Train(&recorder));
    assert_close("labels", &to_vec(labels.clone()), &golden.values("labels"), 1e-9);
    assert_close("log_det", &to_vec(log_det.clone()), &golden.values("log_det"), 1e-9);

    let log_prob = labelflow_flow::standard_normal_log_prob(noise) - log_det;
    let value = objective.evaluate(&labels, log_prob, &Batch::full(), 0.0);
    let theirs = golden.values("terms");
    let theirs = [theirs[0], theirs[1] + theirs[2], theirs[3], theirs[4]];
    // Signals are stored in f32.
    assert_close("terms", &to_vec(value.terms), &theirs, 1e-6);
    assert_close("loss", &to_vec(value.loss.clone()), &golden.values("loss"), 1e-6);

    let gradient = to_vec(flat_gradient(&flow, value.loss.backward()));
    let theirs = golden.state("gradients/");
    let theirs: Vec<f64> =
        trained_names(&flow).iter().flat_map(|name| theirs[name].clone().try_to_vec::<f64>().expect("f64")).collect();
    assert_close("gradient", &gradient, &theirs, 1e-5);
}

/// The trained tensors in the order of the module's fields.
fn trained_names(flow: &Flow<Coupling>) -> Vec<String> {
    use burn::module::{Module, ModuleVisitor, Param};
    #[derive(Default)]
    struct Names(Vec<String>, Vec<String>);
    impl ModuleVisitor for Names {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.0.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.0.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.is_require_grad() {
                self.1.push(self.0.join("."));
            }
        }
    }
    let mut names = Names::default();
    flow.visit(&mut names);
    names.1
}

fn twenty_steps(name: &str) {
    let golden = Golden::open(name);
    let (mut flow, objective) = (golden.flow(), golden.objective());
    let config = TrainConfig::default();
    let n_weights = labelflow_flow::n_parameters(&flow);
    let mut adam = Adam::new(n_weights, &golden.device.clone().inner());
    let mut losses = Vec::new();
    for epoch in 0..20 {
        let input =
            StepInput { features: golden.tensor("features"), noise: golden.noise(epoch), batch: &Batch::full() };
        let (next, _, numbers) = step(flow, &mut adam, &objective, input, &config, epoch).unwrap();
        flow = next;
        losses.push(numbers.loss);
    }
    assert_close("losses", &losses, &golden.values("losses"), 1e-4);
    let ours = state(&flow);
    for (name, theirs) in golden.state("final/") {
        let values = |data: &TensorData| data.clone().try_to_vec::<f64>().expect("f64");
        // Its gradient is rounding errors, which Adam turns into steps; the normalisation after it removes it again.
        let without_gradient =
            name.ends_with("second.bias") && name.starts_with("chain") || name.ends_with("second_norm.running_mean");
        if !without_gradient {
            assert_close(&name, &values(&ours[&name]), &values(&theirs), 1e-4);
        }
    }
    let predicted = flow.sample(golden.noise(0), golden.tensor("features"), Mode::Predict);
    assert_close("predicted", &to_vec(predicted), &golden.values("predicted"), 1e-4);
}

#[test]
fn two_classes_loss_and_gradients() {
    one_loss_and_its_gradients("k2.safetensors");
}

#[test]
fn three_classes_with_abstentions_loss_and_gradients() {
    one_loss_and_its_gradients("k3.safetensors");
}

#[test]
fn two_classes_twenty_steps() {
    twenty_steps("k2.safetensors");
}

#[test]
fn three_classes_with_abstentions_twenty_steps() {
    twenty_steps("k3.safetensors");
}
