//! Questions: the pause of a task as the plan keeps it, and as a session gets it back.

use convoke_core::{AgentId, ErrorCode, Pause, ResumeToken, TaskError, TaskReport};
use convoke_planning::machine::Question;
use serde::{Deserialize, Serialize};

use crate::StepMark;

/// The version of the form below.
const VERSION: u32 = 1;

/// What the plan keeps of a pause: enough to go on where the session is gone with its process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseToken {
    /// How many questions were answered before this one.
    pub(crate) answers: u32,
    /// Who asks; `None` where nobody in particular does.
    pub(crate) agent: Option<AgentId>,
    /// What the agent needs to go on.
    pub(crate) token: Option<ResumeToken>,
}

impl PauseToken {
    /// Reads what [`question`] wrote.
    pub(crate) fn read(question: &Question) -> Result<Self, TaskError> {
        let token = question.token.as_ref().filter(|token| token.version() == VERSION);
        token.and_then(|token| Self::deserialize(token.state()).ok()).ok_or_else(|| {
            let text = "question of the step was asked by another executor; leave the step to that";
            TaskError::new(ErrorCode::InvalidRequest, text)
        })
    }

    /// What the answer must carry.
    pub(crate) fn resume(&self) -> ResumeToken {
        self.token.clone().unwrap_or_else(ResumeToken::empty)
    }
}

/// The question of a paused task.
pub(crate) fn question(report: &TaskReport, mark: &StepMark) -> Question {
    let pause = report.pause.clone().unwrap_or_else(|| Pause::new("", None, None));
    let token = PauseToken { answers: mark.answers, agent: report.agent.clone(), token: pause.resume };
    let state = serde_json::to_value(token).unwrap_or_default();
    Question::new(pause.prompt).with_token(ResumeToken::new(VERSION, state))
}
