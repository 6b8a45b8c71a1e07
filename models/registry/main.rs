//! Leases, slots and the graph of who waits for whom: the registry as it ships, tried in many interleavings.

#![expect(
    dead_code,
    unused_imports,
    reason = "the modules are those of a library, of which the models use a part"
)]

extern crate convoke_models as parking_lot;
extern crate convoke_models as tokio;

mod models;

#[path = "../../crates/convoke-registry/src"]
mod source {
    pub(crate) mod answers;
    pub(crate) mod awaiting;
    pub(crate) mod context;
    pub(crate) mod coordination;
    pub(crate) mod dispatch;
    pub(crate) mod executor;
    pub(crate) mod function;
    pub(crate) mod lease;
    pub(crate) mod progress;
    pub(crate) mod registry;
    pub(crate) mod run_options;
    pub(crate) mod running;
    pub(crate) mod slots;
    pub(crate) mod task_handle;
    pub(crate) mod team_handle;
    pub(crate) mod team_sessions;
}

use source::{
    answers, awaiting, context, coordination, dispatch, executor, function, lease, progress, registry,
    run_options, running, slots, task_handle, team_handle, team_sessions,
};

pub use answers::Answers;
pub use awaiting::Awaitable;
pub use context::{CoordinatedContext, DEFAULT_GRACE, ExecutionContext};
pub use coordination::{
    Coordination, CoordinationBody, CoordinationCheck, CoordinationError, CoordinationEvents,
    CoordinationMoment, CoordinationStage,
};
pub use dispatch::{Availability, Refusal, WaitStep};
pub use executor::{AgentExecutor, AnyExecutor, ExecutorCapabilities};
pub use function::FunctionExecutor;
pub use lease::{Lease, LeaseMark, LeaseRequest, SlotLease};
pub use progress::{Progress, ProgressSender, Updates};
pub use registry::{AgentRegistry, AgentSnapshot, RegistryError};
pub use run_options::{RunOptions, TeamError};
pub use running::{RunningTask, TaskClaim, Wait, WaitId};
pub use slots::{LeaseBatch, SlotRequest, SlotUsage, Slots};
pub use task_handle::{TaskDriver, TaskHandle};
pub use team_handle::{TeamAnswer, TeamBackend, TeamHandle};
pub use team_sessions::TeamSessions;
pub use tokio_util::sync::CancellationToken;

fn main() {
    convoke_models::run(&models::ALL);
}
