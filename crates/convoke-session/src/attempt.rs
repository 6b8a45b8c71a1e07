//! What is asked of a session when work is to begin.

use convoke_core::{AgentId, Message, RequestDigest, Resume, TaskId, TaskRequest};

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
    /// What is asked for, so that the same request can get the report of a completed task instead of an attempt:
    /// [`IfCompleted::Return`](crate::IfCompleted::Return).
    pub digest: Option<RequestDigest>,
    /// Whether no agent is to have it; `false` unless [made so](Self::coordinated). Such an attempt answers the pauses of
    /// coordinated tasks alone, and any other those of agents alone.
    pub is_coordinated: bool,
}

impl Attempt {
    /// An attempt that the host asks for, without input.
    pub fn new(task: TaskId) -> Self {
        Self {
            task,
            input: Vec::new(),
            resume: None,
            author: Author::Host,
            digest: None,
            is_coordinated: false,
        }
    }

    /// An attempt at what a request asks for: its input, its messages, then the answer to a pause.
    ///
    /// `task` is the id that it runs under. Only a request that names its [id](TaskRequest::id) itself gets its
    /// [digest](Self::digest): under a generated one nobody can send it again, and hashing it takes time.
    pub fn of_request(task: TaskId, request: &TaskRequest) -> Self {
        // The input and the answer come with them.
        let messages = request.messages.len() + 1 + usize::from(request.resume.is_some());
        let mut input = Vec::with_capacity(messages);
        if !request.input.is_empty() || request.data.is_some() {
            let mut message = Message::user(request.input.clone());
            message.data.clone_from(&request.data);
            input.push(message);
        }
        input.extend(request.messages.iter().cloned());
        if let Some(resume) = &request.resume {
            input.push(Message::user(String::new()).with_data(resume.answer.clone()));
        }
        Self::with_input(task, request, input)
    }

    /// An attempt at what a request asks for that no agent is to have: it leaves no input message and needs no room
    /// for one. Begin it with [`Admission::start_coordinated`](crate::Admission::start_coordinated). Otherwise as
    /// [`of_request`](Self::of_request).
    pub fn coordinated(task: TaskId, request: &TaskRequest) -> Self {
        Self { is_coordinated: true, ..Self::with_input(task, request, Vec::new()) }
    }

    fn with_input(task: TaskId, request: &TaskRequest, input: Vec<Message>) -> Self {
        Self {
            task,
            input,
            resume: request.resume.clone(),
            author: Author::Host,
            digest: request.id.as_ref().map(|_| request.digest()),
            is_coordinated: false,
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

    /// Says what is asked for.
    #[must_use]
    pub fn with_digest(mut self, digest: RequestDigest) -> Self {
        self.digest = Some(digest);
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
