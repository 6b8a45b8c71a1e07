//! `priority`: as many steps as are ready at once, queued and then taken one by one.
//!
//! Work: `ReadyQueue`. Floor: a binary heap of the same steps, each with the score that it had when it was queued, which
//! time does not move. In the cases with deadlines, time does move the scores of the work: every step is before its
//! horizon at first and overdue at last.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    hint::black_box,
};

use anyhow::{Context as _, Result, ensure};

use convoke_planning::{
    Plan, PlanDraft, PlanPolicy, PlanValidator, Prioritization, PrioritySignals, PriorityWeights, ReadyQueue,
    StepDraft, StepIndex,
};

use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

pub(super) const CASES: [Case; 3] = [
    // As in a run: between any two picks some deadlines come near, and some come.
    case(
        "moving",
        |units| prepare(units, Deadlines::Spread, floor),
        |units| prepare(units, Deadlines::Spread, moving),
    ),
    // The most that can happen to a step before it is taken: it crosses both borders, alone.
    case(
        "across",
        |units| prepare(units, Deadlines::Spread, floor),
        |units| prepare(units, Deadlines::Spread, across),
    ),
    case(
        "still",
        |units| prepare(units, Deadlines::None, floor),
        |units| prepare(units, Deadlines::None, still),
    ),
];

const fn case(variant: &'static str, floor: fn(usize) -> Preparing, work: fn(usize) -> Preparing) -> Case {
    Case {
        benchmark: "priority",
        variant,
        size: Size::Units,
        clock: Clock::Thread,
        sizes: &[1_000, 10_000, 100_000],
        small: &[1_000, 10_000],
        floor: Side::new(floor),
        work: Side::new(work),
    }
}

const HORIZON: u64 = 24 * 60 * 60 * 1_000;

/// Between the deadlines of two steps that follow each other, in milliseconds.
const APART: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deadlines {
    None,
    /// All beyond the horizon, in no order.
    Spread,
}

fn prepare(units: usize, deadlines: Deadlines, side: fn(&Plan) -> Result<Leftover>) -> Preparing {
    Box::pin(async move {
        let plan = wide(units, deadlines)?;
        Ok::<Prepared, _>(Box::pin(async move { side(&plan) }))
    })
}

/// A plan of independent steps with scattered priorities, from 0 to 1: what a deadline may add to them at most.
fn wide(units: usize, deadlines: Deadlines) -> Result<Plan> {
    let steps = u32::try_from(units).context("a plan has fewer steps")?;
    let scattered = |step: u32, prime: u64| u64::from(step).wrapping_mul(prime) % u64::from(steps);
    let draft = (0..steps).map(|step| {
        let priority = f64::from(step.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
        let mut signals = PrioritySignals::new().with_priority(priority);
        if deadlines == Deadlines::Spread {
            signals = signals.with_deadline(HORIZON + APART * (1 + scattered(step, 48_271)));
        }
        StepDraft::new(format!("s{step}")).titled("x").with_signals(signals)
    });
    let policy = PlanPolicy::builder().max_steps(steps).build()?;
    Ok(PlanValidator::new(&policy).validate(PlanDraft::new("wide").with_steps(draft))?)
}

/// What somebody would put into a heap who knows no deadline but that of a tie.
struct Scored {
    score: f64,
    deadline: Reverse<u64>,
    step: Reverse<StepIndex>,
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| (self.deadline, self.step).cmp(&(other.deadline, other.step)))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scored {}

fn floor(plan: &Plan) -> Result<Leftover> {
    let weights = PriorityWeights::new();
    let mut heap = BinaryHeap::new();
    for (step, definition) in plan.indices().zip(plan.steps()) {
        let deadline = definition.signals.deadline_unix_millis.unwrap_or(u64::MAX);
        let score = weights.score(&definition.signals, 0);
        heap.push(Scored { score, deadline: Reverse(deadline), step: Reverse(step) });
    }
    for pick in 0..plan.steps().len() {
        ensure!(black_box(heap.pop()).is_some(), "the heap is empty after {pick} picks");
    }
    Ok(Box::new(heap))
}

fn filled(plan: &Plan) -> Result<ReadyQueue> {
    let mut queue = ReadyQueue::new(plan, Prioritization::default());
    for step in plan.indices() {
        queue.push(plan, step, 0)?;
    }
    Ok(queue)
}

fn taken(mut queue: ReadyQueue, steps: usize, now: impl Fn(u64) -> u64) -> Result<Leftover> {
    for pick in (0_u64..).take(steps) {
        ensure!(black_box(queue.pop(now(pick))).is_some(), "the queue is empty after {pick} picks");
    }
    Ok(Box::new(queue))
}

fn still(plan: &Plan) -> Result<Leftover> {
    taken(filled(plan)?, plan.steps().len(), |_| 0)
}

fn moving(plan: &Plan) -> Result<Leftover> {
    let steps = u64::try_from(plan.steps().len())?;
    let end = HORIZON + APART * steps;
    taken(filled(plan)?, plan.steps().len(), |pick| end / steps * pick)
}

fn across(plan: &Plan) -> Result<Leftover> {
    let steps = u64::try_from(plan.steps().len())?;
    let mut queue = filled(plan)?;
    for border in [APART, HORIZON + APART] {
        for step in 0..=steps {
            black_box(queue.peek(border + APART * step));
        }
    }
    taken(queue, plan.steps().len(), |_| u64::MAX)
}
