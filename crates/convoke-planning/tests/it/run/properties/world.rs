//! A plan by chance, what becomes of its steps, and who does them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use convoke_core::{ExecutorError, Metadata};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    ApprovalDecision, BoxError, Plan, PlanRunner, PlanStep, Review, StepContext, StepExecutor, StepOutcome,
    StepRequest,
    machine::{Capabilities, Durability, Finding, Placement, StepInput},
};
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
use proptest::{collection::vec, option, prelude::*};

use crate::{
    fixtures::plan,
    generated::{Edges, edges, steps},
    run::support::{ms, policy},
};

/// The most steps of a plan.
const STEPS: usize = 9;

/// What an attempt does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Done,
    /// Takes so many milliseconds, and stops sooner where it is asked to.
    Slow(u64),
    /// Takes so many milliseconds.
    Deaf(u64),
    Fails,
    Panics,
    Blocked {
        retryable: bool,
    },
    Asks,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Done),
        4 => (0..30_u64).prop_map(Act::Slow),
        2 => (0..90_u64).prop_map(Act::Deaf),
        2 => Just(Act::Fails),
        1 => Just(Act::Panics),
        1 => any::<bool>().prop_map(|retryable| Act::Blocked { retryable }),
        1 => Just(Act::Asks),
    ]
}

#[derive(Clone, Debug)]
pub(super) struct StepOf {
    /// What its attempts do, the last for ever.
    acts: Vec<Act>,
    gated: bool,
    serial: bool,
    placement: Placement,
    /// Whether its first output is rejected.
    rejected: bool,
}

/// A plan, what becomes of its steps, and under which rules.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) edges: Edges,
    pub(super) steps: Vec<StepOf>,
    pub(super) parallel: u32,
    pub(super) attempts: u32,
    pub(super) goes_on: bool,
    pub(super) step_timeout: Option<u64>,
    pub(super) grants: bool,
    pub(super) reviews: bool,
    pub(super) durability: Durability,
}

fn chance(percent: u32) -> impl Strategy<Value = bool> {
    prop::bool::weighted(f64::from(percent) / 100.0)
}

pub(super) fn world() -> impl Strategy<Value = World> {
    let step = (vec(act(), 1..3), chance(10), chance(20), chance(20), chance(15)).prop_map(
        |(acts, gated, is_inline, serial, rejected)| {
            let placement = if is_inline { Placement::Inline } else { Placement::Spawned };
            StepOf { acts, gated, serial, placement, rejected }
        },
    );
    let durability = prop::sample::select(vec![Durability::Strict, Durability::Relaxed, Durability::OnExit]);
    let rules =
        (1..5_u32, 1..4_u32, any::<bool>(), option::of(1..40_u64), any::<bool>(), any::<bool>(), durability);
    (edges(STEPS), vec(step, STEPS), rules).prop_map(
        |(edges, steps, (parallel, attempts, goes_on, step_timeout, grants, reviews, durability))| World {
            edges,
            steps,
            parallel,
            attempts,
            goes_on,
            step_timeout,
            grants,
            reviews,
            durability,
        },
    )
}

impl World {
    pub(super) fn plan(&self) -> Plan {
        let steps = steps(&self.edges).into_iter().zip(&self.steps);
        plan(steps.map(|(step, of)| if of.gated { step.gated() } else { step }))
    }

