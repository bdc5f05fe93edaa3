//! Where to compute.

use clap::ValueEnum;
use labelflow::training::DeviceKind;

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    Cpu,
    Cuda,
    Wgpu,
}

impl From<DeviceName> for DeviceKind {
    fn from(name: DeviceName) -> Self {
        match name {
            DeviceName::Cpu => Self::Cpu,
            DeviceName::Cuda => Self::Cuda,
            DeviceName::Wgpu => Self::Wgpu,
        }
    }
}
