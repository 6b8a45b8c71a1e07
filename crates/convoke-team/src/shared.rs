//! What a runtime and the tasks that it owns share.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use convoke_core::{Budget, IdGenerator};
use convoke_observability::drop_isolated;
use convoke_registry::{AgentRegistry, Slots};
use convoke_session::SessionLimits;

use crate::{TelemetryFailures, clock::Clock, sessions::Sessions, telemetry::Telemetry};

/// What the runtime and its tasks share.
pub(crate) struct Shared {
    pub(crate) registry: AgentRegistry,
    pub(crate) slots: Slots,
    pub(crate) sessions: Sessions,
    pub(crate) telemetry: Telemetry,
    pub(crate) telemetry_failures: TelemetryFailures,
    pub(crate) ids: IdGenerator,
    pub(crate) clock: Arc<Clock>,
    pub(crate) default_task_timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) max_parallel_tasks: usize,
    pub(crate) budget: Option<Budget>,
    pub(crate) session_limits: SessionLimits,
    /// Cancelled when the runtime ends.
    pub(crate) root: CancellationToken,
    pub(crate) detached: AtomicUsize,
}

impl Shared {
    /// Lets go of what may be the last copy, once the answer is given: what it holds is dropped with it, and the host's
    /// observers and executors among that may panic.
    pub(crate) fn release(self: Arc<Self>) {
        drop_isolated(self);
    }
}
