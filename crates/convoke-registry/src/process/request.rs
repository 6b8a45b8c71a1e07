//! What a child is given.

use serde::{Deserialize, Serialize};

use convoke_core::{AgentId, SessionId, TaskId, TaskRequest};

use crate::ExecutionContext;

/// What the child of a [`ProcessExecutor`](crate::ProcessExecutor) reads from its standard input: one line of JSON, and
/// then the end of the input.
///
/// ```
/// use convoke_registry::ProcessRequest;
///
/// let line = r#"{"session":"s","task":"draft","attempt":1,"agent":"ada","remaining_ms":1500,
///     "request":{"input":"write it"}}"#;
/// let asked: ProcessRequest = serde_json::from_str(line)?;
/// assert_eq!(asked.request.input, "write it");
/// # Ok::<_, serde_json::Error>(())
/// ```
///
/// A child ignores the fields that it does not know: later versions may add some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessRequest {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Which execution of the task this is, from 1.
    pub attempt: u32,
    /// The agent that the work is done as.
    pub agent: AgentId,
    /// How long until the child is asked to end, in milliseconds, rounded down, when the request was written; `null`
    /// where there is no deadline.
    pub remaining_ms: Option<u64>,
    /// The request as the host sent it; its `id` and `session` are `null` where the host gave none.
    pub request: TaskRequest,
}

impl ProcessRequest {
    pub(super) fn new(request: TaskRequest, ctx: &ExecutionContext) -> Self {
        let remaining_ms =
            ctx.remaining_time().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        Self {
            session: ctx.session().session_id().clone(),
            task: ctx.task().clone(),
            attempt: ctx.attempt(),
            agent: ctx.agent().clone(),
            remaining_ms,
            request,
        }
    }
}
