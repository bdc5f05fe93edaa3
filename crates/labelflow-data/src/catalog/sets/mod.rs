//! How the datasets are loaded, in a folder for what is learned from: tables with classes, images, texts, and tables with real values.
//! Sets of one form share a file.

use std::path::PathBuf;

use crate::Result;
use crate::catalog::catalog_entry::Source;
use crate::catalog::{LabelledTable, ValueTable, VoteProblem, WeakProblem, embedded};
use crate::synthetic::VoteKind;

pub(crate) mod classes {
    pub(crate) mod breast_cancer;
    pub(crate) mod cardiotocography;
    pub(crate) mod number_lines;
    pub(crate) mod obs_network;
    pub(crate) mod phishing_websites;
    pub(crate) mod wine_quality;
}
mod images {
    pub(crate) mod digits_planted;
    pub(crate) mod fashion_mnist;
}
mod labelled_texts;
pub(crate) mod number_table;
mod texts {
    pub(crate) mod reviews;
    pub(crate) mod sms_rules;
    pub(crate) mod wrench_texts;
}
mod votes;
mod values {
    pub(crate) mod uci_tables;
}

use classes::{breast_cancer, cardiotocography, number_lines, obs_network, phishing_websites, wine_quality};
use images::{digits_planted, fashion_mnist};
use texts::{reviews, sms_rules, wrench_texts};
use values::uci_tables;

/// How a dataset is made from its files.
pub(crate) enum Loader {
    /// Labels are classes, known through labelers.
    Classes(fn(&Source<'_>) -> Result<WeakProblem>),
    /// A table with classes: a labeler is simulated on each of these columns.
    ClassTable(fn(&[PathBuf]) -> Result<LabelledTable>, &'static [usize]),
    /// A table with real values: rules about these features are measured.
    ValueTable(fn(&[PathBuf]) -> Result<ValueTable>, &'static [&'static str]),
    /// Votes alone.
    Votes(fn(&Source<'_>) -> Result<VoteProblem>),
    /// Votes of a kind that is drawn.
    PlantedVotes(VoteKind),
}

/// How the dataset with this name is made.
pub(crate) fn loader(name: &str) -> Loader {
    use Loader::{ClassTable, Classes, PlantedVotes, ValueTable, Votes};
    if let Some(kind) = name.strip_prefix("planted-").and_then(VoteKind::from_name) {
        return PlantedVotes(kind);
    }
    match name {
        "breast-cancer" => ClassTable(breast_cancer::read, &[0, 10, 20]),
        "obs-network" => ClassTable(obs_network::read, &[1, 2, 20]),
        "cardiotocography" => ClassTable(cardiotocography::read, &[1, 10, 18]),
        "clave-direction" => ClassTable(number_lines::read_clave, &[0, 8, 15]),
        "credit-card" => Classes(number_lines::load_credit),
        "statlog-satellite" => ClassTable(number_lines::read_satellite, &[0, 17, 35]),
        "phishing-websites" => ClassTable(phishing_websites::read, &[13, 25, 27]),
        "wine-quality" => Classes(wine_quality::load),
        "fashion-mnist-dvk" => Classes(|source| fashion_mnist::load(source, [(3, "dress"), (7, "sneaker")])),
        "fashion-mnist-sva" => Classes(|source| fashion_mnist::load(source, [(5, "sandal"), (9, "ankle boot")])),
        "fashion-mnist-cvb" => Classes(|source| fashion_mnist::load(source, [(4, "coat"), (8, "bag")])),
        "digits-planted" => Classes(digits_planted::load),
        "sst-2" => Classes(reviews::load_sst2),
        "imdb" => Classes(reviews::load_imdb),
        "yelp" => Classes(reviews::load_yelp),
        "sms-rules" => Classes(sms_rules::load),
        "semeval" | "hausa" | "yoruba" => Classes(wrench_texts::load),
        "wrench-imdb" | "wrench-sms" | "wrench-cdr" | "wrench-yelp" | "wrench-tennis" => Votes(votes::load_arrays),
        "crowd-dog" | "crowd-bluebird-duck" => Votes(votes::load_answers),
        "air-quality" => ValueTable(uci_tables::read_air, &uci_tables::AIR_RULES),
        "temperature-forecast" => ValueTable(uci_tables::read_forecast, &uci_tables::FORECAST_RULES),
        "bike-sharing" => ValueTable(uci_tables::read_bikes, &uci_tables::BIKE_RULES),
        // Body mass index, blood pressure, and the serum measurements that say most of the label.
        "diabetes" => ValueTable(|_| Ok(embedded::diabetes()), &["bmi", "bp", "s3", "s5", "s6"]),
        _ => unreachable!("every dataset of catalog.toml is here"),
    }
}
