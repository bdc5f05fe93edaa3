//! What a fit may be given beside data.

use std::path::Path;

use crate::constraints::Penalty;
use crate::storage::Checkpoint;
use crate::training::Observer;

/// Options of a fit; by default there is nothing beside the data.
///
/// ```no_run
/// # let (config, dataset) = (labelflow::LabelFlowClassifier::default(), None::<labelflow::WeakDataset>.unwrap());
/// use labelflow::learners::FitOptions;
/// use labelflow::training::TimeLimit;
///
/// let mut limit = TimeLimit::after(std::time::Duration::from_secs(60));
/// let model = config.fit_with(&dataset, FitOptions { observer: Some(&mut limit), ..FitOptions::default() })?;
/// # Ok::<(), labelflow::Error>(())
/// ```
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Constraints of the user's own, beside those of the settings; rows in memory only.
    pub constraints: Vec<Penalty>,
    /// Where training goes on. Default: it starts anew.
    pub checkpoint: Option<Checkpoint>,
    /// Who watches training. Default: nobody.
    pub observer: Option<&'a mut dyn Observer>,
    /// Where rows that do not fit in memory are kept in random order while training lasts, in a file that has no name. Default: the
    /// system's folder for temporary files.
    pub folder: Option<&'a Path>,
}
