use std::{cell::Cell, cmp::Reverse};

use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{PlanDraft, PlanPolicy, PlanValidator, PrioritySignals, PriorityWeights, StepDraft};

use super::*;

thread_local! {
    static COMPARED: Cell<u64> = const { Cell::new(0) };
}

/// Called whenever two entries are compared.
pub(super) fn count_comparison() {
    COMPARED.set(COMPARED.get() + 1);
}

const HORIZON: u64 = 24 * 60 * 60 * 1_000;

/// A plan of independent steps with scattered priorities; the deadline of the i-th is `deadline(i)`.
fn wide(steps: u64, deadline: impl Fn(u64) -> u64) -> Plan {
    let steps = (0..steps).map(|i| {
        let priority = f64::from(u32::try_from(i.wrapping_mul(2_654_435_761) % 1_000).unwrap());
        let signals = PrioritySignals::new().with_priority(priority).with_deadline(deadline(i));
        StepDraft::new(format!("s{i}")).titled("x").with_signals(signals)
    });
    let policy = PlanPolicy::builder().max_steps(1_000_000).build().unwrap();
    PlanValidator::new(&policy).validate(PlanDraft::new("wide").with_steps(steps)).unwrap()
}

fn filled(plan: &Plan) -> ReadyQueue {
    let mut queue = ReadyQueue::new(plan, Prioritization::default());
    for step in plan.indices() {
        queue.push(plan, step, 0).unwrap();
    }
    queue
}

/// Comparisons a step where between two picks time moves on, so that each step crosses both borders before it is taken
/// or is taken on the way.
fn comparisons(steps: u64) -> f64 {
    let plan = wide(steps, |i| HORIZON + 1 + i.wrapping_mul(48_271) % steps * 1_000);
    COMPARED.set(0);
    let mut queue = filled(&plan);
    for pick in 0..steps {
        let now = pick * (HORIZON + steps * 1_000) / steps;
        assert!(queue.pop(now).is_some());
    }
    assert!(queue.is_empty());
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let each = COMPARED.get() as f64 / steps as f64;
    each
}

#[test]
fn a_pick_takes_comparisons_with_the_logarithm_of_the_queue() {
    let (small, large) = (comparisons(500), comparisons(16_000));
    // Five more doublings: at most a constant for each of the five heaps and each doubling.
    assert!(small < 5.0 * 2.0 * 9.0, "{small}");
    assert!(large < 5.0 * 2.0 * 14.0, "{large}");
    assert!(large - small < 5.0 * 2.0 * 5.0, "{small}, {large}");
}

#[test]
fn what_is_out_of_date_does_not_pile_up() {
    let plan = wide(10, |i| HORIZON * (i % 3));
    let mut queue = filled(&plan);
    for round in 0..1_000 {
        for step in plan.indices() {
            queue.push(&plan, step, round).unwrap();
        }
    }
    let heaps = queue.open.before.len() + queue.open.inside.len() + queue.open.overdue.len();
    let moves = queue.open.entering.held() + queue.open.expiring.held();
    assert!(heaps + moves <= 5 * (2 * 10 + 65), "{heaps}, {moves}");
    assert_eq!(queue.len(), 10);
}

#[test]
fn the_largest_numbers_fit() {
    let most = 2_f64.powi(46);
    let weights = PriorityWeights::new()
        .with_deadline(most)
        .and_then(|weights| weights.with_horizon(std::time::Duration::from_millis(1 << 42)))
        .unwrap();
    let signals =
        |priority: f64, deadline| PrioritySignals::new().with_priority(priority).with_deadline(deadline);
    let draft = PlanDraft::new("extremes")
        .with_step(StepDraft::new("low").titled("x").with_signals(signals(-most, u64::MAX)))
        .with_step(
            StepDraft::new("high")
                .titled("x")
                .with_signals(signals(most, fixed::MAX_NOW_MILLIS + (1 << 42) - 1)),
        )
        .with_step(StepDraft::new("late").titled("x").with_signals(signals(-most, 0)));
    let plan = PlanValidator::default().validate(draft).unwrap();
    for now in [0, fixed::MAX_NOW_MILLIS, u64::MAX] {
        let mut queue = ReadyQueue::new(&plan, weights);
        for step in plan.indices() {
            queue.push(&plan, step, now).unwrap();
        }
        let order: Vec<_> =
            std::iter::from_fn(|| queue.pop(now)).map(|step| plan.step(step).unwrap().id.as_str()).collect();
        assert_eq!(order, ["high", "late", "low"], "{now}");
    }
}

