//! The table `config` of files whose other keys say what it is for.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads the table `config` of a file as the settings of the learner that the rest of the file asks for; other keys are not looked at.
/// Errors name the line.
pub(crate) fn read_config<C: DeserializeOwned + Default>(text: &str) -> Result<C, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(bound = "C: DeserializeOwned + Default")]
    struct File<C> {
        #[serde(default)]
        config: C,
    }
    Ok(toml::from_str::<File<C>>(text)?.config)
}
