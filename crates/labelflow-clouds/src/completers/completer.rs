//! What a completer is: settings from which networks are trained, and a trained model that completes scans.

use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::learners::check_run;
use labelflow::storage::{Checkpoint, ModelTask};
use labelflow::training::{DeviceKind, Observer, Report};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::settings_check;
use super::stages::Course;
use crate::completers::{CompletionDataset, FittedCompleter, ScanFrame};
use crate::geometry::{Normalization, PointCloud, PointSet};

/// The name of a system and its default settings.
pub type System<S> = (&'static str, fn() -> S);

/// Settings from which a [`Completer`] is trained, and how it completes.
pub trait CompletionLearner: Clone + Debug + PartialEq + Serialize + DeserializeOwned + 'static {
    /// What is trained.
    type Networks: Module;
    /// How `model.toml` names its models.
    const TASK: ModelTask;
    /// Tells its runs from those of other learners with the same settings.
    const KIND: &'static str;
    /// The systems that have these settings, by name, with their default settings: as published, where it is not the flow.
    const SYSTEMS: &'static [System<Self>];
    /// Whether training looks at partial clouds.
    const LEARNS_FROM_PARTIALS: bool = true;

    /// The system whose settings these are.
    fn system(&self) -> &'static str {
        Self::SYSTEMS[0].0
    }

    /// The settings that all learners have.
    fn common(&mut self) -> CommonSettings<'_>;

    /// Points of a partial cloud in training.
    fn n_partial_points(&self) -> usize;

    /// Points of a complete cloud in training.
    fn n_points(&self) -> usize;

    /// The settings with so many points of a complete cloud.
    fn with_n_points(self, n_points: usize) -> Result<Self>;

    /// Small networks for small clouds, that train in seconds.
    #[must_use]
    fn small(self) -> Self;

    /// An error where a setting makes no sense.
    fn check(&self) -> Result<()>;

    /// Networks with initial weights.
    fn init(&self, device: &Device) -> Self::Networks;

    /// How many numbers the networks have at the least; none if there is no such number.
    fn n_weights_at_least(&self) -> Option<usize>;

    /// Trains the networks from where their course is.
    fn train(&self, course: Course<'_, Self::Networks>) -> Result<(Self::Networks, Report)>;

    /// Whether its models give a single completion per scan, however many are asked for.
    fn is_deterministic(&self) -> bool {
        false
    }

    /// What [`Completer::complete_all`] gives for options that make sense: by default scan by scan.
    fn complete_all(
        model: &FittedCompleter<Self>,
        scans: &[PointSet],
        options: &CompletionOptions,
    ) -> Result<Vec<Vec<PointSet>>> {
        scans.iter().map(|scan| Self::complete_one(model, scan, options)).collect()
    }

    /// The completions of one scan, of learners that complete scan by scan.
    fn complete_one(
        model: &FittedCompleter<Self>,
        scan: &PointSet,
        options: &CompletionOptions,
    ) -> Result<Vec<PointSet>> {
        Ok(Self::complete_all(model, std::slice::from_ref(scan), options)?.remove(0))
    }

    /// How much each of the clouds `[n_clouds, n_points, 3]` looks like a complete shape, `[n_clouds]`.
    fn scores(networks: &Self::Networks, clouds: Tensor<3>) -> Tensor<1>;

    /// What [`Completer::one_each`] gives, `[n_scans, n_points, 3]`.
    fn one_each(model: &FittedCompleter<Self>, scans: &[PointSet], seed: u64) -> Result<Tensor<3>>;

    /// Trains on a dataset.
    fn fit(&self, dataset: &CompletionDataset) -> Result<FittedCompleter<Self>> {
        self.fit_with(dataset, None, &mut ())
    }

    /// Trains on a dataset, from a checkpoint of any epoch if there is one, watched by an observer. Epochs are counted through all stages.
    fn fit_with(
        &self,
        dataset: &CompletionDataset,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedCompleter<Self>> {
        self.check()?;
        settings_check::weights(self.n_weights_at_least())?;
        let run = check_run(self.run_digest(dataset), &[], checkpoint.as_ref())?;
        let run = || run.clone();
        let course = Course::start(self, dataset, &run, checkpoint, observer)?;
        let (networks, report) = self.train(course)?;
        Ok(FittedCompleter { config: self.clone(), networks, report })
    }

    /// A digest of the settings and the data: two runs with the same digest end with the same weights.
    fn run_digest(&self, dataset: &CompletionDataset) -> String {
        dataset.run_digest(Self::KIND, self)
    }
}

/// The settings that all learners have, to be changed in place.
#[derive(Debug)]
pub struct CommonSettings<'a> {
    /// Where all randomness comes from.
    pub seed: &'a mut u64,
    /// Where to compute.
    pub device: &'a mut DeviceKind,
    /// Points of a partial cloud.
    pub n_partial_points: &'a mut usize,
    /// Passes over the clouds, of each stage of training.
    pub max_epochs: Vec<&'a mut usize>,
    /// Clouds per step, of each stage of training.
    pub batch_sizes: Vec<&'a mut usize>,
}