    pub(super) fn runner(&self, actor: &Actor, journal: &MemoryJournal) -> PlanRunner {
        let policy = policy(|mut policy| {
            policy = policy.max_parallel_steps(self.parallel).max_attempts(self.attempts);
            if self.goes_on {
                policy = policy.continue_after_failure();
            }
            match self.step_timeout {
                Some(time) => policy.step_timeout(ms(time)),
                None => policy,
            }
        });
        let mut builder = PlanRunner::builder().executor(actor.clone()).journal(slow(journal)).policy(policy);
        if self.grants {
            builder = builder.approvals(|_: StepRequest| async {
                Ok::<_, BoxError>(ApprovalDecision::Approve(Metadata::new()))
            });
        }
        if self.reviews {
            let rejected: Vec<bool> = self.steps.iter().map(|step| step.rejected).collect();
            builder = builder.reflector(move |review: Review| {
                let is_rejected =
                    rejected[usize::try_from(review.index().get()).unwrap()] && review.attempt == 1;
                async move {
                    tokio::time::sleep(ms(2)).await;
                    Ok::<_, BoxError>(if is_rejected {
                        Finding::Retry("again".into())
                    } else {
                        Finding::Pass
                    })
                }
            });
        }
        builder.durability(self.durability).seed(1).wall_clock(|| 1_000).build().unwrap()
    }
}

/// A journal that may be killed while it writes: a commit is there once it is answered.
fn slow(journal: &MemoryJournal) -> HookedJournal<MemoryJournal> {
    HookedJournal::new(journal.clone(), |call, when| {
        if (call, when) != (JournalCall::Append, JournalMoment::Before) {
            return go_on();
        }
        Box::pin(async {
            tokio::time::sleep(ms(3)).await;
            Ok(())
        })
    })
}

/// Does what a world says of its steps.
#[derive(Clone)]
pub(super) struct Actor {
    steps: Arc<Vec<StepOf>>,
    pub(super) noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
pub(super) struct Noted {
    pub(super) executions: BTreeMap<String, usize>,
    pub(super) at_work: BTreeSet<String>,
    pub(super) most_at_work: usize,
    /// Steps that were at work twice at once.
    pub(super) doubled: Vec<String>,
    /// Steps whose turn is one and that were at work at once.
    pub(super) collided: Vec<String>,
}

impl Actor {
    pub(super) fn new(world: &World) -> Self {
        Self { steps: Arc::new(world.steps.clone()), noted: Arc::default() }
    }

    fn of(&self, step: &str) -> &StepOf {
        &self.steps[step[1..].parse::<usize>().unwrap()]
    }
}

struct AtWork(String, Arc<Mutex<Noted>>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.1.lock().unwrap().at_work.remove(&self.0);
    }
}

impl StepExecutor for Actor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        let of = self.of(step.id.as_str());
        let mut capabilities = Capabilities::new();
        capabilities.placement = of.placement;
        Some(if of.serial { capabilities.serial("one") } else { capabilities })
    }

    async fn execute(&self, _: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        let (id, of) = (ctx.step().id.as_str().to_owned(), self.of(ctx.step().id.as_str()));
        {
            let mut noted = self.noted.lock().unwrap();
            *noted.executions.entry(id.clone()).or_default() += 1;
            if of.serial && noted.at_work.iter().any(|other| self.of(other).serial) {
                noted.collided.push(id.clone());
            }
            if !noted.at_work.insert(id.clone()) {
                noted.doubled.push(id.clone());
            }
            noted.most_at_work = noted.most_at_work.max(noted.at_work.len());
        }
        let _at_work = AtWork(id.clone(), Arc::clone(&self.noted));
        let attempt = usize::try_from(ctx.attempt()).unwrap();
        match *of.acts.get(attempt - 1).or(of.acts.last()).unwrap() {
            Act::Asks if ctx.answer().is_none() => return Ok(StepOutcome::asked("which one?")),
            Act::Done | Act::Asks => {}
            Act::Slow(time) => tokio::select! {
                () = tokio::time::sleep(ms(time)) => {}
                () = ctx.cancellation().cancelled() => return Ok(StepOutcome::Cancelled),
            },
            Act::Deaf(time) => tokio::time::sleep(ms(time)).await,
            Act::Fails => return Err(ExecutorError::new(format!("{id} is broken"))),
            Act::Panics => panic!("{id} panics"),
            Act::Blocked { retryable } => {
                return Ok(StepOutcome::Blocked { reason: "not now".to_owned(), retryable });
            }
        }
        Ok(format!("did {id}").into())
    }
}
