//! How a runtime is set up.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use convoke_core::{AnyJournal, Budget, IdGenerator, Journal, OwnerId};
use convoke_observability::{AnySink, EventIds, EventSink};
use convoke_registry::{AgentRegistry, DEFAULT_GRACE};
use convoke_session::{Limit, SessionLimits, SessionStore};

use crate::{
    TeamEvent, TeamObserver, TeamRuntime, TelemetryFailures, bounded_journal::BoundedJournal, clock::Clock,
    detached::Detached, event::FunctionObserver, flag::Flag, recorded::RecordedSessions, sessions::Sessions,
    shared::Shared, telemetry::Telemetry,
};

/// How many tasks run at a time unless a host says otherwise.
const DEFAULT_MAX_PARALLEL_TASKS: usize = 4;

/// How deep tasks may ask for tasks unless a host says otherwise.
const DEFAULT_MAX_NESTING_DEPTH: usize = 32;

/// How many sessions a runtime keeps unless a host says otherwise.
const DEFAULT_MAX_SESSIONS: Limit = Limit::Finite(10_000);

/// How long a journal has to answer unless a host says otherwise.
const DEFAULT_SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a runtime cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Nothing could ever run.
    #[error("`max_parallel_tasks` is 0; allow at least 1")]
    NoSlots,
    /// Everything would time out at once.
    #[error("`default_task_timeout` is 0; leave it out for none")]
    ZeroTimeout,
    /// No journal could ever answer.
    #[error("`settle_timeout` is 0; give the journal time to answer")]
    ZeroSettleTimeout,
}

/// Sets up a [`TeamRuntime`].
///
/// ```
/// use std::time::Duration;
///
/// use convoke_observability::MemorySink;
/// use convoke_registry::{AgentRegistry, DEFAULT_GRACE};
/// use convoke_team::TeamRuntime;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), convoke_team::BuildError> {
/// let events = MemorySink::new();
/// let team = TeamRuntime::builder(AgentRegistry::new())
///     .max_parallel_tasks(16)
///     .default_task_timeout(Duration::from_secs(60))
///     .on_event(|event| println!("{} {}", event.task, event.kind.as_str()))
///     .event_sink(events.clone())
///     .build()?;
/// assert_eq!(team.stats().max_parallel_tasks, 16);
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct TeamRuntimeBuilder {
    registry: AgentRegistry,
    max_parallel_tasks: usize,
    default_task_timeout: Option<Duration>,
    grace: Duration,
    max_nesting_depth: usize,
    max_sessions: Limit,
    observer: Option<Box<dyn TeamObserver>>,
    sink: Option<AnySink>,
    budget: Option<Budget>,
    session_limits: SessionLimits,
    journal: Option<AnyJournal>,
    settle_timeout: Duration,
    telemetry_failures: TelemetryFailures,
    ids: IdGenerator,
}

impl TeamRuntimeBuilder {
    pub(crate) fn new(registry: AgentRegistry) -> Self {
        Self {
            registry,
            max_parallel_tasks: DEFAULT_MAX_PARALLEL_TASKS,
            default_task_timeout: None,
            grace: DEFAULT_GRACE,
            max_nesting_depth: DEFAULT_MAX_NESTING_DEPTH,
            max_sessions: DEFAULT_MAX_SESSIONS,
            observer: None,
            sink: None,
            budget: None,
            session_limits: SessionLimits::default(),
            journal: None,
            settle_timeout: DEFAULT_SETTLE_TIMEOUT,
            telemetry_failures: TelemetryFailures::default(),
            ids: IdGenerator::random(),
        }
    }

    /// How many tasks run at a time, over all agents and however they were started. 4 unless set.
    ///
    /// Beyond it runs only what had the slot of a task that awaited it, and goes on after that wait: within its grace,
    /// detached, or because its handle was dropped. No slot is granted until fewer than the limit are taken.
    pub fn max_parallel_tasks(mut self, limit: usize) -> Self {
        self.max_parallel_tasks = limit;
        self
    }

    /// How long a task may wait and run together where neither its request nor its caller says so. None unless set. It does
    /// not hold for nested work whose parent has a deadline: that deadline does.
    pub fn default_task_timeout(mut self, timeout: Duration) -> Self {
        self.default_task_timeout = Some(timeout);
        self
    }

    /// How long work that was asked to stop has to answer before its caller gets the answer without it. 50 ms unless set;
    /// zero gives it none.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How deep tasks may ask for tasks: 0 allows none to. What is deeper is refused with `depth_exceeded`. 32 unless set.
    /// `spawn_independent` starts anew.
    pub fn max_nesting_depth(mut self, depth: usize) -> Self {
        self.max_nesting_depth = depth;
        self
    }

    /// How many sessions are kept at a time: those of running tasks, those that were named, and unnamed ones with a task
    /// that is paused, detached or late. A run that would need one more is refused with `session_full`. 10,000 unless
    /// set; [`Limit::Unlimited`] for none.
    pub fn max_sessions(mut self, limit: impl Into<Limit>) -> Self {
        self.max_sessions = limit.into();
        self
    }

