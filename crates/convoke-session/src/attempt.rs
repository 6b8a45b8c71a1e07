//! What is asked of a session when work is to begin.

use convoke_core::{AgentId, Message, Resume, TaskId, TaskRequest};

use crate::Author;

/// One execution of a task that asks to be admitted.
///
/// ```
/// use convoke_core::{Message, TaskId};
/// use convoke_session::{Attempt, Author};
///
/// let attempt = Attempt::new(TaskId::new("draft")?).with_message(Message::user("write chapter 2"));
/// assert_eq!(attempt.author, Author::Host);
/// # Ok::<(), convoke_core::IdError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The task.
    pub task: TaskId,
    /// What the executor is given; in the session from the start of the work on. The answer to a pause is one of them.
    pub input: Vec<Message>,
    /// The answer to a pause. The session checks its token; the answer itself counts only as part of `input`.
    pub resume: Option<Resume>,
    /// Who gives the input.
    pub author: Author,
}

impl Attempt {
    /// An attempt that the host asks for, without input.
    pub fn new(task: TaskId) -> Self {
        Self { task, input: Vec::new(), resume: None, author: Author::Host }
    }

    /// An attempt at what a request asks for: its input, its messages, then the answer to a pause.
    pub fn of_request(task: TaskId, request: &TaskRequest) -> Self {
        let mut attempt = Self::new(task);
        if !request.input.is_empty() || request.data.is_some() {
            let mut input = Message::user(request.input.clone());
            input.data.clone_from(&request.data);
            attempt = attempt.with_message(input);
        }
        attempt.input.extend(request.messages.iter().cloned());
        match &request.resume {
            None => attempt,
            Some(resume) => {
                let answer = Message::user(String::new()).with_data(resume.answer.clone());
                attempt.with_message(answer).resuming(resume.clone())
            }
        }
    }

    /// An attempt at what a request asks for that no agent is to have: it leaves no input message and needs no room
    /// for one. Begin it with [`Admission::start_coordinated`](crate::Admission::start_coordinated).
    pub fn coordinated(task: TaskId, request: &TaskRequest) -> Self {
        let attempt = Self::new(task);
        match &request.resume {
            None => attempt,
            Some(resume) => attempt.resuming(resume.clone()),
        }
    }

    /// Adds to what the executor is given.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.input.push(message);
        self
    }

    /// Answers a pause.
    #[must_use]
    pub fn resuming(mut self, resume: Resume) -> Self {
        self.resume = Some(resume);
        self
    }

    /// Says who gives the input; the host unless set.
    #[must_use]
    pub fn by(mut self, author: Author) -> Self {
        self.author = author;
        self
    }
}

/// Who works on an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Worker {
    Agent(AgentId),
    /// The team itself: the attempt is a coordinated one.
    Team,
}

impl Worker {
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Team => None,
        }
    }

    pub(crate) fn author(&self) -> Author {
        match self {
            Self::Agent(agent) => Author::Agent(agent.clone()),
            Self::Team => Author::Team,
        }
    }
}

impl From<Option<AgentId>> for Worker {
    fn from(agent: Option<AgentId>) -> Self {
        agent.map_or(Self::Team, Self::Agent)
    }
}

/// An attempt that a session admitted, by name. The number fences it from every other of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttemptKey {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
}
