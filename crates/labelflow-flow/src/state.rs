//! All tensors of a module by name: what is saved, and what is loaded.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use thiserror::Error;

/// Weights and running statistics by path, such as `chain.maps.0.first.weight`.
pub type State = BTreeMap<String, TensorData>;

/// A state that does not belong to the module.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    /// The module has a tensor that the state lacks.
    #[error("tensor '{name}' is missing")]
    Missing {
        /// Its path.
        name: String,
    },
    /// The state has a tensor of another shape.
    #[error("tensor '{name}': expected shape {expected:?}, found {found:?}")]
    Shape {
        /// Its path.
        name: String,
        /// The shape in the module.
        expected: Vec<usize>,
        /// The shape in the state.
        found: Vec<usize>,
    },
    /// The state has a tensor that the module lacks.
    #[error("tensor '{name}' belongs to no part of the model")]
    Unknown {
        /// Its path.
        name: String,
    },
}

/// Reads all tensors of a module.
pub fn state<M: Module>(module: &M) -> State {
    #[derive(Default)]
    struct Read {
        path: Vec<String>,
        state: State,
    }
    impl ModuleVisitor for Read {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.state.insert(self.path.join("."), param.val().to_data());
        }
    }
    let mut read = Read::default();
    module.visit(&mut read);
    read.state
}

/// Number of trained values: all tensors but the running statistics.
pub fn n_parameters<M: Module>(module: &M) -> usize {
    let trained = |(name, _): &(String, TensorData)| !name.contains(".running_");
    state(module).into_iter().filter(trained).map(|(_, data)| data.num_elements()).sum()
}

/// Gives every tensor of a module the value it has in `state`.
pub fn load_state<M: Module>(module: M, state: State) -> Result<M, StateError> {
    struct Load {
        path: Vec<String>,
        state: State,
        error: Option<StateError>,
    }
    impl ModuleMapper for Load {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let name = self.path.join(".");
            let Some(data) = self.state.remove(&name) else {
                self.error.get_or_insert(StateError::Missing { name });
                return param;
            };
            let (expected, found) = (param.dims().to_vec(), data.shape().to_vec());
            if expected != found {
                self.error.get_or_insert(StateError::Shape { name, expected, found });
                return param;
            }
            let trained = param.is_require_grad();
            let device = param.device();
            param.map(|_| Tensor::from_data(data, &device)).set_require_grad(trained)
        }
    }
    let mut load = Load { path: Vec::new(), state, error: None };
    let module = module.map(&mut load);
    match (load.error, load.state.into_keys().next()) {
        (Some(error), _) => Err(error),
        (None, Some(name)) => Err(StateError::Unknown { name }),
        (None, None) => Ok(module),
    }
}
