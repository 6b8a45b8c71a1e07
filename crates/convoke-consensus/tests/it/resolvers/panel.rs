//! A team with participants whose answers are written down.

use std::time::Duration;

use convoke_consensus::{ConsensusReport, ConsensusRequest, ReachConsensus as _};
use convoke_core::{AgentDescriptor, ErrorCode, TaskId, TaskRequest, TaskStatus};
use convoke_registry::AgentRegistry;
use convoke_session::SessionSnapshot;
use convoke_team::TeamRuntime;
use convoke_testkit::{ScriptedExecutor, Step};

pub(super) struct Panel {
    pub(super) team: TeamRuntime,
    registry: AgentRegistry,
}

impl Panel {
    /// A team whose agents answer the same each time.
    pub(super) fn saying(answers: &[(&str, &str)]) -> Self {
        let registry = AgentRegistry::new();
        let panel = Self { team: TeamRuntime::builder(registry.clone()).build().unwrap(), registry };
        for (agent, answer) in answers {
            let answer = (*answer).to_owned();
            panel.add(agent, &ScriptedExecutor::answering(move |_| Step::reply(answer.as_str())));
        }
        panel
    }

    pub(super) fn add(&self, agent: &str, executor: &ScriptedExecutor) {
        self.registry.add(AgentDescriptor::new(agent), executor.clone()).unwrap();
    }

    pub(super) async fn ask(&self, request: ConsensusRequest) -> ConsensusReport {
        self.team.handle().reach_consensus(request).await.unwrap()
    }

    pub(super) fn snapshot(&self) -> SessionSnapshot {
        self.team.session("s").unwrap().snapshot()
    }

    /// How task `task` stands.
    #[track_caller]
    pub(super) fn status(&self, task: &str) -> TaskStatus {
        self.snapshot().task(&TaskId::new(task).unwrap()).unwrap().status
    }
}

/// Asks `participants` as task `c` of session `s`, for a while: what is never decided fails a test, and does not hang it.
pub(super) fn among<const N: usize>(participants: [&str; N]) -> ConsensusRequest {
    let task = TaskRequest::new("ship it?").with_id("c").in_session("s").with_timeout(Duration::from_mins(1));
    ConsensusRequest::new(task).with_participants(participants)
}

/// Checks that there is no verdict, why, and what a person reads.
#[track_caller]
pub(super) fn assert_none(report: &ConsensusReport, code: ErrorCode, expected: &str) {
    assert_eq!((report.is_success(), report.code()), (false, Some(code)), "{report:?}");
    let text = report.report.error.as_ref().unwrap().message();
    assert!(text.contains(expected), "{text}");
}
