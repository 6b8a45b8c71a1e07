//! The envelope: what every event of every runtime says, and nothing else.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, Serializer};

use convoke_core::{AgentId, SessionId, StepId, TaskId};

use crate::{AttributeValue, Attributes, EventId};

/// Something that happened, as any sink takes it.
///
/// It has ids, states, counts and durations; there is no field that content could travel in. Cloning one copies
/// pointers, and its attributes if it has any. As JSON it is one object; what is absent is left out, and `elapsed` is
/// `elapsed_micros`.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_core::TaskId;
/// use convoke_observability::{Event, EventId};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let task = TaskId::new("draft")?;
/// let event = Event::new(EventId::new("runtime-1", 7), 1_767_225_600_000, "team", "completed", task.clone())
///     .with_task(task)
///     .with_elapsed(Duration::from_millis(12));
/// assert_eq!(
///     serde_json::to_string(&event)?,
///     r#"{"id":"runtime-1/7","unix_millis":1767225600000,"module":"team","name":"completed","subject":"draft","task":"draft","elapsed_micros":12000}"#
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Its id, unlike any other event's.
    pub id: EventId,
    /// When it happened, by its maker's wall clock, in milliseconds since 1970-01-01T00:00:00Z.
    pub unix_millis: u64,
    /// The part of the SDK that tells it: `team`, `plan`, `consensus`, ..
    pub module: &'static str,
    /// What happened, in `snake_case`: `started`, `completed`, ..
    pub name: &'static str,
    /// The id of what it happened to: a task, a plan, a consensus, ..
    pub subject: Arc<str>,
    /// The trace of the host that the work belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Arc<str>>,
    /// The ids of the spans that it happened under, the outermost first. Shared by the events of one span.
    #[serde(skip_serializing_if = "is_empty")]
    pub parents: Arc<[Arc<str>]>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The step of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Which execution of the task or step, from 1; 0 where nothing was admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Where the subject stands since, in `snake_case`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// How long it took; what the time runs from is said by the event's module.
    #[serde(rename = "elapsed_micros", skip_serializing_if = "Option::is_none", serialize_with = "micros")]
    pub elapsed: Option<Duration>,
    /// Further values, by name.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

fn is_empty(parents: &Arc<[Arc<str>]>) -> bool {
    parents.is_empty()
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn micros<S: Serializer>(elapsed: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = elapsed.map(|elapsed| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
    micros.serialize(serializer)
}

impl Event {
    /// An event with all that each event has.
    pub fn new(
        id: EventId,
        unix_millis: u64,
        module: &'static str,
        name: &'static str,
        subject: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            id,
            unix_millis,
            module,
            name,
            subject: subject.into(),
            trace_id: None,
            parents: Arc::default(),
            session: None,
            agent: None,
            task: None,
            step: None,
            attempt: None,
            status: None,
            elapsed: None,
            attributes: Attributes::default(),
        }
    }

    /// Sets the trace of the host.
    #[must_use]
    pub fn with_trace_id(mut self, trace_id: impl Into<Arc<str>>) -> Self {
        self.trace_id = Some(trace_id.into());
        self
    }

    /// Sets the ids of the spans that it happened under, the outermost first.
    #[must_use]
    pub fn with_parents(mut self, parents: impl Into<Arc<[Arc<str>]>>) -> Self {
        self.parents = parents.into();
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn with_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the agent.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentId) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Sets the task.
    #[must_use]
    pub fn with_task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }

    /// Sets the step of a plan.
    #[must_use]
    pub fn with_step(mut self, step: StepId) -> Self {
        self.step = Some(step);
        self
    }

    /// Sets which execution of the task or step it is about.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = Some(attempt);
        self
    }

    /// Sets where the subject stands since.
    #[must_use]
    pub fn with_status(mut self, status: &'static str) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn with_elapsed(mut self, elapsed: Duration) -> Self {
        self.elapsed = Some(elapsed);
        self
    }

    /// Sets a further value, in the place of an earlier one of the same name.
    #[must_use]
    pub fn with_attribute(mut self, name: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.attributes.set(name, value);
        self
    }
}
