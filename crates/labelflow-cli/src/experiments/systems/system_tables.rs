//! The settings of a system of completion: `[config]` of an experiment file for flows, and a table of each other kind of system.

use anyhow::Context;
use labelflow_clouds::completers::{AnyCompletionLearner, PointCloudCompleter};

/// What systems of each kind have otherwise than as published.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SystemTables {
    /// Of systems that complete in the codes of an autoencoder.
    pub(crate) codes: toml::Table,
    /// Of shape-inversion.
    pub(crate) inversion: toml::Table,
    /// Of kt-net.
    pub(crate) transfer: toml::Table,
}

impl SystemTables {
    /// The settings of a system with the numbers of points of the flow's, its seed and its device, so that all are compared alike.
    pub(crate) fn learner(&self, system: &str, flow: &PointCloudCompleter) -> anyhow::Result<AnyCompletionLearner> {
        let learner = AnyCompletionLearner::of_system(system)?;
        let (name, changes) = match &learner {
            AnyCompletionLearner::Flow(_) => return Ok(flow.clone().into()),
            AnyCompletionLearner::Codes(_) => ("[codes]", &self.codes),
            AnyCompletionLearner::Inversion(_) => ("[inversion]", &self.inversion),
            AnyCompletionLearner::Transfer(_) => ("[transfer]", &self.transfer),
        };
        let learner = learner.with(changes).context(name)?;
        let mut learner = learner.with_n_points(flow.n_points).context(name)?;
        let common = learner.common();
        (*common.seed, *common.device) = (flow.seed, flow.device);
        *common.n_partial_points = flow.n_partial_points;
        Ok(learner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_seeds_are_those_of_the_flow() {
        let flow = PointCloudCompleter { seed: 7, n_points: 99, ..PointCloudCompleter::default() };
        let tables = SystemTables { codes: "d_noise = 3".parse().unwrap(), ..SystemTables::default() };
        let learner = tables.learner("mm-pcl2pcl", &flow).unwrap();
        let AnyCompletionLearner::Codes(codes) = learner else { panic!("codes") };
        assert_eq!((codes.seed, codes.n_points, codes.d_noise), (7, 99, 3));
        let tables = SystemTables { codes: "no_such = 3".parse().unwrap(), ..SystemTables::default() };
        assert!(tables.learner("pcl2pcl", &flow).is_err());
        assert_eq!(tables.learner("llf", &flow).unwrap(), flow.into());
    }
}
