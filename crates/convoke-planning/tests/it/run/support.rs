//! Executors that do as they are told, and tell what they did.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use convoke_core::ExecutorError;
use convoke_planning::{
    PlanPolicy, PlanPolicyBuilder, PlanRun, PlanRunner, PlanRunnerBuilder, PlanStep, StepContext,
    StepExecutor, StepOutcome, StepReport,
    machine::{Capabilities, StepInput},
};

/// What a step does, by its attempt.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says its id.
    Done,
    /// Says a text after a time, and stops sooner where it is asked to.
    Slow(Duration),
    /// The same, and does not hear.
    Deaf(Duration),
    Fails,
    Panics,
    Asks,
    Blocked {
        retryable: bool,
    },
}

/// A start, as the executor saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) step: String,
    pub(crate) attempt: u32,
    pub(crate) key: String,
    pub(crate) input: StepInput,
    pub(crate) note: Option<String>,
    pub(crate) answer: Option<serde_json::Value>,
}

/// Does what its script says of a step, `Done` unless it says something.
#[derive(Clone, Default)]
pub(crate) struct Script {
    acts: HashMap<String, Vec<Act>>,
    capabilities: HashMap<String, Capabilities>,
    seen: Arc<Mutex<Vec<Seen>>>,
    at_work: Arc<Mutex<HashMap<String, (usize, usize)>>>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Does one act after the other at each start, the last of them for ever.
    pub(crate) fn with(mut self, step: &str, acts: impl IntoIterator<Item = Act>) -> Self {
        self.acts.insert(step.to_owned(), acts.into_iter().collect());
        self
    }

    pub(crate) fn able(mut self, step: &str, capabilities: Capabilities) -> Self {
        self.capabilities.insert(step.to_owned(), capabilities);
        self
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The steps that started, in order.
    pub(crate) fn order(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.step).collect()
    }

    pub(crate) fn starts(&self, step: &str) -> usize {
        self.seen().iter().filter(|seen| seen.step == step).count()
    }

    /// How many of these steps were at work at once, at most.
    pub(crate) fn most_at_once(&self, group: &str) -> usize {
        self.at_work.lock().unwrap().get(group).map_or(0, |(_, most)| *most)
    }

    /// Whether nothing is at work.
    pub(crate) fn is_idle(&self) -> bool {
        self.at_work.lock().unwrap().values().all(|(now, _)| *now == 0)
    }

    fn enter(&self, step: &PlanStep, by: isize) {
        let group: String = step.id.as_str().chars().take(1).collect();
        let mut at_work = self.at_work.lock().unwrap();
        let (now, most) = at_work.entry(group).or_default();
        *now = now.saturating_add_signed(by);
        *most = (*most).max(*now);
    }
}

impl StepExecutor for Script {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        Some(self.capabilities.get(step.id.as_str()).cloned().unwrap_or_default())
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        let id = ctx.step().id.as_str().to_owned();
        let acts = self.acts.get(&id).cloned().unwrap_or_default();
        let act = acts.get(self.starts(&id)).or(acts.last()).cloned().unwrap_or(Act::Done);
        self.seen.lock().unwrap().push(Seen {
            step: id.clone(),
            attempt: ctx.attempt(),
            key: ctx.idempotency_key().to_owned(),
            input,
            note: ctx.note().map(str::to_owned),
            answer: ctx.answer().map(|answer| answer.answer.clone()),
        });
        self.enter(ctx.step(), 1);
        let outcome = match act {
            Act::Done => Ok(format!("did {id}").into()),
            Act::Slow(time) => tokio::select! {
                () = tokio::time::sleep(time) => Ok(format!("did {id}").into()),
                () = ctx.cancellation().cancelled() => Ok(StepOutcome::Cancelled),
            },
            Act::Deaf(time) => {
                tokio::time::sleep(time).await;
                Ok(format!("did {id}").into())
            }
            Act::Fails => Err(ExecutorError::new(format!("{id} is broken"))),
            Act::Panics => panic!("{id} panics"),
            Act::Asks if ctx.answer().is_some() => {
                Ok(format!("heard {}", ctx.answer().unwrap().answer).into())
            }
            Act::Asks => Ok(StepOutcome::asked("which one?")),
            Act::Blocked { retryable } => {
                Ok(StepOutcome::Blocked { reason: "not now".to_owned(), retryable })
            }
        };
        self.enter(ctx.step(), -1);
        outcome
    }
}

/// Where the steps stand, but for the time that they took.
pub(crate) fn standing(run: &PlanRun) -> Vec<StepReport> {
    let untimed = |step: &StepReport| {
        let mut step = step.clone();
        step.took_millis = None;
        step
    };
    run.steps.iter().map(untimed).collect()
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn policy(set: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder) -> PlanPolicy {
    set(PlanPolicy::builder()).build().unwrap()
}

/// A runner of a script; the time of day stands still.
pub(crate) fn runner(script: &Script, policy: PlanPolicy) -> PlanRunner {
    with(script, policy, |builder| builder)
}

pub(crate) fn with(
    script: &Script,
    policy: PlanPolicy,
    more: impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder,
) -> PlanRunner {
    let builder = PlanRunner::builder().executor(script.clone()).policy(policy).seed(1).wall_clock(|| 1_000);
    more(builder).build().unwrap()
}
