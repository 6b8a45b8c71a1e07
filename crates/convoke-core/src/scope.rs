//! Scopes: what work inherits from the work that asked for it.

mod current;
mod extensions;
mod stop;

use std::{fmt, iter, sync::Arc, time::Duration};

pub use current::InScope;
pub use extensions::Extension;
use extensions::Extensions;
use stop::Stop;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{AgentId, Budget, SessionId, TaskId};

/// What work inherits from the work that asked for it: whose work it is, when it must stop, what it may spend.
///
/// A scope is carried by value: an executor's context has one, and so has every handle that is made from it. A
/// [`child`](Self::child) sees of its parent exactly what this type hands down: the lineage, a child of the token, the
/// deadline, the budget, the trace, and those [extensions](Extension) that say that they are inherited.
///
/// Inside an executor its scope is also the [current](Self::current) one, so that code without a context at hand finds
/// it. A task that is spawned in between does not have it; [`wrap`](Self::wrap) carries it there.
///
/// It is no security boundary: whoever shares a process can reach around it.
///
/// ```
/// use convoke_core::{Extension, Lineage, Scope, SessionId, TaskId};
///
/// #[derive(Debug)]
/// struct Tenant(&'static str);
/// impl Extension for Tenant {
///     const IS_INHERITED: bool = true;
/// }
///
/// # fn main() -> Result<(), convoke_core::IdError> {
/// let draft = Lineage::new(SessionId::new("s")?, TaskId::new("draft")?, 1);
/// let parent = Scope::root().of(draft).with_extension(Tenant("blue"));
/// let child = parent.child();
///
/// assert_eq!(child.get::<Tenant>().map(|tenant| tenant.0), Some("blue"));
/// parent.cancellation().cancel();
/// assert!(child.cancellation().is_cancelled());
/// assert_eq!(child.lineage().next().map(|entry| entry.task.as_str()), Some("draft"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    lineage: Option<Arc<Ancestor>>,
    stop: Stop,
    deadline: Option<Instant>,
    budget: Option<Budget>,
    trace_id: Option<Arc<str>>,
    extensions: Extensions,
}

/// One attempt in the line from a root to the work at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lineage {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Which execution of it.
    pub attempt: u32,
    /// Who does it; `None` where nobody in particular does.
    pub agent: Option<AgentId>,
}

impl Lineage {
    /// An attempt of nobody in particular.
    pub fn new(session: SessionId, task: TaskId, attempt: u32) -> Self {
        Self { session, task, attempt, agent: None }
    }

    /// Says who does it.
    #[must_use]
    pub fn by(mut self, agent: AgentId) -> Self {
        self.agent = Some(agent);
        self
    }
}

/// The line as a list that children share; its depth is bounded by whoever nests.
struct Ancestor {
    entry: Lineage,
    depth: usize,
    parent: Option<Arc<Ancestor>>,
}

impl Ancestor {
    fn new(entry: Lineage, parent: Option<Arc<Self>>) -> Arc<Self> {
        let depth = parent.as_ref().map_or(1, |parent| parent.depth + 1);
        Arc::new(Self { entry, depth, parent })
    }
}

impl Scope {
    /// A scope without a parent: no lineage, no deadline, no budget, a token of its own.
    pub fn root() -> Self {
        Self(Arc::default())
    }

    /// The scope of an attempt that `parent` asks for, or nobody who has one: its lineage and its extensions are under that
    /// one's, and it has a token of its own.
    pub fn of_attempt(
        parent: Option<&Self>,
        entry: Lineage,
        deadline: Option<Instant>,
        budget: Option<Budget>,
        trace_id: Option<Arc<str>>,
    ) -> Self {
        let above = parent.and_then(|parent| parent.0.lineage.clone());
        Self(Arc::new(Inner {
            lineage: Some(Ancestor::new(entry, above)),
            stop: Stop::default(),
            deadline,
            budget,
            trace_id,
            extensions: parent.map(|parent| parent.0.extensions.inherited()).unwrap_or_default(),
        }))
    }

