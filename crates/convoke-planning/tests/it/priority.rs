use std::{cmp::Reverse, time::Duration};

use proptest::{collection::vec, option, prelude::*};

use convoke_planning::{
    Plan, PlanStep, Prioritization, PrioritySignals, PriorityWeights, ReadyQueue, StepDraft, StepIndex,
};

use crate::fixtures::{at, id, plan, step};

const HOUR: u64 = 60 * 60 * 1_000;

fn signals() -> PrioritySignals {
    PrioritySignals::new()
}

fn queue(plan: &Plan, prioritization: impl Into<Prioritization>, now: u64) -> ReadyQueue {
    let mut queue = ReadyQueue::new(plan, prioritization);
    for step in plan.indices() {
        queue.push(plan, step, now).unwrap();
    }
    queue
}

fn order<'p>(plan: &'p Plan, queue: &mut ReadyQueue, now: u64) -> Vec<&'p str> {
    std::iter::from_fn(|| queue.pop(now)).map(|step| id(plan, step)).collect()
}

#[test]
fn the_important_step_is_first_then_the_earlier_deadline_then_plan_order() {
    let plan = plan([
        step("cheap"),
        step("late").with_signals(signals().with_deadline(90 * HOUR)),
        step("soon").with_signals(signals().with_deadline(80 * HOUR)),
        step("important").with_signals(signals().with_priority(5.0)),
        step("dear").with_signals(signals().with_priority(5.0).with_estimated_cost(4.0)),
        step("cheap too"),
    ]);
    let all = order(&plan, &mut queue(&plan, Prioritization::default(), 0), 0);
    assert_eq!(all, ["important", "dear", "soon", "late", "cheap", "cheap too"]);
    let as_written = order(&plan, &mut queue(&plan, Prioritization::PlanOrder, 0), 0);
    assert_eq!(as_written, ["cheap", "late", "soon", "important", "dear", "cheap too"]);
}

#[test]
fn a_score_rises_within_the_horizon_and_stands_from_the_deadline_on() {
    let weights = PriorityWeights::new().with_deadline(10.0).unwrap();
    let near = signals().with_deadline(100 * HOUR);
    for (hour, score) in [(0, 0.0), (76, 0.0), (82, 2.5), (94, 7.5), (100, 10.0), (1_000, 10.0)] {
        assert!((weights.score(&near, hour * HOUR) - score).abs() < 1e-9, "{hour}");
    }
    let plan = plan([
        step("near").with_signals(near),
        step("worth 5").with_signals(signals().with_expected_value(5.0)),
    ]);
    for (hour, first) in [(0, "worth 5"), (87, "worth 5"), (89, "near"), (200, "near")] {
        assert_eq!(
            queue(&plan, weights, 0).peek(hour * HOUR).map(|step| id(&plan, step)),
            Some(first),
            "{hour}"
        );
    }
    // At hour 88 both have 5; the one with a deadline is first.
    assert_eq!(queue(&plan, weights, 0).pop(88 * HOUR), plan.index_of("near"));
}

#[test]
fn sums_that_are_equal_on_paper_are_equal() {
    let plan = plan([
        step("three").with_signals(signals().with_priority(0.3)),
        step("one and two").with_signals(signals().with_priority(0.1).with_urgency(0.2)),
    ]);
    assert_eq!(order(&plan, &mut queue(&plan, Prioritization::default(), 0), 0), ["three", "one and two"]);
}

#[test]
fn a_score_that_orders_nothing_is_an_error_that_names_the_step() {
    let plan = plan([step("a"), step("b")]);
    for (score, told) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf"), (1e14, "100000000000000")] {
        let scorer = move |_: &Plan, step: &PlanStep| if step.id.as_str() == "b" { score } else { 1.0 };
        let mut queue = ReadyQueue::new(&plan, Prioritization::default()).with_scorer(scorer);
        assert_eq!(queue.push(&plan, at(&plan, "a"), 0), Ok(()));
        let error = queue.push(&plan, at(&plan, "b"), 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("score of step `b` is {told}; give a number from -2^46 to 2^46")
        );
        assert_eq!(error.step().as_str(), "b");
        assert_eq!(order(&plan, &mut queue, 0), ["a"]);
    }
}

#[test]
fn a_scorer_of_ones_own_is_asked_for_all_but_the_deadline() {
    let plan = plan([
        step("a").with_signals(signals().with_priority(9.0)),
        step("b"),
        step("c").with_signals(signals().with_deadline(0)),
    ]);
    let by_name = |_: &Plan, step: &PlanStep| f64::from(step.id.as_str().as_bytes()[0]) / 2.0;
    let mut queue = ReadyQueue::new(&plan, Prioritization::default()).with_scorer(by_name);
    for step in plan.indices() {
        queue.push(&plan, step, 0).unwrap();
    }
    assert_eq!(order(&plan, &mut queue, 0), ["c", "b", "a"]);

    let mut as_written =
        ReadyQueue::new(&plan, Prioritization::PlanOrder).with_scorer(|_: &Plan, _: &PlanStep| f64::NAN);
    assert_eq!(as_written.push(&plan, at(&plan, "a"), 0), Ok(()));
}

