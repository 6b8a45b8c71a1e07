//! Who asks for a run, and what nested work takes from the task that asks for it.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use convoke_core::{Budget, ErrorCode, Extension, Scope, SessionId, TaskError};
use convoke_registry::{RunOptions, RunningTask, Slots, Wait};
use convoke_session::Author;

use crate::{shared::Shared, stops::Above};

/// The span of a task, in its scope.
pub(crate) struct TaskSpan(pub(crate) Span);

impl Extension for TaskSpan {}

/// Who asks for a run: a host, or the task of this scope.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Option<Scope>);

impl Caller {
    /// The host, or a task that wants to be as independent.
    pub(crate) fn host() -> Self {
        Self(None)
    }

    /// The task of the scope that the handle carries; without one, that of the current scope.
    pub(crate) fn find(carried: Option<Scope>, slots: &Slots) -> Self {
        Self(carried.or_else(Scope::current).filter(|scope| RunningTask::of(scope, slots).is_some()))
    }

    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.0.as_ref()
    }

    pub(crate) fn is_task(&self) -> bool {
        self.0.is_some()
    }

    fn running(&self, slots: &Slots) -> Option<&RunningTask> {
        RunningTask::of(self.0.as_ref()?, slots)
    }

    /// The wait of the task that awaits what is asked for, from now on: the one that polls it or, where no task does, the
    /// one that asks.
    pub(crate) fn wait(&self, slots: &Slots) -> Option<Wait> {
        let polls = Self::find(None, slots);
        if polls.is_task() { polls.running(slots)?.wait() } else { self.running(slots)?.wait() }
    }

    /// Whether it is a task that has ended.
    pub(crate) fn has_ended(&self, slots: &Slots) -> bool {
        self.running(slots).is_some_and(RunningTask::has_ended)
    }

    /// Why the task that asks may ask no more, where it has ended.
    pub(crate) fn ended(&self, slots: &Slots) -> Option<TaskError> {
        if !self.has_ended(slots) {
            return None;
        }
        let text = format!(
            "task `{}` has ended, and its handle with it; ask before it ends, or use `spawn_independent`",
            self.name()
        );
        Some(TaskError::new(ErrorCode::InvalidRequest, text))
    }

    /// The task that asks, for a text.
    fn name(&self) -> String {
        let entry = self.0.as_ref().and_then(|scope| scope.lineage().next());
        entry.map(|entry| entry.task.to_string()).unwrap_or_default()
    }

    /// What a run that it asks for ends with.
    pub(crate) fn above(&self) -> Above {
        self.0.clone().map_or(Above::Runtime, Above::Task)
    }

    /// A token that stops what it asks for, besides whatever else does.
    pub(crate) fn stop(&self, shared: &Shared) -> CancellationToken {
        self.0.as_ref().map_or(shared.ended.token(), Scope::cancellation).child_token()
    }

    /// Why it may not ask.
    pub(crate) fn refusal(&self, shared: &Shared, options: Option<&Budget>) -> Option<TaskError> {
        let scope = self.0.as_ref()?;
        if scope.depth() > shared.max_nesting_depth {
            let text = format!(
                "task `{}` is nested {} deep already, and {} is the limit; ask from higher up, or raise \
                 `max_nesting_depth`",
                self.name(),
                scope.depth() - 1,
                shared.max_nesting_depth
            );
            return Some(TaskError::new(ErrorCode::DepthExceeded, text));
        }
        match (scope.budget(), options) {
            (Some(parent), Some(own)) if !own.is_under(parent) => {
                let text = format!(
                    "budget of the run is not under that of task `{}`, which asks for it; make it with `child`",
                    self.name()
                );
                Some(TaskError::new(ErrorCode::InvalidRequest, text))
            }
            _ => None,
        }
    }

    /// When nested work is stopped at the latest: before its caller, so that this can still hear of it.
    pub(crate) fn deadline(&self, now: Instant, grace: Duration) -> Option<Instant> {
        self.0.as_ref()?.child_deadline(now, grace)
    }

    /// What the run may spend: its own budget, which is under the caller's, or one made there.
    pub(crate) fn budget(&self, options: &mut RunOptions, shared: &Shared) -> Option<Budget> {
        let own = options.budget.take();
        own.or_else(|| match &self.0 {
            Some(scope) => scope.budget().map(|parent| parent.child().build()),
            None => shared.budget.clone(),
        })
    }

    pub(crate) fn session(&self) -> Option<SessionId> {
        Some(self.0.as_ref()?.lineage().next()?.session.clone())
    }

    pub(crate) fn trace_id(&self) -> Option<Arc<str>> {
        self.0.as_ref()?.trace_id().cloned()
    }

    /// The span that what it asks for is a child of: the current one or, where a task asks from elsewhere, its own.
    pub(crate) fn span(&self) -> Span {
        let current = Span::current();
        if !current.is_none() {
            return current;
        }
        let own = self.0.as_ref().and_then(Scope::get::<TaskSpan>);
        own.map_or(current, |own| own.0.clone())
    }

    /// Who gives the input of what it asks for.
    pub(crate) fn author(&self) -> Author {
        match self.0.as_ref().and_then(|scope| scope.lineage().next()) {
            None => Author::Host,
            Some(entry) => entry.agent.clone().map_or(Author::Team, Author::Agent),
        }
    }
}
