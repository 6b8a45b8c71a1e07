//! What a runtime and the tasks that it owns share.

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use convoke_core::{Budget, IdGenerator};
use convoke_observability::drop_isolated;
use convoke_registry::{AgentRegistry, Slots};

use crate::{
    TelemetryFailures, clock::Clock, detached::Detached, flag::Flag, recorded::RecordedSessions,
    sessions::Sessions, telemetry::Telemetry,
};

/// What the runtime and its tasks share.
pub(crate) struct Shared {
    pub(crate) registry: AgentRegistry,
    pub(crate) slots: Slots,
    pub(crate) sessions: Sessions,
    /// Where named sessions are kept, with a journal.
    pub(crate) recorded: Option<Box<RecordedSessions>>,
    pub(crate) telemetry: Telemetry,
    pub(crate) telemetry_failures: TelemetryFailures,
    pub(crate) ids: IdGenerator,
    pub(crate) clock: Arc<Clock>,
    pub(crate) default_task_timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) max_parallel_tasks: usize,
    pub(crate) budget: Option<Budget>,
    pub(crate) max_nesting_depth: usize,
    /// Set when the runtime ends.
    pub(crate) ended: Flag,
    /// Cancelled when it begins to drain: hosts get nothing more admitted.
    pub(crate) draining: CancellationToken,
    /// Everything under way, detached work included.
    pub(crate) under_way: TaskTracker,
    pub(crate) detached: Detached,
}

impl Shared {
    /// Lets go of what may be the last copy, once the answer is given: what it holds is dropped with it, and the host's
    /// observers and executors among that may panic.
    pub(crate) fn release(self: Arc<Self>) {
        drop_isolated(self);
    }
}
