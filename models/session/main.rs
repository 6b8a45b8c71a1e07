//! Admission and settlement: the session as it ships, tried in many interleavings.

#![expect(
    dead_code,
    unused_imports,
    reason = "the modules are those of a library, whose own tests have another harness"
)]

extern crate convoke_models as parking_lot;

mod models;

#[path = "../../crates/convoke-session/src"]
mod source {
    pub(crate) mod admission;
    pub(crate) mod attempt;
    pub(crate) mod codec;
    pub(crate) mod error;
    pub(crate) mod handle;
    pub(crate) mod late;
    pub(crate) mod limits;
    pub(crate) mod machine;
    pub(crate) mod options;
    pub(crate) mod recording;
    pub(crate) mod session;
    pub(crate) mod snapshot;
    pub(crate) mod stored;
}

use source::{
    admission, attempt, codec, error, handle, late, limits, machine, options, recording, session, snapshot,
    stored,
};

pub use admission::{Admission, Admitted};
pub use attempt::Attempt;
pub use error::{
    AdmissionError, Oversized, ReconcileError, SessionError, SettleError, SettleProblem, StoreError,
    StoreErrorKind,
};
pub use handle::SessionHandle;
pub use late::{LateWrite, LateWriteHook, LateWriteKind};
pub use limits::{Limit, LimitKind, SessionLimits, SessionUsage};
pub use options::{AdmissionOptions, IfCompleted, Reconcile};
pub use recording::{Recorder, SessionStore};
pub use session::Session;
pub use snapshot::{SessionActivity, SessionSnapshot};
pub use stored::{Author, Expected, SessionArtifact, SessionMessage, StateEntry, TaskRecord};

fn main() {
    convoke_models::run(&models::ALL);
}
