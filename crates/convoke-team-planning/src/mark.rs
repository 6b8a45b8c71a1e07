//! Which attempt of which step a task attempt is for.

use convoke_core::Metadata;
use convoke_planning::StepContext;
use serde::{Deserialize, Serialize};

use crate::question::PauseToken;

/// Which attempt of which step a task attempt is for, as the metadata of its request and of its report say it.
///
/// The attempts of a task are counted by its session, and those of a step by its plan: a repeat after a crash is a further
/// attempt of the task, and the same one of the step. An agent whose work has effects keeps them under the [`key`](Self::key).
///
/// ```
/// use convoke_core::TaskRequest;
/// use convoke_registry::FunctionExecutor;
/// use convoke_team_planning::StepMark;
///
/// let payer = FunctionExecutor::new(|request: TaskRequest, _ctx| async move {
///     let mark = StepMark::of(&request.metadata);
///     Ok(mark.map_or_else(String::new, |mark| format!("paid once, under {}", mark.key)))
/// });
/// # let _ = payer;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepMark {
    /// The idempotency key `<plan>/<step>/<generation>`: see [`StepContext::idempotency_key`].
    pub key: String,
    /// The attempt of the step, from 1.
    pub attempt: u32,
    /// How many questions of this attempt were answered by then.
    #[serde(default)]
    pub answers: u32,
}

impl StepMark {
    /// Where the metadata have it.
    pub const METADATA_KEY: &str = "convoke.plan_step";

    /// The mark in the metadata of a request or of a report; `None` where they are of no step.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        Self::deserialize(metadata.get(Self::METADATA_KEY)?).ok()
    }

    /// The mark of an attempt that begins, and that goes on with an answer where `pause` was answered.
    pub(crate) fn of_attempt(ctx: &StepContext, pause: Option<&PauseToken>) -> Self {
        Self {
            key: ctx.idempotency_key().to_owned(),
            attempt: ctx.attempt(),
            answers: pause.map_or(0, |pause| pause.answers.saturating_add(1)),
        }
    }

    /// The mark of what asked the question that this one's attempt answers; `None` where it answers none.
    pub(crate) fn asking(&self) -> Option<Self> {
        Some(Self { answers: self.answers.checked_sub(1)?, ..self.clone() })
    }

    pub(crate) fn put(&self, metadata: &mut Metadata) {
        let Self { key, attempt, answers } = self;
        let value = serde_json::json!({ "key": key, "attempt": attempt, "answers": answers });
        metadata.insert(Self::METADATA_KEY.to_owned(), value);
    }
}
