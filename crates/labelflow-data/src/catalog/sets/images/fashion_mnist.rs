//! Fashion-MNIST: three pairs of its ten classes, each image of 28 × 28 pixels.

use std::path::Path;

use labelflow_weak::linear::Scaler;
use labelflow_weak::rows::{Features, Truth};
use ndarray::{Array2, Axis};

use crate::catalog::catalog_entry::Source;
use crate::catalog::formats::read_idx;
use crate::catalog::sets::number_table::{owned, rows_of_classes};
use crate::catalog::simulated_problem::{scale, simulate_parts};
use crate::catalog::{LabelledTable, WeakProblem};
use crate::tables::cells::into_table;
use crate::{Error, Result, ensure};

const N_PIXELS: usize = 784;

/// Pixels in the middle of the upper, middle and lower part of the image.
const SIGNAL_PIXELS: [usize; 3] = [195, 391, 587];

/// The split is given by the files, so the seed has no part in it. The scale comes from the images of all ten classes. Of the
/// training images of the two classes, the first half in file order is the simulation part.
pub(crate) fn load(source: &Source<'_>, classes: [(u8, &str); 2]) -> Result<WeakProblem> {
    let dir = source.dir;
    let (images, labels) = read_images(&source.paths[0], &source.paths[1])?;
    let scaler = Scaler::standard(images.view())?;
    let train = two_classes(dir, &scaler, &images, &labels, classes)?;
    drop(images);
    let (images, labels) = read_images(&source.paths[2], &source.paths[3])?;
    let test = two_classes(dir, &scaler, &images, &labels, classes)?;
    let rows = (0..train.truth.n_rows()).collect::<Vec<_>>();
    let (simulation_rows, train_rows) = rows.split_at(rows.len() / 2);
    ensure(!simulation_rows.is_empty(), || Error::content(dir, "several images of both classes", rows.len()))?;
    let simulation = train.select_rows(simulation_rows);
    let train = train.select_rows(train_rows);
    simulate_parts(train, simulation, test, &SIGNAL_PIXELS, source.options.bounds)
}

/// All images of two files as rows of pixels, and their classes.
fn read_images(images_path: &Path, labels_path: &Path) -> Result<(Array2<f32>, Vec<u8>)> {
    let (images, labels) = (read_idx(images_path)?, read_idx(labels_path)?);
    let n_images = labels.bytes.len();
    let expected = || format!("{n_images} images of 28 by 28 pixels, as many as labels");
    let refuse = || Error::content(images_path, expected(), format!("{:?}", images.shape));
    ensure(images.shape == [n_images, 28, 28], refuse)?;
    let pixels = images.bytes.into_iter().map(f32::from).collect();
    Ok((into_table(pixels, N_PIXELS), labels.bytes))
}

/// The images of two classes, on the scaler's scale.
fn two_classes(
    dir: &Path,
    scaler: &Scaler,
    images: &Array2<f32>,
    labels: &[u8],
    classes: [(u8, &str); 2],
) -> Result<LabelledTable> {
    let (rows, labels) = rows_of_classes(labels, classes.map(|class| class.0));
    let names = (0..N_PIXELS).map(|pixel| format!("pixel{pixel}")).collect();
    let features = Features::with_names(images.select(Axis(0), &rows), names).map_err(Error::in_file(dir))?;
    Ok(LabelledTable {
        features: scale(scaler, &features)?,
        truth: Truth::new(labels, 2)?,
        classes: owned(&classes.map(|class| class.1)),
    })
}
