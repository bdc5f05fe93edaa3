//! The settings of a system of completion: `[config]` of an experiment file for flows, and `[codes]` for systems that complete in the codes
//! of an autoencoder.

use anyhow::Context;
use labelflow::{CodeCompleter, PointCloudCompleter};

use super::CompletionSystem;

/// Settings of both kinds of systems; each takes its own. Numbers of points are always those of the flow, so that all are judged alike.
#[derive(Debug, Clone)]
pub(crate) struct CompletionSettings {
    pub(crate) flow: PointCloudCompleter,
    pub(crate) codes: CodeCompleter,
}

impl CompletionSettings {
    /// The published settings of a system with what `codes` changes of them.
    pub(crate) fn new(
        system: CompletionSystem,
        flow: PointCloudCompleter,
        codes: &toml::Table,
    ) -> anyhow::Result<Self> {
        let published = match system {
            CompletionSystem::MmPcl2Pcl => CodeCompleter::mm_pcl2pcl(),
            _ => CodeCompleter::pcl2pcl(),
        };
        let published = toml::Table::try_from(published).expect("settings can be written as TOML");
        let codes: CodeCompleter = merged(published, codes).try_into().context("[codes]")?;
        let codes = CodeCompleter {
            seed: flow.seed,
            device: flow.device,
            n_points: flow.n_points,
            n_partial_points: flow.n_partial_points,
            ..codes
        };
        Ok(Self { flow, codes })
    }

    /// With so many epochs of every stage.
    #[must_use]
    pub(crate) fn with_epochs(mut self, max_epochs: Option<usize>) -> Self {
        if let Some(max_epochs) = max_epochs {
            self.flow.training.max_epochs = max_epochs;
            let Self { codes, .. } = &mut self;
            for stage in [&mut codes.autoencoder, &mut codes.variational, &mut codes.players] {
                stage.max_epochs = max_epochs;
            }
        }
        self
    }
}

/// A table with the values of another one in place of its own, at any depth.
fn merged(mut base: toml::Table, changes: &toml::Table) -> toml::Table {
    for (key, change) in changes {
        let value = match (base.remove(key), change) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(change)) => {
                toml::Value::Table(merged(inner, change))
            }
            (_, change) => change.clone(),
        };
        base.insert(key.clone(), value);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_settings_are_changed_where_a_file_says() {
        let flow = PointCloudCompleter { seed: 7, n_points: 99, ..PointCloudCompleter::default() };
        let settings = |codes: &str| {
            let codes = codes.parse().unwrap();
            CompletionSettings::new(CompletionSystem::MmPcl2Pcl, flow.clone(), &codes)
        };
        let changed = settings("d_noise = 3\nplayers.max_epochs = 5").unwrap().codes;
        assert_eq!((changed.d_noise, changed.players.max_epochs), (3, 5));
        assert_eq!((changed.players.batch_size, changed.recovery_weight), (50, 7.5));
        assert_eq!((changed.seed, changed.n_points), (7, 99));
        assert!(settings("no_such = 1").is_err());
        assert!(settings("players = 1").is_err());
        let short = settings("").unwrap().with_epochs(Some(2));
        assert_eq!((short.codes.variational.max_epochs, short.flow.training.max_epochs), (2, 2));
    }
}
