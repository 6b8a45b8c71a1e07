//! What the tests share: a team, a journal, and runners over both.

use std::{collections::BTreeMap, time::Duration};

use convoke_core::{AgentDescriptor, AnyJournal, OwnerId, PlanId, SessionId, TaskId, derived_id};
use convoke_journal::MemoryJournal;
use convoke_observability::MemorySink;
use convoke_planning::{
    Plan, PlanDraft, PlanPolicy, PlanPolicyBuilder, PlanRun, PlanRunner, PlanRunnerBuilder, PlanValidator,
    StepDraft, StepReport, machine::StepErrorCode,
};
use convoke_registry::{AgentExecutor, AgentRegistry};
use convoke_session::{SessionSnapshot, TaskRecord};
use convoke_team::{TeamRuntime, TeamRuntimeBuilder};
use convoke_team_planning::{StepMark, TeamStepExecutor};
use convoke_testkit::{RecordingObserver, ScriptedExecutor, Step};

/// A team under test, and where its plans are kept.
pub(crate) struct House {
    pub(crate) team: TeamRuntime,
    pub(crate) registry: AgentRegistry,
    pub(crate) tasks: RecordingObserver,
    pub(crate) sink: MemorySink,
    pub(crate) journal: AnyJournal,
}

impl House {
    /// One agent `a`, which does all.
    pub(crate) fn of(agent: impl AgentExecutor) -> Self {
        Self::built(registry([("a", agent)]), |builder| builder)
    }

    pub(crate) fn built(
        registry: AgentRegistry,
        set: impl FnOnce(TeamRuntimeBuilder) -> TeamRuntimeBuilder,
    ) -> Self {
        let (tasks, sink) = (RecordingObserver::new(), MemorySink::new());
        let builder = TeamRuntime::builder(registry.clone()).observer(tasks.clone()).event_sink(sink.clone());
        let journal = AnyJournal::new(MemoryJournal::new());
        Self { team: set(builder).build().unwrap(), registry, tasks, sink, journal }
    }

    /// The same team, with a new runtime that has nothing of the old one's memory.
    pub(crate) fn restarted(&self) -> Self {
        let house = Self::built(self.registry.clone(), |builder| builder);
        Self { journal: self.journal.clone(), ..house }
    }

    pub(crate) fn executor(&self) -> TeamStepExecutor {
        TeamStepExecutor::new(&self.team.handle())
    }

    pub(crate) fn runner(&self, policy: PlanPolicy) -> PlanRunner {
        self.runner_with(policy, |builder| builder)
    }

    /// A runner that keeps its plans in the journal.
    pub(crate) fn runner_with(
        &self,
        policy: PlanPolicy,
        set: impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder,
    ) -> PlanRunner {
        let builder = PlanRunner::builder()
            .executor(self.executor())
            .policy(policy)
            .journal(self.journal.clone())
            .event_sink(self.sink.clone())
            // A runner that comes back after its journal failed, which may have kept its claim.
            .owner(OwnerId::new("host").unwrap())
            .seed(1)
            .wall_clock(|| 1_000);
        set(builder).build().unwrap()
    }

    pub(crate) async fn run(&self, steps: impl IntoIterator<Item = StepDraft>) -> PlanRun {
        self.runner(PlanPolicy::default()).run_plan(plan(steps)).await.unwrap()
    }

    pub(crate) fn snapshot(&self, run: &PlanRun) -> SessionSnapshot {
        self.team.session(session_of(run)).expect("the session is there").snapshot()
    }

    pub(crate) fn record(&self, run: &PlanRun, step: &str) -> TaskRecord {
        self.snapshot(run).task(&TaskId::new(step).unwrap()).expect("the task is there").clone()
    }

    /// Checks that nothing is under way any more.
    #[track_caller]
    pub(crate) fn assert_rest(&self) {
        for agent in self.registry.list() {
            assert_eq!((agent.active, agent.detached, agent.waiting), (0, 0, 0), "{agent:?}");
        }
        let stats = self.team.stats();
        assert_eq!((stats.slots.taken, stats.slots.waiting, stats.detached), (0, 0, 0), "{stats:?}");
    }
}

/// Agents with the skill `work` and eight places each.
pub(crate) fn registry<E: AgentExecutor>(
    agents: impl IntoIterator<Item = (&'static str, E)>,
) -> AgentRegistry {
    let registry = AgentRegistry::new();
    for (id, executor) in agents {
        registry.add(agent(id), executor).unwrap();
    }
    registry
}

pub(crate) fn agent(id: &str) -> AgentDescriptor {
    AgentDescriptor::new(id).with_skill("work").with_max_concurrency(8)
}

/// A step of agent `a`.
pub(crate) fn step(id: impl Into<String>) -> StepDraft {
    let id = id.into();
    StepDraft::new(id.clone()).titled(format!("do {id}")).by_agent("a")
}

pub(crate) fn plan(steps: impl IntoIterator<Item = StepDraft>) -> Plan {
    named("plan", steps)
}

pub(crate) fn named(id: &str, steps: impl IntoIterator<Item = StepDraft>) -> Plan {
    let mut draft = PlanDraft::new("all is done");
    draft.id = Some(id.to_owned());
    let draft = steps.into_iter().fold(draft, PlanDraft::with_step);
    PlanValidator::default().validate(draft).unwrap()
}

pub(crate) fn plan_id() -> PlanId {
    PlanId::new("plan").unwrap()
}

pub(crate) fn session_of(run: &PlanRun) -> SessionId {
    SessionId::new(derived_id([run.plan.id().as_str(), run.run.as_str()])).unwrap()
}

pub(crate) fn policy(set: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder) -> PlanPolicy {
    set(PlanPolicy::builder()).build().unwrap()
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An agent that does one thing after the other.
pub(crate) fn script(steps: impl IntoIterator<Item = Step>) -> ScriptedExecutor {
    ScriptedExecutor::new(steps)
}

/// How often the agent was asked, by key, attempt and answers.
pub(crate) fn asked(agent: &ScriptedExecutor) -> BTreeMap<(String, u32, u32), usize> {
    let mut asked = BTreeMap::new();
    for request in agent.requests() {
        let mark = StepMark::of(&request.metadata).expect("each request says what it is for");
        *asked.entry((mark.key, mark.attempt, mark.answers)).or_default() += 1;
    }
    asked
}

#[track_caller]
pub(crate) fn code(report: Option<&StepReport>) -> Option<StepErrorCode> {
    report.expect("the step is there").error.as_ref().map(|error| error.code)
}

#[track_caller]
pub(crate) fn message(report: Option<&StepReport>) -> String {
    report.expect("the step is there").error.as_ref().map_or_else(String::new, |error| error.message.clone())
}

/// Lets everything run that can run without time passing.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