    /// A scope that inherits from this one; its token is a child of this one's.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Inner {
            lineage: self.0.lineage.clone(),
            stop: Stop::of(self.cancellation().child_token()),
            deadline: self.0.deadline,
            budget: self.0.budget.clone(),
            trace_id: self.0.trace_id.clone(),
            extensions: self.0.extensions.inherited(),
        }))
    }

    /// Puts an attempt at the end of the lineage.
    #[must_use]
    pub fn of(self, entry: Lineage) -> Self {
        self.with(|inner| {
            let above = inner.lineage.take();
            inner.lineage = Some(Ancestor::new(entry, above));
        })
    }

    /// Sets the token.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Self {
        self.with(|inner| inner.stop = Stop::of(token))
    }

    /// Sets when the work must stop.
    #[must_use]
    pub fn with_deadline(self, deadline: impl Into<Option<Instant>>) -> Self {
        self.with(|inner| inner.deadline = deadline.into())
    }

    /// Sets what the work may spend.
    #[must_use]
    pub fn with_budget(self, budget: impl Into<Option<Budget>>) -> Self {
        self.with(|inner| inner.budget = budget.into())
    }

    /// Sets the trace of the host that the work belongs to.
    #[must_use]
    pub fn with_trace_id(self, trace_id: impl Into<Option<Arc<str>>>) -> Self {
        self.with(|inner| inner.trace_id = trace_id.into())
    }

    /// Adds a value, found again by its type; one of the same type is replaced.
    #[must_use]
    pub fn with_extension<E: Extension>(self, extension: E) -> Self {
        self.with(|inner| inner.extensions.insert(extension))
    }

    /// Signalled when the work is to stop.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.stop.token()
    }

    /// Asks the work to stop: as [`CancellationToken::cancel`], and cheaper where nobody has asked for the
    /// [token](Self::cancellation).
    pub fn cancel(&self) {
        self.0.stop.ask();
    }

    /// Whether the work is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.stop.is_asked_for()
    }

    /// When the work must stop, on tokio's clock; `None` means never.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    /// When a child is stopped at the latest that is asked for at `now`, by whoever gives work `grace` to end: before its
    /// parent by that, or by an eighth of what is left where that is less, so that the parent can still hear of it. `None`
    /// where there is no deadline.
    pub fn child_deadline(&self, now: Instant, grace: Duration) -> Option<Instant> {
        let deadline = self.deadline()?;
        deadline.checked_sub(grace.min(deadline.saturating_duration_since(now) / 8))
    }

    /// What the work may spend; `None` where nobody set a budget.
    pub fn budget(&self) -> Option<&Budget> {
        self.0.budget.as_ref()
    }

    /// The trace of the host that the work belongs to.
    pub fn trace_id(&self) -> Option<&Arc<str>> {
        self.0.trace_id.as_ref()
    }

    /// The value of this type, where there is one.
    pub fn get<E: Extension>(&self) -> Option<&E> {
        self.0.extensions.get()
    }

    /// Whose work this is: the attempt at hand first, then the one that asked for it, up to the root.
    pub fn lineage(&self) -> impl Iterator<Item = &Lineage> {
        iter::successors(self.0.lineage.as_deref(), |ancestor| ancestor.parent.as_deref())
            .map(|ancestor| &ancestor.entry)
    }

    /// How many attempts are in the lineage: 1 for work that a host asked for, 0 outside of any.
    pub fn depth(&self) -> usize {
        self.0.lineage.as_ref().map_or(0, |ancestor| ancestor.depth)
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("task", &self.lineage().next().map(|entry| &entry.task))
            .field("depth", &self.depth())
            .field("deadline", &self.0.deadline)
            .field("trace_id", &self.0.trace_id)
            .finish_non_exhaustive()
    }
}
