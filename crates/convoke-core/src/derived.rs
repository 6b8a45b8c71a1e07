//! Ids made from other ids, such that two different lists of parts never give the same id.

#[cfg(test)]
mod tests;

use std::{cell::Cell, fmt::Write as _};

use memchr::memchr3;
use sha2::{Digest as _, Sha256};

use crate::{
    AgentId, CommitId, FencingToken, LogId, MAX_ID_BYTES, MessageId, OwnerId, PlanId, SessionId, TaskId,
};

/// The bytes of a hexadecimal SHA-256.
const DIGEST_BYTES: usize = 64;

/// Joins `parts` with `/` into the text of an id.
///
/// A `/`, `%` or `~` inside a part is written as `%2F`, `%25`, `%7E`, so that the parts can be told apart. A text of
/// more than 256 bytes keeps a prefix, then `~`, then the SHA-256 of the whole in hexadecimal: since `~` is escaped
/// everywhere else, a shortened id never equals a plain one. From parts that are ids, it is an id. From no parts it is
/// empty, which is no id.
///
/// ```
/// use convoke_core::derived_id;
///
/// assert_eq!(derived_id(["draft", "1", "input"]), "draft/1/input");
/// assert_eq!(derived_id(["a/b", "c"]), "a%2Fb/c");
/// assert_ne!(derived_id(["x".repeat(300), "1".into()]), derived_id(["x".repeat(300), "2".into()]));
/// assert_eq!(derived_id(["x".repeat(300)]).len(), 256);
/// ```
pub fn derived_id<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return String::new() };
    let mut id = Derived(String::new());
    id.push_escaped(first.as_ref());
    let Derived(text) = parts.fold(id, |id, part| id.with(part.as_ref()));
    if text.len() > MAX_ID_BYTES { shorten(&text) } else { text }
}

thread_local! {
    /// Where ids are made one after the other, so that the id itself is the one allocation that making it takes.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// An id in the making.
struct Derived(String);

impl Derived {
    /// Begins an id that [`into_id`](Self::into_id) makes.
    fn of(first: &str) -> Self {
        // A thread that ends has no place any more.
        let mut id = Self(PLACE.try_with(Cell::take).unwrap_or_default());
        id.push_escaped(first);
        id
    }

    fn with(mut self, part: &str) -> Self {
        self.0.push('/');
        self.push_escaped(part);
        self
    }

    fn with_number(mut self, number: u64) -> Self {
        self.0.push('/');
        // Most numbers are a first one, for which the machinery of formatting is much.
        match u8::try_from(number) {
            Ok(digit @ 0..=9) => self.0.push(char::from(b'0' + digit)),
            // Writing to a `String` cannot fail.
            _ => _ = write!(self.0, "{number}"),
        }
        self
    }

    fn push_escaped(&mut self, part: &str) {
        let mut rest = part;
        // What lies between two of them goes at once: a task of a consensus or a plan has several.
        while let Some(at) = memchr3(b'/', b'%', b'~', rest.as_bytes()) {
            let (plain, escaped) = rest.split_at(at);
            self.0.push_str(plain);
            self.0.push_str(match escaped.as_bytes().first() {
                Some(b'/') => "%2F",
                Some(b'%') => "%25",
                _ => "%7E",
            });
            rest = escaped.get(1..).unwrap_or_default();
        }
        self.0.push_str(rest);
    }

    /// The id, made by `make` of a text that is one where the parts are.
    fn into_id<I>(self, make: impl FnOnce(&str) -> I) -> I {
        let Self(mut text) = self;
        let id = if text.len() > MAX_ID_BYTES { make(&shorten(&text)) } else { make(&text) };
        text.clear();
        _ = PLACE.try_with(|place| place.set(text));
        id
    }
}

fn shorten(text: &str) -> String {
    let keep = text.floor_char_boundary(MAX_ID_BYTES - DIGEST_BYTES - 1);
    let mut short = String::with_capacity(MAX_ID_BYTES);
    // Trailing blanks are legal inside an id, and the `~` that follows keeps them inside.
    short.push_str(text.get(..keep).unwrap_or_default());
    short.push('~');
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a `String` cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

impl TaskId {
    /// The id of the task that an attempt of another one gives to an agent: `<task>/<attempt>/<agent>`, as
    /// [`derived_id`] writes it.
    ///
    /// ```
    /// use convoke_core::{AgentId, TaskId};
    ///
    /// # fn main() -> Result<(), convoke_core::IdError> {
    /// let vote = TaskId::new("release/7")?;
    /// assert_eq!(TaskId::of_attempt(&vote, 1, &AgentId::new("ada")?).as_str(), "release%2F7/1/ada");
    /// # Ok(())
    /// # }
    /// ```
    pub fn of_attempt(task: &Self, attempt: u32, agent: &AgentId) -> Self {
        let attempt = Derived::of(task.as_str()).with_number(u64::from(attempt));
        attempt.with(agent.as_str()).into_id(Self::from_generated)
    }
}

/// Where in its attempt a message stands; `0` is the first of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptPart {
    /// What the attempt was given: the input, then the request's messages.
    Input(usize),
    /// What the attempt gave: the output, then its further messages.
    Output(usize),
}

impl MessageId {
    /// The id of a message of the host: `host/<sequence>`. It never equals one of an attempt, which has three parts or
    /// more, or a `~`, whatever its task is called.
    pub fn of_host(sequence: u64) -> Self {
        Derived::of("host").with_number(sequence).into_id(Self::from_generated)
    }

    /// The id of a message of an attempt: `<task>/<attempt>/input`, and `<task>/<attempt>/input/1` for the next one.
    pub fn of_attempt(task: &TaskId, attempt: u32, part: AttemptPart) -> Self {
        let (kind, index) = match part {
            AttemptPart::Input(index) => ("/input", index),
            AttemptPart::Output(index) => ("/output", index),
        };
        let mut id = Derived::of(task.as_str()).with_number(u64::from(attempt));
        id.0.push_str(kind);
        let id = if index == 0 { id } else { id.with_number(index as u64) };
        id.into_id(Self::from_generated)
    }
}

impl CommitId {
    /// A commit of a claim: `<token>/<number>`. For an owner that numbers what it tries under a claim, by the place in the log
    /// or one after the other, and claims the log again before it tries anything else under a number.
    pub fn of_claim(token: FencingToken, number: u64) -> Self {
        Self::from_generated(&format!("{token}/{number}"))
    }
}

impl LogId {
    /// The log of a session: `session/<id>`.
    pub fn of_session(session: &SessionId) -> Self {
        Derived::of("session").with(session.as_str()).into_id(Self::from_generated)
    }

    /// What the logs of plans begin with.
    pub const PLANS: &str = "plan/";

    /// The log of a plan: `plan/<id>`.
    pub fn of_plan(plan: &PlanId) -> Self {
        Derived::of("plan").with(plan.as_str()).into_id(Self::from_generated)
    }

    /// The plan that this is the log of; `None` where it is the log of something else, or shortened, so that it does not say
    /// all of the plan's id.
    pub fn plan(&self) -> Option<PlanId> {
        let escaped = self.as_str().strip_prefix(Self::PLANS).filter(|escaped| !escaped.contains('~'))?;
        PlanId::new(escaped.replace("%2F", "/").replace("%7E", "~").replace("%25", "%")).ok()
    }
}

impl OwnerId {
    /// The owner that a runtime is, by the id that it generated for itself: `runtime/<id>`.
    pub fn of_runtime(runtime: &SessionId) -> Self {
        Derived::of("runtime").with(runtime.as_str()).into_id(Self::from_generated)
    }
}
