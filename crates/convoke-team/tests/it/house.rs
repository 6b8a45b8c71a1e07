//! What the tests share: a team with its registry and a record of its events.

use std::{collections::BTreeMap, time::Duration};

use convoke_core::{AgentDescriptor, ErrorCode, TaskId, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{AgentExecutor, AgentRegistry, RunOptions, SlotUsage, TeamError};
use convoke_session::TaskRecord;
use convoke_team::{TeamRuntime, TeamRuntimeBuilder};
use convoke_testkit::RecordingObserver;

/// A team under test.
pub(crate) struct House {
    pub(crate) team: TeamRuntime,
    pub(crate) registry: AgentRegistry,
    pub(crate) events: RecordingObserver,
}

impl House {
    /// A team over `registry`, with all else as it comes.
    pub(crate) fn new(registry: AgentRegistry) -> Self {
        Self::built(registry, |builder| builder)
    }

    /// A team whose one agent is called `a`, has `places` places and does what `executor` does.
    pub(crate) fn of(places: u32, executor: impl AgentExecutor) -> Self {
        Self::new(registry([(AgentDescriptor::new("a").with_max_concurrency(places), executor)]))
    }

    /// A team over `registry`, set up by `set`.
    pub(crate) fn built(
        registry: AgentRegistry,
        set: impl FnOnce(TeamRuntimeBuilder) -> TeamRuntimeBuilder,
    ) -> Self {
        let events = RecordingObserver::new();
        let team = set(TeamRuntime::builder(registry.clone()).observer(events.clone())).build().unwrap();
        Self { team, registry, events }
    }

    pub(crate) async fn run(&self, request: TaskRequest) -> TaskReport {
        self.team.run(request).await.unwrap()
    }

    pub(crate) async fn run_with(&self, request: TaskRequest, options: RunOptions) -> TaskReport {
        self.team.run_with(request, options).await.unwrap()
    }

    /// The record of a task.
    #[track_caller]
    pub(crate) fn record(&self, session: &str, task: &str) -> TaskRecord {
        let snapshot = self.team.session(session).unwrap().snapshot();
        snapshot.task(&TaskId::new(task).unwrap()).unwrap().clone()
    }

    /// How many units of an agent are in use, and how many of them by detached work.
    #[track_caller]
    pub(crate) fn load(&self, agent: &str) -> (u32, u32) {
        let agent = self.registry.get(agent).unwrap();
        (agent.active, agent.detached)
    }

    pub(crate) fn slots(&self) -> SlotUsage {
        self.team.stats().slots
    }

    /// Checks what holds at each moment where nobody lets go of what it awaits: units in use within what there is, and
    /// slots within the limit.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        self.assert_units();
        let stats = self.team.stats();
        assert!(stats.slots.taken <= stats.max_parallel_tasks, "{stats:?}");
    }

    /// Checks what holds at each moment: units in use within what there is, detached work among them.
    #[track_caller]
    pub(crate) fn assert_units(&self) {
        for agent in self.registry.list() {
            let max = agent.descriptor.max_concurrency;
            assert!(agent.active <= max && agent.detached <= agent.active, "{agent:?}");
            assert_eq!(agent.free() + agent.active, max);
        }
    }

    /// Whether no slot is taken, none is waited for, and no detached work is left.
    pub(crate) fn is_at_rest(&self) -> bool {
        let stats = self.team.stats();
        stats.slots.taken == 0 && stats.slots.waiting == 0 && stats.detached == 0
    }

    /// Checks that nothing is under way any more: no unit, no slot, no wait, no detached work.
    #[track_caller]
    pub(crate) fn assert_rest(&self) {
        for agent in self.registry.list() {
            assert_eq!((agent.active, agent.detached, agent.waiting), (0, 0, 0), "{agent:?}");
            assert_eq!(agent.free(), agent.descriptor.max_concurrency);
        }
        let stats = self.team.stats();
        assert_eq!((stats.slots.taken, stats.slots.waiting, stats.detached), (0, 0, 0), "{stats:?}");
    }
}

/// A registry with these agents.
pub(crate) fn registry<E: AgentExecutor>(
    agents: impl IntoIterator<Item = (AgentDescriptor, E)>,
) -> AgentRegistry {
    let registry = AgentRegistry::new();
    for (descriptor, executor) in agents {
        registry.add(descriptor, executor).unwrap();
    }
    registry
}

pub(crate) fn agent(id: &str) -> AgentDescriptor {
    AgentDescriptor::new(id)
}

/// A request for task `id` in session `s`.
pub(crate) fn task(id: &str) -> TaskRequest {
    TaskRequest::new("do it").with_id(id).in_session("s")
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Checks how a report ended.
#[track_caller]
pub(crate) fn assert_end(report: &TaskReport, status: TaskStatus, code: impl Into<Option<ErrorCode>>) {
    assert_eq!((report.status, report.code()), (status, code.into()), "{report:?}");
}

/// The texts of the answers of several runs.
pub(crate) fn texts(answers: &[Result<TaskReport, TeamError>]) -> Vec<&str> {
    answers.iter().map(|answer| answer.as_ref().unwrap().text()).collect()
}

/// The reports of several runs.
pub(crate) fn reports(answers: Vec<Result<TaskReport, TeamError>>) -> Vec<TaskReport> {
    answers.into_iter().map(Result::unwrap).collect()
}

/// Lets everything run that can run without time passing.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Whether an event ends an attempt.
pub(crate) fn is_end(name: &str) -> bool {
    ["completed", "input_required", "failed", "blocked", "cancelled", "timed_out"].contains(&name)
}

/// The events of an attempt are: submitted, then selected and started or neither, one end, then what comes late; of one that
/// nobody in particular does, only what comes late.
#[track_caller]
pub(crate) fn assert_events(house: &House) {
    let mut attempts: BTreeMap<_, Vec<&'static str>> = BTreeMap::new();
    for event in house.events.events() {
        if event.attempt > 0 {
            attempts.entry((event.task, event.attempt)).or_default().push(event.kind.as_str());
        } else {
            assert!(is_end(event.kind.as_str()), "{event:?}");
        }
    }
    for (attempt, names) in attempts {
        if names == ["detached_ended"] {
            continue;
        }
        let ["submitted", rest @ ..] = names.as_slice() else { panic!("{attempt:?}: {names:?}") };
        let (["selected", "started", end, late @ ..] | [end, late @ ..]) = rest else {
            panic!("{attempt:?} has no end: {names:?}");
        };
        assert!(is_end(end), "{attempt:?}: {names:?}");
        assert!(matches!(late, [] | ["detached_ended"]), "{attempt:?}: {names:?}");
    }
}
