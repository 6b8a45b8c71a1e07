//! One more agent decides.

use std::borrow::Cow;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use convoke_core::{
    AgentId, ExecutorError, IdError, TaskId, TaskOutput, TaskRequest, TaskStatus, derived_id,
};
use convoke_registry::{TeamError, TeamHandle};

use crate::{Answer, Resolver, ResolverContext, Results, Verdict};

/// What a judge is asked unless said otherwise.
const INSTRUCTIONS: &str = "Choose the best answer to the task. Reply with JSON alone: {\"choice\": 2} for the answer \
                            with number 2, {\"choice\": null} where none is good enough.";

/// Lets one more agent choose among the answers; decides when all are in.
///
/// For open answers that no count can compare. The judge gets a task of its own, `<consensus>/<round>/judge/<agent>`: as
/// input the [instructions](Self::with_instructions), as data `{"task": {"input", "data"}, "answers": [{"number", "text", "data"}, ..]}`.
/// It is told no names, and the answers stand in an order that is shuffled by a seed, so that neither who answered nor who
/// was asked first sways it. It cannot be kept from reading the session, where the answers have authors; nor should it be one of
/// the participants. All answers together must fit into one message of the session.
///
/// It answers `{"choice": 2}`, or the number alone; the verdict is that answer as it was given, with all that answered the same
/// as its voters: a judge chooses, and does not rewrite. `{"choice": null}` is not reached, nor is it where nobody answered,
/// which the judge is not asked about. Any other answer, and a judge that does not complete, fails the consensus with
/// `execution_failed`; where it is the deadline that stops the judge, the consensus is `timed_out`. There are no ties.
///
/// `notes.seed` of the summary names the seed, and `notes.order` who stood where: by the SHA-256 of the seed followed by
/// the agent's id. Unless [set](Self::with_seed) the seed is made from consensus and round.
#[derive(Clone, Debug)]
pub struct JudgeAgent {
    judge: Result<AgentId, IdError>,
    instructions: Cow<'static, str>,
    seed: Option<String>,
}

impl JudgeAgent {
    /// Lets the agent `judge` decide. An id that is none, or of an agent that is not registered, refuses the consensus
    /// with `invalid_request`.
    pub fn new<I>(judge: I) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        Self { judge: judge.try_into().map_err(Into::into), instructions: INSTRUCTIONS.into(), seed: None }
    }

    /// Sets what the judge is asked.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<Cow<'static, str>>) -> Self {
        self.instructions = instructions.into();
        self
    }

    /// Sets the seed that the answers are shuffled by.
    #[must_use]
    pub fn with_seed(mut self, seed: impl Into<String>) -> Self {
        self.seed = Some(seed.into());
        self
    }

    fn request(
        &self,
        judge: &AgentId,
        ctx: &ResolverContext,
        answers: &[Value],
    ) -> Result<TaskRequest, ExecutorError> {
        let asked = ctx.request();
        let round = ctx.round().to_string();
        let id = derived_id([ctx.consensus().as_str(), &round, "judge", judge.as_str()]);
        let data = json!({ "task": { "input": asked.input, "data": asked.data }, "answers": answers });
        let mut request = TaskRequest::new(&*self.instructions).with_json(&data).preferring(judge.clone());
        request.id = Some(TaskId::new(id)?);
        Ok(request)
    }
}

impl Resolver for JudgeAgent {
    async fn resolve(&self, results: Results, ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let judge = self.judge.clone()?;
        let round = ctx.round().to_string();
        let seed = self.seed.clone().unwrap_or_else(|| derived_id([ctx.consensus().as_str(), &round]));
        let mut answers: Vec<_> =
            results.successes().map(|(agent, output)| (agent, Answer::of(output))).collect();
        if answers.is_empty() {
            return Ok(Verdict::not_reached("nobody answered"));
        }
        answers.sort_by_cached_key(|(agent, _)| place(&seed, agent));
        let shown = (1..).zip(&answers).map(|(number, (_, answer))| {
            json!({ "number": number, "text": answer.as_text(), "data": answer.data() })
        });
        let request = self.request(&judge, &ctx, &shown.collect::<Vec<_>>())?;
        let chosen = match ctx.team().run(request).await {
            Ok(report) => report,
            // What failed is what watches the judge.
            Err(TeamError::Telemetry { report }) => *report,
            Err(error) => {
                return Err(ExecutorError::from(error).with_public(format!("judge `{judge}` was lost")));
            }
        };
        if matches!(chosen.status, TaskStatus::TimedOut | TaskStatus::Cancelled) {
            return Err(ExecutorError::cancelled().with_public(format!("judge `{judge}` was stopped")));
        }
        let output = chosen.output.as_ref().filter(|_| chosen.is_success()).ok_or_else(|| {
            let code = chosen.code().map_or(chosen.status.to_string(), |code| code.to_string());
            let detail = chosen.error.as_ref().map_or_else(String::new, ToString::to_string);
            ExecutorError::new(detail).with_public(format!("judge `{judge}` did not decide: {code}"))
        })?;
        let choice = choice(output).ok_or_else(|| {
            ExecutorError::new(output.text.clone()).with_public(format!("judge `{judge}` gave no choice"))
        })?;
        let verdict = match choice {
            Choice::None => Verdict::not_reached(format!("judge `{judge}` chose none of the answers")),
            Choice::Number(number) => {
                let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                let (_, chosen) = index.and_then(|index| answers.get(index)).ok_or_else(|| {
                    ExecutorError::new(format!("choice {number} of {}", answers.len()))
                        .with_public(format!("judge `{judge}` chose an answer that there is not"))
                })?;
                let same = answers.iter().filter(|(_, answer)| answer == chosen);
                Verdict::agreed(chosen.to_output()).by(same.map(|(agent, _)| AgentId::clone(agent)))
            }
        };
        let order: Vec<_> = answers.iter().map(|(agent, _)| agent.as_str()).collect();
        Ok(verdict.with_note("seed", seed).with_note("order", order).with_note("judge", judge.as_str()))
    }

    fn check(&self, participants: &[AgentId], team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        match &self.judge {
            Ok(judge) if participants.contains(judge) => {
                Err(format!("judge `{judge}` is a participant; name the participants without it").into())
            }
            Ok(judge) if team.agent(judge).is_some() => Ok(()),
            Ok(judge) => Err(format!("judge `{judge}` is not registered; add it first").into()),
            Err(error) => Err(format!("judge: {error}").into()),
        }
    }
}

/// Where an answer stands.
fn place(seed: &str, agent: &AgentId) -> Vec<u8> {
    Sha256::new().chain_update(seed).chain_update(agent.as_str()).finalize().to_vec()
}

/// What a judge chose.
enum Choice {
    /// The answer with this number.
    Number(u64),
    /// None is good enough.
    None,
}

/// What a judge chose; nothing where it did not say.
fn choice(output: &TaskOutput) -> Option<Choice> {
    let said: Value = output.json().ok()?;
    let choice = said.get("choice").unwrap_or(&said);
    match choice {
        Value::Null if said.is_object() => Some(Choice::None),
        // As an answer `2.0` is `2`.
        other => Answer::value(other.clone()).data()?.as_u64().map(Choice::Number),
    }
}
