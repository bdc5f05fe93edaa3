//! The systems of completion by name.

use labelflow::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::completers::{
    AnyCompletionLearner, CodeCompleter, KnowledgeTransfer, PointCloudCompleter, ShapeInversion,
};

/// A system of completion, as files and tables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CompletionMethod {
    /// A flow: [`PointCloudCompleter`].
    #[serde(rename = "llf")]
    Llf,
    /// One completion in the codes of an autoencoder: [`CodeCompleter::pcl2pcl`].
    #[serde(rename = "pcl2pcl")]
    Pcl2Pcl,
    /// Several of them, from noise: [`CodeCompleter::mm_pcl2pcl`].
    #[serde(rename = "mm-pcl2pcl")]
    MmPcl2Pcl,
    /// The same without a variational autoencoder: [`CodeCompleter::mm_pcl2pcl_im`].
    #[serde(rename = "mm-pcl2pcl-im")]
    MmPcl2PclIm,
    /// A generator of shapes, bent to each scan: [`ShapeInversion`].
    #[serde(rename = "shape-inversion")]
    ShapeInversion,
    /// One completion by what complete clouds taught: [`KnowledgeTransfer`].
    #[serde(rename = "kt-net")]
    KtNet,
}

impl CompletionMethod {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Llf,
        Self::Pcl2Pcl,
        Self::MmPcl2Pcl,
        Self::MmPcl2PclIm,
        Self::ShapeInversion,
        Self::KtNet,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llf => "llf",
            Self::Pcl2Pcl => "pcl2pcl",
            Self::MmPcl2Pcl => "mm-pcl2pcl",
            Self::MmPcl2PclIm => "mm-pcl2pcl-im",
            Self::ShapeInversion => "shape-inversion",
            Self::KtNet => "kt-net",
        }
    }

    /// The system of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::config("system", format!("one of {names}"), format!("'{name}'"))
        })
    }

    /// Its default settings: as published, where it is not the flow.
    pub fn learner(self) -> AnyCompletionLearner {
        match self {
            Self::Llf => PointCloudCompleter::default().into(),
            Self::Pcl2Pcl => CodeCompleter::pcl2pcl().into(),
            Self::MmPcl2Pcl => CodeCompleter::mm_pcl2pcl().into(),
            Self::MmPcl2PclIm => CodeCompleter::mm_pcl2pcl_im().into(),
            Self::ShapeInversion => ShapeInversion::default().into(),
            Self::KtNet => KnowledgeTransfer::default().into(),
        }
    }

    /// Its default settings with what a table has in their place, at any depth.
    pub fn learner_with(self, changes: &toml::Table) -> Result<AnyCompletionLearner> {
        self.learner().with(changes)
    }
}

impl std::fmt::Display for CompletionMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Settings with what a table has in their place, at any depth.
pub(crate) fn changed<C: Serialize + DeserializeOwned>(
    settings: &C,
    changes: &toml::Table,
) -> Result<C> {
    let settings = toml::Table::try_from(settings).expect("settings can be written as TOML");
    merged(settings, changes).try_into().map_err(|error: toml::de::Error| {
        Error::config("settings", "those of the system", error.message())
    })
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
    fn names_lead_back_to_systems() {
        for method in CompletionMethod::ALL {
            assert_eq!(CompletionMethod::from_name(method.name()).unwrap(), method);
            assert_eq!(method.learner().method(), method);
            let json = serde_json::to_string(&method).unwrap();
            assert_eq!(json, format!("\"{method}\""));
        }
        let error = CompletionMethod::from_name("pcl").unwrap_err().to_string();
        assert!(error.contains("mm-pcl2pcl-im") && error.contains("'pcl'"), "{error}");
    }

    #[test]
    fn default_settings_are_changed_where_a_table_says() {
        let with =
            |changes: &str| CompletionMethod::MmPcl2Pcl.learner_with(&changes.parse().unwrap());
        let AnyCompletionLearner::Codes(changed) =
            with("d_noise = 3\nplayers.max_epochs = 5").unwrap()
        else {
            panic!("codes");
        };
        assert_eq!((changed.d_noise, changed.players.max_epochs), (3, 5));
        assert_eq!((changed.players.batch_size, changed.recovery_weight), (50, 7.5));
        assert!(with("no_such = 1").is_err());
        assert!(with("players = 1").is_err());
    }
}
