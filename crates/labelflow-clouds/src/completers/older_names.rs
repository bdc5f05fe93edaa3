//! Settings of training by the names they had in 0.1, before flows and completers called them the same: files and models of then are
//! read, and runs of then are known.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use super::stages::StageTraining;

/// An older name, today's, and where today's is a list of numbers, the place in it.
const OLDER: [(&str, &str, Option<usize>); 4] = [
    ("decay", "learning_rate_decay", None),
    ("final_rate", "learning_rate_floor", None),
    ("beta_1", "betas", Some(0)),
    ("beta_2", "betas", Some(1)),
];

/// A table with the values of another one in place of its own, at any depth. Tables of training know older names too; one that is given
/// beside today's stays, and so is refused.
pub(crate) fn merged(mut base: Table, changes: &Table) -> Table {
    let is_training = base.contains_key("learning_rate_floor");
    let of_today = |key: &str| {
        let older =
            OLDER.iter().find(|(older, today, _)| is_training && key == *older && !changes.contains_key(*today));
        older.map_or((key.to_owned(), None), |&(_, today, place)| (today.to_owned(), place))
    };
    for (key, change) in changes {
        let (key, place) = of_today(key);
        match (base.get_mut(&key), place, change) {
            (Some(Value::Table(inner)), _, Value::Table(change)) => *inner = merged(std::mem::take(inner), change),
            (Some(Value::Array(numbers)), Some(place), _) => numbers[place] = change.clone(),
            _ => drop(base.insert(key, change.clone())),
        }
    }
    base
}

/// Reads a stage by its names of today or older ones.
pub(crate) fn stage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StageTraining, D::Error> {
    let given = Table::deserialize(deserializer)?;
    let default = Table::try_from(StageTraining::default()).expect("settings can be written as TOML");
    merged(default, &given).try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))
}

/// Settings as the text that 0.1 wrote of them: what checkpoints and kept results know a run by must not change with a name.
pub(crate) fn as_written_by_0_1(settings: &impl Serialize) -> String {
    let text = toml::to_string(settings).expect("settings can be written as TOML");
    // How scans are completed by inversion always had betas; it comes last.
    let (training, rest) = text.split_at(text.find("[inversion]").unwrap_or(text.len()));
    let line = |line: &str| {
        let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
        let older = OLDER.iter().filter(|(_, today, _)| *today == key).map(|(older, _, place)| match place {
            None => format!("{older} = {value}\n"),
            Some(place) => {
                format!("{older} = {}\n", value.trim_matches(['[', ']']).split(", ").nth(*place).expect("two numbers"))
            }
        });
        let older: String = older.collect();
        if older.is_empty() { format!("{line}\n") } else { older }
    };
    training.lines().map(line).collect::<String>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completers::{AnyCompletionLearner, ShapeInversion};

    /// The training of shape-inversion and of the flow as 0.1 wrote them.
    const INVERSION: &str = "[training]\nmax_epochs = 2000\nbatch_size = 128\nlearning_rate = 0.0001\ndecay = 1.0\n\
        final_rate = 1.0\nbeta_1 = 0.0\nbeta_2 = 0.99\n\n[inversion]\n";
    const FLOW: &str = "[training]\nmax_epochs = 100\nbatch_size = 32\nlearning_rate = 0.0005\ndiscriminator_rate = 1.0\n\
        warmup_steps = 100\nfinal_rate = 0.02\nmax_gradient_norm = 1000.0\n";

    #[test]
    fn texts_are_those_of_0_1_and_are_read_again() {
        for (system, part) in [("shape-inversion", INVERSION), ("llf", FLOW)] {
            let learner = AnyCompletionLearner::of_system(system).unwrap();
            let text = as_written_by_0_1(&learner);
            assert!(text.contains(part), "{text}");
            assert!(!part.contains("[inversion]") || text.contains("betas = [0.0, 0.99]\nn_mask_neighbors"), "{text}");
            assert_eq!(learner.with(&text.parse().unwrap()).unwrap(), learner);
        }
    }

    #[test]
    fn older_names_stand_for_their_own_part() {
        let read = |training: &str| {
            let read: Result<ShapeInversion, _> = toml::from_str(&format!("[training]\n{training}"));
            read.map(|learner| learner.training).map_err(|error| error.message().to_owned())
        };
        let stage = read("beta_2 = 0.5\nfinal_rate = 0.7").unwrap();
        assert_eq!((stage.betas, stage.learning_rate_floor), ([0.9, 0.5], 0.7));
        assert_eq!(read("betas = [0.1, 0.2]\nlearning_rate_decay = 0.3").unwrap().betas, [0.1, 0.2]);
        assert!(read("betas = [0.1, 0.2]\nbeta_1 = 0.3").unwrap_err().contains("unknown field `beta_1`"));
        assert!(read("decay = 'slow'").unwrap_err().contains("expected f64"));
    }
}
