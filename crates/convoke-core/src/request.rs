//! Task requests: one unit of work for one agent.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::Value;

use crate::{
    AgentId, ErrorCode, IdError, MAX_JSON_DEPTH, Message, Metadata, RequestDigest, ResumeToken, SessionId,
    SkillId, TaskError, TaskId, json_is_too_deep,
};

const EMPTY: &str = "request has nothing to work on; give it an input, data, a message or an answer";

/// What to do where every agent that could serve is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityPolicy {
    /// Wait for a unit of capacity, until the deadline.
    #[default]
    Wait,
    /// Refuse at once with `capacity_exhausted`. This is about the agent's capacity alone: the request still waits
    /// for a slot of the runtime.
    Reject,
}

/// The answer to a task that paused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Resume {
    /// The token that the paused task gave; the empty token where it gave none.
    pub token: ResumeToken,
    /// What the agent asked for.
    pub answer: Value,
}

impl Resume {
    /// Answers the pause that gave `token`.
    pub fn new(token: ResumeToken, answer: impl Into<Value>) -> Self {
        Self { token, answer: answer.into() }
    }
}

/// One unit of work for one agent.
///
/// Everything but the input has a default. A bad part (an id with a line break, say) is kept, and the run that gets
/// the request reports it as `invalid_request`: building one never panics and needs no `?`. Such a request cannot be
/// serialised.
///
/// ```
/// use convoke_core::TaskRequest;
///
/// let request = TaskRequest::new("Draft text").requiring("review").preferring("reviewer");
/// assert_eq!(request.required_skills.len(), 1);
/// assert!(request.defect().is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TaskRequest {
    /// Its name within the session; generated (UUID v7) unless set.
    pub id: Option<TaskId>,
    /// The session that it belongs to. Unless set, that of the task that asks for it or, where no task does, a new one each
    /// time.
    pub session: Option<SessionId>,
    /// The text that the agent gets.
    pub input: String,
    /// The same in a machine's form.
    pub data: Option<Value>,
    /// Messages that go with the input.
    pub messages: Vec<Message>,
    /// The agent must declare all of these; none means any agent.
    pub required_skills: Vec<SkillId>,
    /// This agent or none.
    pub preferred_agent: Option<AgentId>,
    /// How long the task may wait and run together, from the first poll of its run.
    pub timeout: Option<Duration>,
    /// What to do where the agent is full.
    pub capacity: CapacityPolicy,
    /// The answer to a pause of this id.
    pub resume: Option<Resume>,
    /// What the host attaches; the report carries it back.
    pub metadata: Metadata,
    /// Ties the events of this task to a trace of the host.
    pub trace_id: Option<String>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none", serialize_with = "refuse_defect")]
    defect: Option<RequestDefect>,
}

/// The first bad part of a [`TaskRequest`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct RequestDefect {
    text: Cow<'static, str>,
    detail: Option<String>,
}

impl RequestDefect {
    fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), detail: None }
    }

    /// The error as a report carries it; what the content itself said about its defect stays private.
    pub fn into_task_error(self) -> TaskError {
        let error = TaskError::new(ErrorCode::InvalidRequest, self.text);
        match self.detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }
}

/// A request whose bad part was left out must not arrive elsewhere as a good one: without the skill that it requires.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn refuse_defect<S: Serializer>(defect: &Option<RequestDefect>, _: S) -> Result<S::Ok, S::Error> {
    let text = defect.as_ref().map_or("", |defect| &defect.text);
    Err(ser::Error::custom(format_args!("request cannot be written: {text}")))
}

impl TaskRequest {
    /// A request with an input and nothing else.
    pub fn new(input: impl Into<String>) -> Self {
        Self { input: input.into(), ..Self::default() }
    }

