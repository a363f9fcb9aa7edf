//! Engines: what starts processes on hosts. Each is a file with an implementation of [`Engine`].

mod contract;
mod kubernetes;
mod local;
mod mpirun;
mod own_process;
mod ray;
mod sky;
mod slurm;
mod torchrun;

use crate::args::EngineKind;
pub(crate) use contract::{Checked, Engine, EngineJob, EngineOptions, JobId, LOOK};

/// The engine of this kind.
pub(crate) fn engine(kind: EngineKind) -> Box<dyn Engine> {
    match kind {
        EngineKind::Local => Box::new(local::Local::default()),
        EngineKind::Slurm => Box::new(slurm::Slurm),
        EngineKind::Torchrun => Box::new(torchrun::Torchrun::default()),
        EngineKind::Mpirun => Box::new(mpirun::Mpirun::default()),
        EngineKind::Ray => Box::new(ray::Ray),
        EngineKind::Kubernetes => Box::new(kubernetes::Kubernetes),
        EngineKind::Sky => Box::new(sky::Sky::default()),
    }
}
