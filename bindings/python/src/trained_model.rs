//! What trained models of all kinds offer: folders, bytes, devices, and the course of their training.

/// The methods of a class that holds a trained model, `class: model`, its own ones and those that all of them have.
macro_rules! trained_model {
    ($class:ident: $model:ty, $($own:tt)*) => {
        #[pymethods]
        impl $class {
            $($own)*

            /// Writes the model folder of the command line.
            fn save(&self, folder: std::path::PathBuf) -> PyResult<()> {
                self.0.save(&folder).map_err($crate::error::exception)
            }

            /// Reads the model folder of the command line.
            #[staticmethod]
            fn load(folder: std::path::PathBuf) -> PyResult<Self> {
                let model = <$model>::load(&folder).map_err($crate::error::exception)?;
                Ok(Self(std::sync::Arc::new(model)))
            }

            /// The model as one safetensors file.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, pyo3::types::PyBytes> {
                pyo3::types::PyBytes::new(py, &self.0.to_bytes())
            }

            /// The model that `to_bytes` wrote, on the device cpu.
            #[staticmethod]
            fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
                let model = <$model>::from_bytes(bytes).map_err($crate::error::exception)?;
                Ok(Self(std::sync::Arc::new(model)))
            }

            /// The same model on another device.
            fn to_device(&self, device: &str) -> PyResult<Self> {
                let device = $crate::error::named("device", device)?;
                let model = (*self.0).clone().to_device(device).map_err($crate::error::exception)?;
                Ok(Self(std::sync::Arc::new(model)))
            }

            /// The numbers of every epoch, how many there were and why training ended, as a JSON list of the three.
            #[getter]
            fn course(&self) -> String {
                let report = self.0.report();
                serde_json::to_string(&(&report.history, report.n_epochs, report.stop)).expect("numbers and names")
            }
        }
    };
}
pub(crate) use trained_model;
