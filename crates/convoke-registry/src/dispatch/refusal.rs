//! Why a request gets no lease.

use convoke_core::{AgentId, ErrorCode, SkillId, TaskError};

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
        }
    }
}

impl From<Refusal> for TaskError {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}
