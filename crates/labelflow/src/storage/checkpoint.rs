//! Everything that training needs to go on as if it had never stopped.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use burn::tensor::{DType, TensorData};
use labelflow_files::Sha256;
use labelflow_flow::State;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use crate::training::{AdamState, EpochRecord};
use crate::{Error, Result};

/// The one key of a file's metadata. (One, since the format writes several in no fixed order.)
const METADATA: &str = "labelflow";
/// How the metadata begins: what follows on the line is the hash of all the rest.
const DIGEST: &str = "# sha256 ";
const FIRST_MOMENT: &str = "first_moment";
const SECOND_MOMENT: &str = "second_moment";
const WEIGHTS: &str = "weights.";
const MEMORY: &str = "memory.";

/// A snapshot of training between two epochs.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What the run is: a digest of its settings and data. A checkpoint of another run is refused.
    pub run: String,
    /// The epochs so far.
    pub history: Vec<EpochRecord>,
    /// Weights and running statistics.
    pub state: State,
    /// The optimisers, one a player: adversarial training has two.
    pub optimizers: Vec<AdamState>,
    /// What else training remembers: the labels of mini-batches, averaged weights.
    pub memory: State,
}

/// The part that is no tensor. Written as TOML, which keeps every number to the last bit and knows infinity; JSON does neither.
#[derive(Serialize, Deserialize)]
struct Header {
    run: String,
    /// Of each optimiser.
    n_steps: Vec<usize>,
    history: Vec<EpochRecord>,
}

/// The hash of a header and all tensors, with their names and shapes.
fn digest(header: &str, tensors: &BTreeMap<String, &TensorData>) -> String {
    let mut hasher = Sha256::default();
    hasher.update(header);
    for (name, data) in tensors {
        hasher.update(format!("\n{name} {:?} {:?}\n", data.dtype(), data.shape().to_vec()));
        hasher.update(data.as_bytes());
    }
    hasher.hex()
}

/// The name of an optimiser's tensor.
fn moment(optimizer: usize, name: &str) -> String {
    format!("adam.{optimizer}.{name}")
}

impl Checkpoint {
    /// Writes the checkpoint; a crash leaves the previous one.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = Header {
            run: self.run.clone(),
            n_steps: self.optimizers.iter().map(|optimizer| optimizer.n_steps).collect(),
            history: self.history.clone(),
        };
        let named = |prefix: &'static str| move |(name, data): (&String, _)| (format!("{prefix}{name}"), data);
        let mut tensors: BTreeMap<String, &TensorData> = self.state.iter().map(named(WEIGHTS)).collect();
        tensors.extend(self.memory.iter().map(named(MEMORY)));
        for (index, optimizer) in self.optimizers.iter().enumerate() {
            tensors.insert(moment(index, FIRST_MOMENT), &optimizer.first_moment);
            tensors.insert(moment(index, SECOND_MOMENT), &optimizer.second_moment);
        }
        let header = toml::to_string(&header).expect("a header of numbers and strings");
        let header = format!("{DIGEST}{}\n{header}", digest(&header, &tensors));
        let contents = to_safetensors(&tensors, Some(header));
        labelflow_files::replace(path, &contents).map_err(Error::io(path, "writing"))
    }

    /// Removes the checkpoint, if it is there, and what a killed run left of the next one.
    pub fn remove(path: &Path) -> Result<()> {
        labelflow_files::remove(path).map_err(Error::io(path, "removing"))
    }

    /// Reads a checkpoint.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "reading"))?;
        let (mut tensors, header) = from_safetensors(path, &bytes)?;
        drop(bytes);
        let not_a_checkpoint =
            |what: &str| Error::format(path, "a checkpoint of labelflow", format!("a file without {what}"));
        let header = header.ok_or_else(|| not_a_checkpoint("metadata"))?;
        let (found, header) = header
            .strip_prefix(DIGEST)
            .and_then(|rest| rest.split_once('\n'))
            .ok_or_else(|| not_a_checkpoint("its hash"))?;
        let named = tensors.iter().map(|(name, data)| (name.clone(), data)).collect();
        if digest(header, &named) != found {
            let found = "a damaged one, whose hash differs";
            return Err(Error::format(path, "a whole checkpoint of labelflow", found));
        }
        let header: Header = toml::from_str(header).map_err(|_| not_a_checkpoint("readable metadata"))?;
        let mut take = |name: String| tensors.remove(&name).ok_or_else(|| not_a_checkpoint(&name));
        let optimizer = |(index, &n_steps): (usize, &usize)| {
            Ok(AdamState {
                first_moment: take(moment(index, FIRST_MOMENT))?,
                second_moment: take(moment(index, SECOND_MOMENT))?,
                n_steps,
            })
        };
        let optimizers = header.n_steps.iter().enumerate().map(optimizer).collect::<Result<_>>()?;
        let part = |prefix: &str| {
            let named = tensors.iter();
            named.filter_map(|(name, data)| Some((name.strip_prefix(prefix)?.to_owned(), data.clone()))).collect()
        };
        Ok(Self { run: header.run, history: header.history, optimizers, state: part(WEIGHTS), memory: part(MEMORY) })
    }
}

/// A safetensors file in memory.
pub(crate) fn to_safetensors<D: Borrow<TensorData>>(
    tensors: &BTreeMap<String, D>,
    metadata: Option<String>,
) -> Vec<u8> {
    let views: BTreeMap<&String, TensorView<'_>> = tensors
        .iter()
        .map(|(name, data)| {
            let data = data.borrow();
            let dtype = match data.dtype() {
                DType::F64 => Dtype::F64,
                _ => Dtype::F32,
            };
            let view = TensorView::new(dtype, data.shape().to_vec(), data.as_bytes());
            (name, view.expect("a tensor has as many bytes as its shape says"))
        })
        .collect();
    let metadata = metadata.map(|text| HashMap::from([(METADATA.to_owned(), text)]));
    safetensors::serialize(views, metadata).expect("valid tensors can be written")
}

/// The tensors and the metadata of a safetensors file.
pub(crate) fn from_safetensors(path: &Path, bytes: &[u8]) -> Result<(State, Option<String>)> {
    let broken = |error: safetensors::SafeTensorError| Error::format(path, "a whole safetensors file", error);
    let (_, header) = safetensors::SafeTensors::read_metadata(bytes).map_err(broken)?;
    let metadata = header.metadata().as_ref().and_then(|map| map.get(METADATA).cloned());
    let file = safetensors::SafeTensors::deserialize(bytes).map_err(broken)?;
    let mut state = State::new();
    for (name, view) in file.tensors() {
        let shape = view.shape().to_vec();
        let data = match view.dtype() {
            Dtype::F32 => TensorData::new(numbers(view.data(), f32::from_le_bytes), shape),
            Dtype::F64 => TensorData::new(numbers(view.data(), f64::from_le_bytes), shape),
            other => {
                return Err(Error::format(path, "tensors of f32 or f64", format!("{other:?}")));
            }
        };
        state.insert(name, data);
    }
    Ok((state, metadata))
}

fn numbers<const N: usize, T>(bytes: &[u8], parse: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().copied().map(parse).collect()
}