#[derive(Clone, Debug)]
enum Act {
    Push(Index),
    Remove(Index),
    PutAside(u32),
    Recall(u32),
    BestOf(u32),
    Wait(u64),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// However steps go aside and come back as time moves, the best of each kind is the one that a look at all finds.
    #[test]
    fn the_best_of_those_aside_is_the_one_that_a_look_at_all_finds(
        steps in vec((-9..9_i32, 0..400_u64), 1..12),
        acts in vec(prop_oneof![
            4 => any::<Index>().prop_map(Act::Push),
            1 => any::<Index>().prop_map(Act::Remove),
            4 => (0..2_u32).prop_map(Act::PutAside),
            2 => (0..2_u32).prop_map(Act::Recall),
            2 => (0..2_u32).prop_map(Act::BestOf),
            4 => (0..60_u64).prop_map(Act::Wait),
        ], 1..80),
    ) {
        const WEIGHT: u64 = 7;
        const HORIZON: u64 = 100;
        let drafts = steps.iter().enumerate().map(|(place, (priority, deadline))| {
            let signals = PrioritySignals::new().with_priority((*priority).into()).with_deadline(*deadline);
            StepDraft::new(format!("s{place}")).titled("x").with_signals(signals)
        });
        let plan = PlanValidator::default().validate(PlanDraft::new("turns").with_steps(drafts)).unwrap();
        let weights = PriorityWeights::new().with_deadline(7.0).unwrap();
        let weights = weights.with_horizon(std::time::Duration::from_millis(HORIZON)).unwrap();
        let mut queue = ReadyQueue::new(&plan, weights);
        let indices: Vec<_> = plan.indices().collect();
        // Where each step is: nowhere, open, or aside.
        let mut whereabouts: Vec<Option<Option<u32>>> = vec![None; steps.len()];
        let mut now = 0_u64;
        for act in acts {
            let best = |whereabouts: &[Option<Option<u32>>], kinds: &[Option<u32>]| {
                let rank = |step: &usize| {
                    let (priority, deadline) = steps[*step];
                    let term = i128::from(WEIGHT * (HORIZON - deadline.saturating_sub(now).min(HORIZON)));
                    (i128::from(priority) * i128::from(HORIZON) + term, Reverse(deadline), Reverse(*step))
                };
                let is_one = |step: &usize| whereabouts[*step].is_some_and(|kind| kinds.contains(&kind));
                (0..steps.len()).filter(is_one).max_by_key(rank)
            };
            match act {
                Act::Push(index) => {
                    let step = index.index(steps.len());
                    queue.push(&plan, indices[step], now).unwrap();
                    whereabouts[step] = Some(None);
                }
                Act::Remove(index) => {
                    let step = index.index(steps.len());
                    prop_assert_eq!(queue.remove(indices[step]), whereabouts[step].take().is_some());
                }
                Act::PutAside(turn) => {
                    let first = best(&whereabouts, &[None]);
                    let taken = queue.take(now);
                    prop_assert_eq!(taken.map(Taken::step), first.map(|step| indices[step]));
                    if let (Some(taken), Some(first)) = (taken, first) {
                        queue.put_aside(taken, turn);
                        whereabouts[first] = Some(Some(turn));
                    }
                }
                Act::Recall(turn) => {
                    let first = best(&whereabouts, &[Some(turn)]);
                    prop_assert_eq!(queue.recall(turn, now), first.map(|step| indices[step]));
                    if let Some(first) = first {
                        whereabouts[first] = Some(None);
                    }
                }
                Act::BestOf(turn) => {
                    let Some(taken) = queue.take(now) else { continue };
                    let first = best(&whereabouts, &[None, Some(turn)]).unwrap();
                    prop_assert_eq!(queue.best_of(taken, turn).step(), indices[first]);
                    whereabouts[first] = None;
                }
                Act::Wait(millis) => now += millis,
            }
            prop_assert_eq!(queue.len(), whereabouts.iter().flatten().count());
        }
    }
}
