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
            Self::Cuda => {
                let found = Self::all(burn::tensor::DeviceType::Cuda);
                found.into_iter().next().ok_or_else(|| none_found("cuda"))
            }
            #[cfg(not(feature = "cuda"))]
            Self::Cuda => Err(not_built("cuda")),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Self::graphics_device(),
            #[cfg(not(feature = "wgpu"))]
            Self::Wgpu => Err(not_built("wgpu")),
        }
    }

    /// A GPU. A driver that only imitates one is hundreds of times slower than the device cpu, or never comes back; whoever wants it all
    /// the same names it in the variable that the tensor library reads.
    #[cfg(feature = "wgpu")]
    fn graphics_device() -> Result<Device> {
        const NAMED: &str = "CUBECL_WGPU_DEFAULT_DEVICE";
        use burn::tensor::DeviceKind as Kind;
        if std::env::var_os(NAMED).is_some() {
            return Ok(Device::wgpu(Kind::DefaultDevice));
        }
        let found = Self::all(burn::tensor::DeviceType::Wgpu);
        let is_imitation = |device: &Device| *device == Device::wgpu(Kind::Cpu);
        let has_imitation = found.iter().any(is_imitation);
        let gpu = found.into_iter().find(|device| !is_imitation(device));
        gpu.ok_or_else(|| match has_imitation {
            false => none_found("wgpu"),
            true => Error::Device {
                device: "wgpu".to_owned(),
                reason: format!(
                    "no GPU found on this machine, only a driver that imitates one; use the device cpu, or set {NAMED}=Cpu to try that \
                     driver"
                ),
            },
        })
    }

    /// All devices of a type.
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    fn all(kind: burn::tensor::DeviceType) -> Vec<Device> {
        // Drivers report a missing library or device by panicking.
        labelflow_files::guarded(|| Device::enumerate(kind).into_vec()).unwrap_or_default()
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn none_found(name: &str) -> Error {
    Error::Device {
        device: name.to_owned(),
        reason: "none found on this machine; use the device cpu, or install the driver".to_owned(),
    }
}

#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
fn not_built(name: &str) -> Error {
    Error::Device {
        device: name.to_owned(),
        reason: format!("this program was built without it; build with `--features {name}`, or use the device cpu"),
    }
}
