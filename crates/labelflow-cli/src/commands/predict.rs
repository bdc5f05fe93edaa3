//! `labelflow predict`: labels for new rows.

use anyhow::Context;
use labelflow::FittedLabelFlowClassifier;
use labelflow::weak::SoftLabels;
use labelflow_data::{read_features, write_labels};

use crate::Outcome;
use crate::args::{DeviceName, PredictArgs};
use crate::output;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<Outcome> {
    let mut model = load_model(&args.model, args.device)?;
    if let Some(samples) = args.samples {
        model = model.with_samples(samples)?;
    }
    let labels = label(&model, &args.features)?;
    write_labels(&args.out, &labels, model.classes())?;
    output::note(&format!("{} rows labelled in {}", labels.n_rows(), args.out.display()));
    Ok(Outcome::Done)
}

pub(crate) fn load_model(
    folder: &std::path::Path,
    device: DeviceName,
) -> anyhow::Result<FittedLabelFlowClassifier> {
    let model = FittedLabelFlowClassifier::load(folder)
        .with_context(|| format!("loading the model {}", folder.display()))?;
    Ok(model.to_device(device.into())?)
}

/// Probabilities of the rows of a file.
pub(crate) fn label(
    model: &FittedLabelFlowClassifier,
    features: &std::path::Path,
) -> anyhow::Result<SoftLabels> {
    let rows = read_features(features)?;
    let rows = model.arrange(rows).with_context(|| format!("{}", features.display()))?;
    let (labels, lost) =
        model.predict_proba_with_lost(&rows).with_context(|| format!("{}", features.display()))?;
    if let Some(first) = lost.first() {
        output::note(&format!(
            "{}: {} of {} rows, the first of them row {first}, are so far from the training rows that nothing is known of them; \
             their classes are equally probable",
            features.display(),
            lost.len(),
            rows.n_rows(),
        ));
    }
    Ok(labels)
}
