//! Why a request gets no lease.

use convoke_core::{AgentId, ErrorCode, SkillId, TaskError, TaskId};

/// Why a request gets no lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The preferred agent is not registered.
    #[error("agent `{agent}` is not registered; register it, or leave the preference out")]
    AgentNotFound {
        /// The preferred agent.
        agent: AgentId,
    },
    /// No agent, or not the preferred one, has all the required skills.
    #[error("{} {}; {}, or require less", lacking(agent.as_ref()), list(skills), instead(agent.as_ref()))]
    CapabilityNotFound {
        /// The preferred agent, if there was one.
        agent: Option<AgentId>,
        /// The required skills.
        skills: Vec<SkillId>,
    },
    /// The agents that have the skills are draining or offline.
    #[error("{} draining or offline; make one available, or try again later", those(agent.as_ref()))]
    AgentUnavailable {
        /// The preferred agent, if there was one.
        agent: Option<AgentId>,
    },
    /// The agents that could serve are full, and the request does not wait.
    #[error("{} full; wait for capacity, or raise `max_concurrency`", those(agent.as_ref()))]
    CapacityExhausted {
        /// The preferred agent, if there was one.
        agent: Option<AgentId>,
    },
    /// The wait could never end: it waits for itself.
    #[error("{}; raise `max_concurrency`, or let one of them not wait for the other", told(path))]
    WaitCycle {
        /// Who waits for whom, from the one that is refused back to it.
        path: Vec<WaitStep>,
    },
}

/// One step on the path of a wait that could never end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitStep {
    /// A task that runs awaits another.
    Awaits {
        /// Who waits.
        task: TaskId,
        /// For whom.
        awaited: TaskId,
    },
    /// A task that is in line needs an agent that is held.
    Needs {
        /// Who waits.
        task: TaskId,
        /// For a unit of which agent.
        agent: AgentId,
        /// Who has that unit.
        holder: TaskId,
    },
}

fn told(path: &[WaitStep]) -> String {
    let step = |step: &WaitStep| match step {
        WaitStep::Awaits { task, awaited } => format!("task `{task}` awaits task `{awaited}`"),
        WaitStep::Needs { task, agent, holder } => {
            format!("task `{task}` needs agent `{agent}`, which task `{holder}` has")
        }
    };
    let steps: Vec<_> = path.iter().map(step).collect();
    format!("wait could never end: {}", steps.join("; "))
}

fn lacking(agent: Option<&AgentId>) -> String {
    agent.map_or_else(|| "no agent has".into(), |agent| format!("agent `{agent}` does not have"))
}

fn instead(agent: Option<&AgentId>) -> &'static str {
    if agent.is_some() { "prefer another, or none" } else { "register one that has" }
}

fn those(agent: Option<&AgentId>) -> String {
    agent.map_or_else(|| "every agent that could serve is".into(), |agent| format!("agent `{agent}` is"))
}

fn list(skills: &[SkillId]) -> String {
    let quoted: Vec<_> = skills.iter().map(|skill| format!("`{skill}`")).collect();
    match quoted.as_slice() {
        [] => "any skill".into(),
        [skill] => format!("the skill {skill}"),
        _ => format!("all the skills {}", quoted.join(", ")),
    }
}

impl Refusal {
    /// The code under which a report carries it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::AgentNotFound { .. } => ErrorCode::AgentNotFound,
            Self::CapabilityNotFound { .. } => ErrorCode::CapabilityNotFound,
            Self::AgentUnavailable { .. } => ErrorCode::AgentUnavailable,
            Self::CapacityExhausted { .. } => ErrorCode::CapacityExhausted,
            Self::WaitCycle { .. } => ErrorCode::WaitCycle,
        }
    }
}

impl From<Refusal> for TaskError {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}
