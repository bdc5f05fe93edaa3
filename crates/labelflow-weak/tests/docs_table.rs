//! The tables of the reference hold every label model of the registry.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use labelflow_weak::label_models::{AnyLabelModel, Needs};

/// The rows of the table that begins with this header: cells without the blanks around them.
fn table(page: &str, header: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_reference_names_every_label_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/label-models.md");
    let page = std::fs::read_to_string(path).unwrap();
    let models = table(&page, "| label model | name for `--model`");
    let settings = table(&page, "| label model | defaults |");
    let names: Vec<&str> = models.iter().map(|row| row[1].trim_matches('`')).collect();
    for &name in AnyLabelModel::NAMES {
        let model = AnyLabelModel::from_name(name).unwrap();
        let type_name = format!("`{}`", model.type_name());
        let row = models.iter().find(|row| row[1] == format!("`{name}`"));
        let row = row.unwrap_or_else(|| panic!("no row for `{name}` in the table of label models"));
        assert_eq!(row[0], type_name, "the type of {name}");
        let needs = match model.needs() {
            Needs::Signals => None,
            Needs::Errors => Some("labelers' errors"),
            Needs::Bounds => Some("bounds"),
        };
        assert_eq!(row[4].split_once(", ").map(|(_, needs)| needs), needs, "what {name} needs");
        let row = settings.iter().find(|row| row[0] == type_name);
        let row = row.unwrap_or_else(|| panic!("no row for {type_name} in the table of settings"));
        let written = serde_json::to_value(&model).unwrap();
        for setting in written.as_object().unwrap().keys().filter(|key| *key != "model") {
            let is_there = row[1].contains(&format!("`{setting} "))
                || row[1].contains(&format!("`{setting}`"))
                || setting == "seed" && row[1].contains("`seed = ");
            assert!(is_there, "the setting `{setting}` of {name} is not in the table of settings");
        }
    }
    for name in names {
        assert!(AnyLabelModel::NAMES.contains(&name), "`{name}` is no label model");
    }
}
