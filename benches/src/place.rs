//! Where a side runs: a tokio runtime of its own, and inside it a task that is spawned.

use std::mem;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime, RuntimeFlavor};

use crate::{
    benchmark::{Leftover, Side},
    clock::{Clock, Moment},
};

/// A side of a case, on its runtime.
pub(crate) struct Place {
    side: Side,
    runtime: Runtime,
    subscriber: Option<tracing::Dispatch>,
}

impl Place {
    /// On the thread that asks (no workers), or on so many workers.
    pub(crate) fn new(side: Side, workers: usize) -> Result<Self> {
        let mut builder =
            if workers == 0 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
        if workers > 0 {
            builder.worker_threads(workers);
        }
        let subscriber = side.subscriber.map(|make| make());
        if let Some(subscriber) = subscriber.clone() {
            // For the whole life of the worker, which has no end that could give the guard back.
            builder.on_thread_start(move || mem::forget(tracing::dispatcher::set_default(&subscriber)));
        }
        let runtime = builder.enable_all().build().context("no tokio runtime")?;
        Ok(Self { side, runtime, subscriber })
    }

    /// Whether it is more than the current thread.
    pub(crate) fn has_workers(&self) -> bool {
        self.runtime.handle().runtime_flavor() == RuntimeFlavor::MultiThread
    }

    /// Does the work of a size once. `start` and `stop` are called right around it; what it leaves is dropped after.
    ///
    /// Inside a task that is spawned: waiting from outside of the runtime costs many times what the work does.
    pub(crate) fn run<T, U>(
        &self,
        size: usize,
        start: impl FnOnce() -> T + Send + 'static,
        stop: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<U>
    where
        T: Send + 'static,
        U: Send + 'static,
    {
        let prepare = self.side.prepare;
        let measured = async move {
            let prepared = prepare(size).await?;
            let started = start();
            let left: Result<Leftover> = prepared.await;
            let measured = stop(started);
            drop(left?);
            Ok(measured)
        };
        let run = || self.runtime.block_on(async { tokio::spawn(measured).await? });
        match &self.subscriber {
            Some(subscriber) => tracing::dispatcher::with_default(subscriber, run),
            None => run(),
        }
    }

    /// How many seconds the work of a size takes, once.
    pub(crate) fn seconds(&self, size: usize, clock: Clock) -> Result<f64> {
        self.run(size, move || clock.now(), Moment::elapsed)
    }
}
