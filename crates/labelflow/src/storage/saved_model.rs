//! A fitted model that can be saved: how it is taken apart and put together.

use std::path::Path;

use burn::module::Module;
use burn::tensor::TensorData;
use labelflow_files::sha256_hex;
use labelflow_flow::{State, load_state, state};
use labelflow_weak::linear::Projection;
use ndarray::Array2;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checkpoint::to_safetensors;
use super::model_files::{MODEL, ModelFiles, write_model_files};
use super::model_record::{FORMAT, hash_of_values};
use crate::learners::Scaler;
use crate::training::{EpochRecord, Report, StopReason};
use crate::{Error, Result};

/// What a model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelTask {
    /// Classes from weak signals.
    Classification,
    /// Real values from rules.
    Regression,
    /// Complete point clouds from partial ones.
    Completion,
    /// The same, by the codes of an autoencoder.
    CodeCompletion,
    /// The same, by a generator that is bent to each scan.
    InversionCompletion,
    /// The same, by what complete clouds taught a decoder of both.
    TransferCompletion,
}

impl ModelTask {
    /// Whether models of this task complete point clouds.
    pub fn is_completion(self) -> bool {
        !matches!(self, Self::Classification | Self::Regression)
    }
}

impl std::fmt::Display for ModelTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
            Self::Completion => "completion",
            Self::CodeCompletion => "code-completion",
            Self::InversionCompletion => "inversion-completion",
            Self::TransferCompletion => "transfer-completion",
        })
    }
}

/// What `model.toml` holds: `D` is what the labels are, `C` the settings.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest<D, C> {
    format: u32,
    task: ModelTask,
    labelflow: String,
    weights_sha256: String,
    /// None beside metrics that were lost, in memory, and in format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metrics_sha256: Option<String>,
    /// Of all values here but this one and `origin`. Format 1 had none.
    #[serde(default)]
    sha256: String,
    n_epochs: usize,
    stop: StopReason,
    /// The names of the features.
    pub features: Vec<String>,
    /// What the labels are.
    #[serde(flatten)]
    pub labels: D,
    /// Where the model came from, as whoever trained it tells. Before the settings, so that a file that is cut lacks those and is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<toml::Table>,
    /// How features are scaled.
    pub scaler: Option<Scaler>,
    /// What makes a few columns of many; it is stored with the weights.
    #[serde(skip)]
    pub projection: Option<Projection>,
    /// The settings.
    pub config: C,
}

impl<D, C> Manifest<D, C> {
    /// How many columns the network sees.
    pub fn d_seen(&self) -> usize {
        self.projection.as_ref().map_or(self.features.len(), Projection::n_components)
    }
}

/// Where a projection is among the weights.
const PROJECTION: [&str; 2] = ["projection.components", "projection.offset"];

/// What a model in memory holds beside its weights.
#[derive(Serialize)]
struct Packed<D, C> {
    history: Vec<EpochRecord>,
    #[serde(flatten)]
    manifest: Manifest<D, C>,
}

/// A fitted model that can be saved: how it is taken apart and put together.
pub trait SavedModel: Sized {
    /// What it was trained for.
    const TASK: ModelTask;
    /// What the labels are.
    type Labels: Serialize + DeserializeOwned;
    /// The settings.
    type Config: Serialize + DeserializeOwned + Clone;
    /// What is trained.
    type Network: Module;

    /// The trained network.
    fn network(&self) -> &Self::Network;
    /// The course of training.
    fn report(&self) -> &Report;
    /// The settings.
    fn config(&self) -> &Self::Config;
    /// The names of the features.
    fn features(&self) -> Vec<String>;
    /// What the labels are.
    fn labels(&self) -> Self::Labels;
    /// How features are scaled.
    fn scaler(&self) -> Option<Scaler> {
        None
    }
    /// What makes a few columns of many.
    fn projection(&self) -> Option<&Projection> {
        None
    }
    /// How many numbers a network of the shape that the manifest describes has at the least; none if there is no such number.
    fn n_weights_at_least(manifest: &Manifest<Self::Labels, Self::Config>) -> Option<usize>;
    /// A network of the shape that the manifest describes, on the cpu.
    fn empty_network(manifest: &Manifest<Self::Labels, Self::Config>) -> Result<Self::Network>;
    /// The model, on the cpu.
    fn assemble(manifest: Manifest<Self::Labels, Self::Config>, network: Self::Network, report: Report) -> Self;

    /// Writes the model into a folder, replacing a model that is there.
    fn save(&self, folder: &Path) -> Result<()> {
        save(self, folder, None)
    }

    /// As [`save`](Self::save), with a table `origin` in `model.toml`: what is to be remembered of where the model came from.
    /// [`ModelRecord`](crate::storage::ModelRecord) reads it.
    fn save_with_origin(&self, folder: &Path, origin: &impl Serialize) -> Result<()> {
        let origin = toml::Table::try_from(origin).map_err(|error| Error::data("origin", "a table", error))?;
        save(self, folder, Some(origin))
    }

    /// Reads a model, onto the device cpu.
    fn load(folder: &Path) -> Result<Self> {
        ModelFiles::read(folder)?.into_model()
    }

