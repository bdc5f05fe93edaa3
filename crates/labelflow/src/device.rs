//! Where tensors live, chosen at run time.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A kind of device. Which ones a program knows is decided when it is built (cargo features `cuda` and `wgpu`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The processor; always there.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// Any GPU with Vulkan, Metal or DirectX 12.
    Wgpu,
}

impl DeviceKind {
    /// The device for tensors without gradients.
    pub fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "cuda")]
            Self::Cuda => Self::first(burn::tensor::DeviceType::Cuda, "cuda"),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda => Err(not_built("cuda")),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Self::first(burn::tensor::DeviceType::Wgpu, "wgpu"),
            #[cfg(not(feature = "wgpu"))]
            Self::Wgpu => Err(not_built("wgpu")),
        }
    }

    /// The first device of a type, or an error when the machine has none.
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    fn first(kind: burn::tensor::DeviceType, name: &str) -> Result<Device> {
        // Drivers report a missing library or device by panicking; that must not end the program.
        let found =
            std::panic::catch_unwind(|| Device::enumerate(kind).into_vec().into_iter().next());
        found.ok().flatten().ok_or_else(|| Error::Device {
            device: name.to_owned(),
            reason: "none found on this machine; use the device cpu, or install the driver"
                .to_owned(),
        })
    }
}

#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
fn not_built(name: &str) -> Error {
    Error::Device {
        device: name.to_owned(),
        reason: format!(
            "this program was built without it; build with `--features {name}`, or use the device cpu"
        ),
    }
}
