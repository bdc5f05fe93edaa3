//! Fashion-MNIST: three pairs of its ten classes, each image of 28 × 28 pixels.

use std::path::Path;

use labelflow_weak::linear::StandardScaler;
use labelflow_weak::rows::{Features, Truth};
use ndarray::{Array2, Axis};

use crate::catalog::formats::read_idx;
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader};
use crate::catalog::simulated_problem::{scale, simulate_parts};
use crate::catalog::{Checksum, LoadOptions, WeakProblem};
use crate::{Error, Result};

pub(crate) const DRESS_SNEAKER: CatalogEntry = CatalogEntry {
    name: "fashion-mnist-dvk",
    title: "Fashion-MNIST, dress or sneaker",
    load: Loader::Classes(|dir, _, options| load(dir, [(3, "dress"), (7, "sneaker")], options)),
    ..FASHION_MNIST
};

pub(crate) const SANDAL_BOOT: CatalogEntry = CatalogEntry {
    name: "fashion-mnist-sva",
    title: "Fashion-MNIST, sandal or ankle boot",
    load: Loader::Classes(|dir, _, options| load(dir, [(5, "sandal"), (9, "ankle boot")], options)),
    ..FASHION_MNIST
};

pub(crate) const COAT_BAG: CatalogEntry = CatalogEntry {
    name: "fashion-mnist-cvb",
    title: "Fashion-MNIST, coat or bag",
    load: Loader::Classes(|dir, _, options| load(dir, [(4, "coat"), (8, "bag")], options)),
    ..FASHION_MNIST
};

/// What the three have in common. The split is given by the files, so the seed has no part in it.
const FASHION_MNIST: CatalogEntry = CatalogEntry {
    name: "",
    title: "",
    files: &[
        unpacked(
            "images/fashion-mnist/train-images-idx3-ubyte.gz",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            47_040_016,
        ),
        unpacked(
            "images/fashion-mnist/train-labels-idx1-ubyte.gz",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            60_008,
        ),
        unpacked(
            "images/fashion-mnist/t10k-images-idx3-ubyte.gz",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            7_840_016,
        ),
        unpacked(
            "images/fashion-mnist/t10k-labels-idx1-ubyte.gz",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            10_008,
        ),
    ],
    licence: "MIT, copyright (c) 2017 Zalando SE",
    citation: "H. Xiao, K. Rasul, R. Vollgraf (2017), https://arxiv.org/abs/1708.07747",
    counts: Counts { n_rows: 14_000, d_features: N_PIXELS, n_classes: 2 },
    load: Loader::Classes(|dir, _, options| load(dir, [(0, "t-shirt"), (1, "trouser")], options)),
};

const fn unpacked(path: &'static str, url: &'static str, sha256: &'static str, bytes: u64) -> CatalogFile {
    CatalogFile { checksum: Checksum::Unpacked, ..CatalogFile::new(path, url, sha256, bytes) }
}

const N_PIXELS: usize = 784;

/// Pixels in the middle of the upper, middle and lower part of the image.
const SIGNAL_PIXELS: [usize; 3] = [195, 391, 587];

/// The scale comes from the images of all ten classes. Of the training images of the two classes, the first half in
/// file order is the simulation part.
fn load(dir: &Path, classes: [(u8, &str); 2], options: &LoadOptions) -> Result<WeakProblem> {
    let (images, labels) = read_images(dir, "train")?;
    let scaler = StandardScaler::fit(images.view())?;
    let train = two_classes(dir, &scaler, &images, &labels, classes)?;
    drop(images);
    let (images, labels) = read_images(dir, "t10k")?;
    let test = two_classes(dir, &scaler, &images, &labels, classes)?;
    let rows = (0..train.truth.n_rows()).collect::<Vec<_>>();
    let (simulation_rows, train_rows) = rows.split_at(rows.len() / 2);
    if simulation_rows.is_empty() {
        return Err(Error::content(dir, "several images of both classes", rows.len()));
    }
    let simulation = train.select_rows(simulation_rows);
    let train = train.select_rows(train_rows);
    simulate_parts(train, simulation, test, &SIGNAL_PIXELS, options.bounds)
}

/// All images of a part as rows of pixels, and their classes.
fn read_images(dir: &Path, part: &str) -> Result<(Array2<f32>, Vec<u8>)> {
    let folder = dir.join("images/fashion-mnist");
    let images_path = folder.join(format!("{part}-images-idx3-ubyte.gz"));
    let labels_path = folder.join(format!("{part}-labels-idx1-ubyte.gz"));
    let (images, labels) = (read_idx(&images_path)?, read_idx(&labels_path)?);
    let n_images = labels.bytes.len();
    if images.shape != [n_images, 28, 28] {
        let expected = format!("{n_images} images of 28 by 28 pixels, as many as labels");
        return Err(Error::content(&images_path, expected, format!("{:?}", images.shape)));
    }
    let pixels = images.bytes.into_iter().map(f32::from).collect();
    let pixels = Array2::from_shape_vec((n_images, N_PIXELS), pixels).expect("the shape was checked against the bytes");
    Ok((pixels, labels.bytes))
}

/// The images of two classes, on the scaler's scale.
fn two_classes(
    dir: &Path,
    scaler: &StandardScaler,
    images: &Array2<f32>,
    labels: &[u8],
    classes: [(u8, &str); 2],
) -> Result<LabelledTable> {
    let class_of = |label: &u8| classes.iter().position(|class| class.0 == *label);
    let rows = (0..labels.len()).filter(|&row| class_of(&labels[row]).is_some());
    let names = (0..N_PIXELS).map(|pixel| format!("pixel{pixel}")).collect();
    let kept = images.select(Axis(0), &rows.collect::<Vec<_>>());
    let features = Features::with_names(kept, names).map_err(Error::in_file(dir))?;
    Ok(LabelledTable {
        features: scale(scaler, &features)?,
        truth: Truth::new(labels.iter().filter_map(class_of).collect(), 2)?,
        classes: classes.map(|class| class.1.to_owned()).to_vec(),
    })
}