impl CommonSettings<'_> {
    /// So many epochs of every stage, and clouds per step; what is not given stays.
    pub fn set_length(&mut self, max_epochs: Option<usize>, batch_size: Option<usize>) {
        self.max_epochs.iter_mut().for_each(|n| **n = max_epochs.unwrap_or(**n));
        self.batch_sizes.iter_mut().for_each(|n| **n = batch_size.unwrap_or(**n));
    }
}

/// The methods of a [`CompletionLearner`] that look alike: of one with these stages, and with a field `n_points` if it is named.
macro_rules! common_settings {
    ([$($stage:ident),+], n_points) => {
        common_settings!([$($stage),+]);

        fn n_points(&self) -> usize {
            self.n_points
        }

        fn with_n_points(self, n_points: usize) -> Result<Self> {
            Ok(Self { n_points, ..self })
        }
    };
    ([$($stage:ident),+]) => {
        fn n_partial_points(&self) -> usize {
            self.n_partial_points
        }

        fn common(&mut self) -> $crate::completers::CommonSettings<'_> {
            $crate::completers::CommonSettings {
                seed: &mut self.seed,
                device: &mut self.device,
                n_partial_points: &mut self.n_partial_points,
                max_epochs: vec![$(&mut self.$stage.max_epochs),+],
                batch_sizes: vec![$(&mut self.$stage.batch_size),+],
            }
        }
    };
}
pub(crate) use common_settings;

/// Where the latent u comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatentSource {
    /// From q(u|x), as in training.
    #[default]
    Posterior,
    /// From N(0, I): more different completions, some of them less fitting.
    Prior,
}

settings! {
    checked
    /// How a scan is completed.
    pub struct CompletionOptions {
        /// Completions of each scan. Default: 10.
        n_completions: usize = 10 => at_least(1),
        /// Points of each; none takes as many as in training. Default: none.
        n_points: Option<usize> = None => if_given(at_least(1)),
        /// Where the latent comes from. Default: posterior.
        latent: LatentSource = LatentSource::Posterior,
        /// A factor on the deviation of the latent and of the noise: below 1 completions are less different. Default: 1.
        temperature: f64 = 1.0 => not_negative,
        /// Whether the scan's own points are part of each completion: they are added, and then as many points as wanted are drawn.
        /// Default: false.
        keep_input: bool = false,
        /// The seed of the noise. Default: 0.
        seed: u64 = 0,
    }
}

/// A trained model that completes scans.
pub trait Completer {
    /// Whether it gives a single completion per scan, however many are asked for.
    fn is_deterministic(&self) -> bool {
        false
    }

    /// Points of a partial cloud in training.
    fn n_partial_points(&self) -> usize;

    /// The completions of each of several scans that lie in the frame of the shapes.
    ///
    /// They depend on the scan, the model and the options, not on what else is completed.
    fn complete_all(&self, scans: &[PointSet], options: &CompletionOptions) -> Result<Vec<Vec<PointSet>>>;

    /// Several completions of a scan that lies in the frame of the shapes; a single one from [deterministic](Self::is_deterministic)
    /// models.
    fn complete(&self, scan: &PointSet, options: &CompletionOptions) -> Result<Vec<PointSet>> {
        Ok(self.complete_all(std::slice::from_ref(scan), options)?.remove(0))
    }

    /// How much each cloud looks like a complete shape: about 1 when it does, about 0 when it does not. All have as many points.
    fn scores(&self, clouds: &[PointSet]) -> Result<Vec<f64>>;

    /// A quick completion of each of several scans, all with the same noise: what a search for frames compares.
    fn one_each(&self, scans: &[PointSet], seed: u64) -> Result<Vec<PointSet>>;

    /// The frame in which a scan is completed.
    fn frame_of(&self, scan: &PointCloud, frame: &ScanFrame) -> Result<Normalization> {
        match frame {
            ScanFrame::Same => Ok(Normalization::new([0.0; 3], 1.0)?),
            ScanFrame::Given(frame) => Ok(*frame),
            ScanFrame::Scan => Ok(Normalization::fit(scan, Normalization::SHAPE_RADIUS)?),
            ScanFrame::Auto(search) => search.find(self, scan),
        }
    }
}