    /// Tells `observer` of everything that happens, in typed events. One observer; a later call replaces it.
    pub fn observer(mut self, observer: impl TeamObserver) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Calls a function with everything that happens; as [`observer`](Self::observer), which it replaces.
    pub fn on_event(self, observe: impl Fn(&TeamEvent) + Send + Sync + 'static) -> Self {
        self.observer(FunctionObserver(observe))
    }

    /// Tells `sink` of everything that happens, in common events. One sink; several become one in a
    /// [`FanOutSink`](convoke_observability::FanOutSink).
    pub fn event_sink(mut self, sink: impl EventSink) -> Self {
        self.sink = Some(AnySink::new(sink));
        self
    }

    /// What all runs together may spend, where a caller sets no budget of its own.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// How much each session takes that this runtime makes; the defaults of [`SessionLimits`] unless set.
    pub fn session_limits(mut self, limits: SessionLimits) -> Self {
        self.session_limits = limits;
        self
    }

    /// Keeps the sessions that requests name in `journal`, where they survive the process. None unless set.
    ///
    /// Each is a log of its own, `session/<id>`, that the runtime claims as long as it has the session: while it does, no
    /// other gets it. A change of the session is appended first and visible then. Where that fails, the task is `failed`
    /// with `store_failed`, with its output in the report alone. A run that names no session has one in memory.
    ///
    /// ```
    /// # use convoke_core::{AgentDescriptor, Journal, TaskRequest};
    /// # use convoke_journal::FileJournal;
    /// # use convoke_registry::{AgentRegistry, FunctionExecutor};
    /// # use convoke_team::TeamRuntime;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let registry = AgentRegistry::new();
    /// # let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
    /// # registry.add(AgentDescriptor::new("echo"), echo)?;
    /// let journal = FileJournal::open(folder.path()).await?;
    /// let team = TeamRuntime::builder(registry.clone()).journal(journal.clone()).build()?;
    /// team.run(TaskRequest::new("hello").with_id("greet").in_session("release-7")).await?;
    /// assert_eq!(journal.list("session/").await?, ["session/release-7".try_into()?]);
    ///
    /// // Another runtime gets the session once this one has let go of it.
    /// let other = TeamRuntime::builder(registry).journal(journal).build()?;
    /// other.open_session("release-7").await.unwrap_err();
    /// # Ok(())
    /// # }
    /// ```
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(AnyJournal::new(journal));
        self
    }

    /// How long each call of the journal may take before it counts as failed, its outcome unknown. 5 s unless set.
    pub fn settle_timeout(mut self, timeout: Duration) -> Self {
        self.settle_timeout = timeout;
        self
    }

    /// What a run does where an observer or a sink fails. Isolated and counted unless set.
    pub fn telemetry_failures(mut self, failures: TelemetryFailures) -> Self {
        self.telemetry_failures = failures;
        self
    }

    /// Where generated ids come from: random unless set; seeded for tests and replays.
    pub fn ids(mut self, ids: IdGenerator) -> Self {
        self.ids = ids;
        self
    }

    /// The runtime.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where there are no slots, or a timeout is zero.
    pub fn build(self) -> Result<TeamRuntime, BuildError> {
        if self.max_parallel_tasks == 0 {
            return Err(BuildError::NoSlots);
        }
        if self.default_task_timeout == Some(Duration::ZERO) {
            return Err(BuildError::ZeroTimeout);
        }
        if self.settle_timeout == Duration::ZERO {
            return Err(BuildError::ZeroSettleTimeout);
        }
        let clock = Arc::new(Clock::new());
        // Drawn also where no sink needs it, so that a sink does not change the ids of a seeded runtime.
        let runtime = self.ids.session(clock.unix_millis(Instant::now()));
        let sink = self.sink.map(|sink| (sink, EventIds::new(runtime.as_str())));
        let recorded = self.journal.map(|journal| {
            let journal = AnyJournal::new(BoundedJournal::new(journal, self.settle_timeout));
            let owner = OwnerId::of_runtime(&runtime);
            Box::new(RecordedSessions::new(SessionStore::new(journal, owner)))
        });
        Ok(TeamRuntime::new(Shared {
            slots: self.registry.slots(self.max_parallel_tasks),
            registry: self.registry,
            sessions: Sessions::new(self.session_limits, self.max_sessions),
            recorded,
            telemetry: Telemetry::new(self.observer, sink, Arc::clone(&clock)),
            telemetry_failures: self.telemetry_failures,
            ids: self.ids,
            clock,
            default_task_timeout: self.default_task_timeout,
            grace: self.grace,
            max_parallel_tasks: self.max_parallel_tasks,
            budget: self.budget,
            max_nesting_depth: self.max_nesting_depth,
            ended: Flag::default(),
            draining: CancellationToken::new(),
            under_way: TaskTracker::new(),
            detached: Detached::default(),
        }))
    }
}

impl fmt::Debug for TeamRuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamRuntimeBuilder")
            .field("max_parallel_tasks", &self.max_parallel_tasks)
            .field("default_task_timeout", &self.default_task_timeout)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}