#[test]
fn time_does_not_go_back() {
    let plan = plan([
        step("a").with_signals(signals().with_expected_value(0.5)),
        step("b").with_signals(signals().with_deadline(HOUR)),
    ]);
    let mut queue = queue(&plan, Prioritization::default(), 0);
    assert_eq!(queue.peek(2 * HOUR), plan.index_of("b"));
    assert_eq!(queue.peek(0), plan.index_of("b"));
    queue.restart(&plan);
    assert!(queue.is_empty());
    // Were it hour 0 again, `c` would have a score of 0.96 and `b` one of 0.
    let later = crate::fixtures::plan([
        step("b").with_signals(signals().with_deadline(HOUR)),
        step("c").with_signals(signals().with_expected_value(0.96)),
    ]);
    queue.restart(&later);
    queue.push(&later, at(&later, "c"), 0).unwrap();
    queue.push(&later, at(&later, "b"), 0).unwrap();
    assert_eq!(queue.pop(0), later.index_of("b"));
}

#[test]
fn a_step_is_queued_once_and_taken_out_once() {
    let plan = plan([step("a"), step("b")]);
    let mut queue = queue(&plan, Prioritization::default(), 0);
    queue.push(&plan, at(&plan, "a"), 0).unwrap();
    assert_eq!((queue.len(), queue.contains(at(&plan, "a"))), (2, true));
    assert!(queue.remove(at(&plan, "a")));
    assert!(!queue.remove(at(&plan, "a")));
    assert_eq!(order(&plan, &mut queue, 0), ["b"]);
    assert!(queue.is_empty());
}

#[derive(Clone, Debug)]
enum Act {
    Push(usize),
    Remove(usize),
    Pop,
    Wait(i64),
}

/// What a step is ordered by, in eighths of a score times the horizon: exact in integers.
type Rank = (i128, Reverse<u64>, Reverse<usize>);

/// The rule, looked up anew for each step at each moment.
fn rank(step: usize, (eighths, deadline): (i32, Option<u64>), weight: i128, horizon: u64, now: u64) -> Rank {
    let term = match deadline {
        Some(deadline) if deadline <= now => weight * i128::from(horizon),
        Some(deadline) if deadline - now < horizon => weight * i128::from(horizon - (deadline - now)),
        _ => 0,
    };
    (
        i128::from(eighths) * i128::from(horizon) + 8 * term,
        Reverse(deadline.unwrap_or(u64::MAX)),
        Reverse(step),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// Whatever is queued, removed and taken, and however time moves, the first step is the one that a look at all of them
    /// finds.
    #[test]
    fn the_first_step_is_the_one_that_a_look_at_all_finds(
        steps in vec((-40..40_i32, option::weighted(0.8, 0..400_u64)), 1..12),
        weight in 0..8_u32,
        horizon in 1..120_u64,
        acts in vec(prop_oneof![
            4 => (0..12_usize).prop_map(Act::Push),
            1 => (0..12_usize).prop_map(Act::Remove),
            3 => Just(Act::Pop),
            4 => (-20..60_i64).prop_map(Act::Wait),
        ], 1..80),
    ) {
        let drafts = steps.iter().enumerate().map(|(place, (eighths, deadline))| {
            let mut signals = signals().with_priority(f64::from(*eighths) / 8.0);
            signals.deadline_unix_millis = *deadline;
            StepDraft::new(format!("s{place}")).titled("x").with_signals(signals)
        });
        let plan = plan(drafts);
        let weights = PriorityWeights::new().with_deadline(f64::from(weight)).unwrap();
        let mut queue = ReadyQueue::new(&plan, weights.with_horizon(Duration::from_millis(horizon)).unwrap());
        let indices: Vec<StepIndex> = plan.indices().collect();
        let mut queued = vec![false; steps.len()];
        let (mut clock, mut latest) = (0_u64, 0_u64);

        for act in acts {
            match act {
                Act::Push(step) if step < steps.len() => {
                    queue.push(&plan, indices[step], clock).unwrap();
                    latest = latest.max(clock);
                    queued[step] = true;
                }
                Act::Remove(step) if step < steps.len() => {
                    prop_assert_eq!(queue.remove(indices[step]), queued[step]);
                    queued[step] = false;
                }
                Act::Push(_) | Act::Remove(_) => {}
                Act::Wait(millis) => clock = clock.saturating_add_signed(millis),
                Act::Pop => {
                    let first = queue.pop(clock);
                    latest = latest.max(clock);
                    let expected = (0..steps.len())
                        .filter(|step| queued[*step])
                        .max_by_key(|step| rank(*step, steps[*step], weight.into(), horizon, latest));
                    prop_assert_eq!(first, expected.map(|step| indices[step]), "at {}", latest);
                    if let Some(step) = expected {
                        queued[step] = false;
                    }
                }
            }
            prop_assert_eq!(queue.len(), queued.iter().filter(|queued| **queued).count());
        }
    }
}