    /// Names the task, within its session. A host's request that names no session has a new one each time: there the id
    /// guards nothing, and the same work is done again.
    #[must_use]
    pub fn with_id<I>(mut self, id: I) -> Self
    where
        I: TryInto<TaskId>,
        I::Error: Into<IdError>,
    {
        self.id = self.keep(id);
        self
    }

    /// Names the session that it belongs to.
    #[must_use]
    pub fn in_session<I>(mut self, session: I) -> Self
    where
        I: TryInto<SessionId>,
        I::Error: Into<IdError>,
    {
        self.session = self.keep(session);
        self
    }

    /// Requires a skill; the agent must have all that are required.
    #[must_use]
    pub fn requiring<I>(mut self, skill: I) -> Self
    where
        I: TryInto<SkillId>,
        I::Error: Into<IdError>,
    {
        if let Some(skill) = self.keep(skill) {
            self.required_skills.push(skill);
        }
        self
    }

    /// Asks for this agent and no other.
    #[must_use]
    pub fn preferring<I>(mut self, agent: I) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        self.preferred_agent = self.keep(agent);
        self
    }

    /// Sets the machine's form of the input from any serialisable value.
    #[must_use]
    pub fn with_json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => self.data = Some(value),
            Err(error) => self.reject(RequestDefect {
                text: "data cannot be written as JSON; give values whose map keys are texts".into(),
                detail: Some(error.to_string()),
            }),
        }
        self
    }

    /// Adds a message that goes with the input.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Sets how long it may wait and run together. Zero is refused.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets what to do where the agent is full.
    #[must_use]
    pub fn with_capacity(mut self, capacity: CapacityPolicy) -> Self {
        self.capacity = capacity;
        self
    }

    /// Answers a pause of this id.
    #[must_use]
    pub fn resuming(mut self, token: ResumeToken, answer: impl Into<Value>) -> Self {
        self.resume = Some(Resume::new(token, answer));
        self
    }

    /// Attaches a value, which the report carries back.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Ties the events of this task to a trace of the host.
    #[must_use]
    pub fn with_trace_id(mut self, trace_id: impl Into<String>) -> Self {
        self.trace_id = Some(trace_id.into());
        self
    }

    /// What makes the request invalid: the first bad part that building it met, a timeout of zero, nothing to work on, or
    /// data that nests more than [`MAX_JSON_DEPTH`] deep.
    pub fn defect(&self) -> Option<RequestDefect> {
        if let Some(defect) = &self.defect {
            Some(defect.clone())
        } else if self.timeout == Some(Duration::ZERO) {
            Some(RequestDefect::new("timeout is zero; leave it out for none"))
        } else if self.input.is_empty()
            && self.data.is_none()
            && self.messages.is_empty()
            && self.resume.is_none()
        {
            Some(RequestDefect::new(EMPTY))
        } else if self.is_too_deep() {
            let text =
                format!("request has data that nests more than {MAX_JSON_DEPTH} levels deep; flatten it");
            Some(RequestDefect::new(text))
        } else {
            None
        }
    }

    fn is_too_deep(&self) -> bool {
        let is_too_deep = |resume: &Resume| resume.token.is_too_deep() || json_is_too_deep(&resume.answer);
        self.data.as_ref().is_some_and(json_is_too_deep)
            || self.messages.iter().any(Message::is_too_deep)
            || self.resume.as_ref().is_some_and(is_too_deep)
            || self.metadata.values().any(json_is_too_deep)
    }

    /// What it asks for, as a hash: equal for two requests that ask for the same work, under whatever id. It takes time
    /// with the size of the request.
    pub fn digest(&self) -> RequestDigest {
        RequestDigest::of(self)
    }

    fn keep<I, T>(&mut self, id: T) -> Option<I>
    where
        T: TryInto<I>,
        T::Error: Into<IdError>,
    {
        id.try_into().map_err(|error| self.reject(RequestDefect::new(error.into().to_string()))).ok()
    }

    fn reject(&mut self, defect: RequestDefect) {
        self.defect.get_or_insert(defect);
    }
}
