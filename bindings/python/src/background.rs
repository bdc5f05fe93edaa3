//! Long work on a thread of its own, while the calling thread waits without the GIL and looks for Ctrl-C.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use labelflow::Result;
use labelflow::training::is_out_of_device_memory;
use pyo3::PyErr;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{ConfigError, DeviceError, exception};

/// From one look for Ctrl-C to the next.
const PATIENCE: Duration = Duration::from_millis(50);
/// The stack of a worker; the main thread of a program has as much.
const STACK_BYTES: usize = 8 << 20;

/// Whether the caller has gone away, because of Ctrl-C. Work that takes turns looks at it and stops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `work` on `n_jobs` threads, or as many as there are cores. After Ctrl-C this returns at once with its exception,
/// and what the work comes to is dropped.
pub(crate) fn run<T: Send + 'static>(
    n_jobs: Option<usize>,
    work: impl FnOnce(&Abandoned) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let abandoned = Abandoned::default();
    let seen = abandoned.clone();
    let (sender, mut receiver) = channel();
    let worker = std::thread::Builder::new().name("labelflow".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        // Sending fails once the caller has gone away.
        let _ = sender.send(on_threads(n_jobs, || work(&seen)));
    })?;
    Python::attach(|py| {
        loop {
            let outcome;
            (receiver, outcome) = py.detach(move || {
                let outcome = receiver.recv_timeout(PATIENCE);
                (receiver, outcome)
            });
            match outcome {
                Ok(result) => return result?.map_err(exception),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                    abandoned.0.store(true, Ordering::Relaxed);
                })?,
                Err(RecvTimeoutError::Disconnected) => return Err(panicked(worker.join())),
            }
        }
    })
}

fn on_threads<T: Send>(n_jobs: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let Some(n_jobs) = n_jobs else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_jobs).stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|error| ConfigError::new_err(format!("n_jobs: {error}")))?;
    Ok(pool.install(work))
}

/// A panic in a worker is a device without memory or a bug of ours; it must not end the interpreter.
fn panicked(outcome: std::thread::Result<()>) -> PyErr {
    if let Err(panic) = &outcome
        && is_out_of_device_memory(panic.as_ref())
    {
        return DeviceError::new_err(
            "the device has too little free memory; end other programs that use it, take smaller batches (batch_size), or use \
             device=\"cpu\"",
        );
    }
    let reason = match &outcome {
        Ok(()) => "it ended without a result",
        Err(panic) => panic_text(panic.as_ref()),
    };
    PyRuntimeError::new_err(format!("a bug in labelflow, please report it: {reason}"))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}