    /// The model as one file in memory: its weights as safetensors, with what else a model folder holds as metadata.
    fn to_bytes(&self) -> Vec<u8> {
        let weights = weights_of(self);
        let sha256 = sha256_hex(to_safetensors(&weights, None));
        let mut packed =
            Packed { history: self.report().history.clone(), manifest: manifest_of_model(self, sha256, None, None) };
        packed.manifest.sha256 = hash_of(&packed);
        to_safetensors(&weights, Some(to_toml(&packed)))
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, on the device cpu.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ModelFiles::from_bytes(bytes)?.into_model()
    }
}

fn save<M: SavedModel>(model: &M, folder: &Path, origin: Option<toml::Table>) -> Result<()> {
    let weights = to_safetensors(&weights_of(model), None);
    let Report { history, n_epochs, .. } = model.report();
    let line = |record| serde_json::to_string(record).expect("numbers and names") + "\n";
    // What was lost of a model that was loaded is not overwritten with nothing.
    let metrics = (history.len() == *n_epochs).then(|| history.iter().map(line).collect::<String>());
    let mut manifest = manifest_of_model(model, sha256_hex(&weights), metrics.as_ref().map(sha256_hex), origin);
    manifest.sha256 = hash_of(&manifest);
    write_model_files(folder, &weights, &to_toml(&manifest), metrics.as_deref())
}

/// The numbers of the network, and of the projection before it.
fn weights_of<M: SavedModel>(model: &M) -> State {
    let mut weights = state(model.network());
    if let Some(projection) = model.projection() {
        let (components, offset) = (projection.components(), projection.offset());
        let shape = [components.nrows(), components.ncols()];
        let components = TensorData::new(components.iter().copied().collect::<Vec<f32>>(), shape);
        let offset = TensorData::new(offset.to_vec(), [shape[1]]);
        weights.extend(PROJECTION.map(str::to_owned).into_iter().zip([components, offset]));
    }
    weights
}

/// Takes the projection out of the weights, if there is one.
fn take_projection(weights: &mut State) -> Result<Option<Projection>> {
    let [components, offset] = PROJECTION.map(|name| weights.remove(name));
    let Some((components, offset)) = components.zip(offset) else { return Ok(None) };
    let unusable = || Error::data("projection", "a table of numbers, and a number for each of its columns", "others");
    let &[d_features, d_projected] = components.shape().as_slice() else { return Err(unusable()) };
    let numbers = |data: TensorData| data.convert::<f32>().try_into_vec::<f32>().map_err(|_| unusable());
    let components = Array2::from_shape_vec((d_features, d_projected), numbers(components)?).map_err(|_| unusable())?;
    Ok(Some(Projection::from_parts(components, numbers(offset)?.into())?))
}

fn manifest_of_model<M: SavedModel>(
    model: &M,
    weights_sha256: String,
    metrics_sha256: Option<String>,
    origin: Option<toml::Table>,
) -> Manifest<M::Labels, M::Config> {
    Manifest {
        format: FORMAT,
        task: M::TASK,
        labelflow: env!("CARGO_PKG_VERSION").to_owned(),
        weights_sha256,
        metrics_sha256,
        sha256: String::new(),
        n_epochs: model.report().n_epochs,
        stop: model.report().stop,
        features: model.features(),
        labels: model.labels(),
        origin,
        scaler: model.scaler(),
        projection: None,
        config: model.config().clone(),
    }
}

/// The hash of the values as they will be read from the text.
fn hash_of(manifest: &impl Serialize) -> String {
    hash_of_values(Path::new(MODEL), &to_toml(manifest)).expect("what was written as TOML can be read")
}

fn to_toml(manifest: &impl Serialize) -> String {
    toml::to_string(manifest).expect("a manifest can be written as TOML")
}

/// A model from what is stored of it; errors name the places that its manifest and its weights came from.
pub(super) fn put_together<M: SavedModel>(
    mut manifest: Manifest<M::Labels, M::Config>,
    mut weights: State,
    history: Vec<EpochRecord>,
    [manifest_place, weights_place]: [&Path; 2],
) -> Result<M> {
    let described = || format!("the weights that {MODEL} describes");
    manifest.projection =
        take_projection(&mut weights).map_err(|error| Error::format(weights_place, described(), error))?;
    // Before a network is made: what a setting claims must not decide how much memory it takes.
    let n_weights: usize = weights.values().map(|data| data.num_elements()).sum();
    if M::n_weights_at_least(&manifest).is_none_or(|least| least > n_weights) {
        let found = format!("{n_weights} numbers, which are too few");
        return Err(Error::format(weights_place, described(), found));
    }
    let network =
        M::empty_network(&manifest).map_err(|error| Error::format(manifest_place, "a usable model", error))?;
    let network = load_state(network, weights).map_err(|error| Error::format(weights_place, described(), error))?;
    let report = Report { history, n_epochs: manifest.n_epochs, stop: manifest.stop };
    Ok(M::assemble(manifest, network, report))
}

/// The numbers of the two layers of feature-side networks, of which every step has at least one.
pub fn n_hidden_weights(n_steps: usize, d_hidden: usize, d_seen: usize) -> Option<usize> {
    n_steps.checked_mul(d_hidden)?.checked_mul(d_hidden.checked_add(d_seen)?)
}

/// The weights of layers from each of these widths to the next, without biases.
pub fn n_products(widths: &[usize]) -> Option<usize> {
    widths.windows(2).try_fold(0, |n: usize, pair| n.checked_add(pair[0].checked_mul(pair[1])?))
}
