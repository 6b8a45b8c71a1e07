//! What the tests share: a team of voters, and a record of what is told.

use std::{sync::Arc, time::Duration};

use convoke_consensus::{
    ConsensusEvent, ConsensusReport, ConsensusRequest, ConsensusSummary, ReachConsensus as _,
};
use convoke_core::{AgentDescriptor, AgentId, Artifact, ErrorCode, TaskOutput, TaskRequest, TaskStatus};
use convoke_observability::MemorySink;
use convoke_registry::{AgentExecutor, AgentRegistry, RunOptions};
use convoke_session::SessionSnapshot;
use convoke_team::{TeamRuntime, TeamRuntimeBuilder};
use convoke_testkit::{RecordingObserver, ScriptedExecutor, Step};

/// A team under test.
pub(crate) struct House {
    pub(crate) team: TeamRuntime,
    pub(crate) registry: AgentRegistry,
    /// What its tasks tell.
    pub(crate) tasks: RecordingObserver,
    /// What all that it runs tells.
    pub(crate) sink: MemorySink,
}

impl House {
    pub(crate) fn built(
        registry: AgentRegistry,
        set: impl FnOnce(TeamRuntimeBuilder) -> TeamRuntimeBuilder,
    ) -> Self {
        let (tasks, sink) = (RecordingObserver::new(), MemorySink::new());
        let builder = TeamRuntime::builder(registry.clone()).observer(tasks.clone()).event_sink(sink.clone());
        Self { team: set(builder).build().unwrap(), registry, tasks, sink }
    }

    /// A team whose members, called `a`, `b`, `c` and so on, do what these steps say; each step once for each call.
    pub(crate) fn of(steps: impl IntoIterator<Item = fn() -> Step>) -> Self {
        let voters = steps.into_iter().map(|step| ScriptedExecutor::answering(move |_| step()));
        Self::built(registry(voters), |builder| builder.max_parallel_tasks(64))
    }

    /// A team whose members give these answers, each with an artifact.
    pub(crate) fn answering(answers: &[&'static str]) -> Self {
        let voters =
            answers.iter().map(|answer| ScriptedExecutor::answering(|_| Step::reply(with_artifact(answer))));
        Self::built(registry(voters), |builder| builder)
    }

    pub(crate) async fn reach(&self, request: ConsensusRequest) -> ConsensusReport {
        self.reach_with(request, RunOptions::new()).await
    }

    pub(crate) async fn reach_with(&self, request: ConsensusRequest, options: RunOptions) -> ConsensusReport {
        self.team.handle().reach_consensus_with(request, options).await.unwrap()
    }

    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        self.team.session("s").unwrap().snapshot()
    }

    /// The names of what a consensus told.
    pub(crate) fn told(&self) -> Vec<&'static str> {
        self.sink
            .events()
            .iter()
            .filter(|event| event.module == "consensus")
            .map(|event| event.name)
            .collect()
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

pub(crate) fn with_artifact(answer: &str) -> TaskOutput {
    TaskOutput::text(answer).with_artifact(Artifact::text("notes", answer).unwrap())
}

/// A registry of voters called `a`, `b`, `c` and so on; after `z` comes `za`.
pub(crate) fn registry<E: AgentExecutor>(voters: impl IntoIterator<Item = E>) -> AgentRegistry {
    let registry = AgentRegistry::new();
    for (number, voter) in voters.into_iter().enumerate() {
        registry.add(AgentDescriptor::new(name(number)).with_skill("vote"), voter).unwrap();
    }
    registry
}

fn name(number: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
    "z".repeat(number / 26) + &letter.to_string()
}

pub(crate) fn agent(id: &str) -> AgentId {
    AgentId::new(id).unwrap()
}

/// A consensus `c` in session `s` of all that vote.
pub(crate) fn consensus() -> ConsensusRequest {
    ConsensusRequest::new(question())
}

pub(crate) fn question() -> TaskRequest {
    TaskRequest::new("ship?").with_id("c").in_session("s").requiring("vote")
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Checks how a consensus ended.
#[track_caller]
pub(crate) fn assert_end(report: &ConsensusReport, status: TaskStatus, code: impl Into<Option<ErrorCode>>) {
    assert_eq!((report.report.status, report.code()), (status, code.into()), "{report}");
}

/// The summary, which must say of each participant what became of it, once.
#[track_caller]
pub(crate) fn summary(report: &ConsensusReport) -> &ConsensusSummary {
    let summary = report.summary.as_ref().unwrap_or_else(|| panic!("no summary: {report}"));
    let ConsensusSummary { eligible, asked, succeeded, failed, paused, signalled, .. } = summary;
    assert_eq!(*eligible, succeeded + failed.len() + paused.len() + signalled.len(), "{summary:?}");
    assert!(asked <= eligible, "{summary:?}");
    summary
}

/// Keeps what an observer of a consensus was told.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<parking_lot::Mutex<Vec<ConsensusEvent>>>);

impl Heard {
    pub(crate) fn events(&self) -> Vec<ConsensusEvent> {
        self.0.lock().clone()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events().iter().map(|event| event.kind.as_str()).collect()
    }

    pub(crate) fn listen(&self, request: ConsensusRequest) -> ConsensusRequest {
        let heard = Arc::clone(&self.0);
        request.on_event(move |event| heard.lock().push(event.clone()))
    }
}

/// Lets everything run that can run without time passing.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
