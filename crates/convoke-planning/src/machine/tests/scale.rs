//! What it costs, counted.

use crate::{
    Plan, PlanPolicy, StepDraft, StepIndex, StepStatus,
    machine::{
        Capabilities, Command, Event, Machine, Moment, StopReason, WorkOutcome,
        ledger::Row,
        tests::bench::{Bench, ms, output, plan, policy, step},
    },
};

fn chain(steps: usize) -> Vec<StepDraft> {
    let of = |n: usize| if n == 0 { step("s0") } else { step(format!("s{n}")).after(format!("s{}", n - 1)) };
    (0..steps).map(of).collect()
}

fn wide(steps: usize) -> Vec<StepDraft> {
    (0..steps).map(|n| step(format!("s{n}"))).collect()
}

/// Layers of ten, each step after two of the layer before.
fn layered(steps: usize) -> Vec<StepDraft> {
    let of = |n: usize| {
        let step = step(format!("s{n}"));
        if n < 10 { step } else { step.after(format!("s{}", n - 10)).after(format!("s{}", n - 1 - n % 10)) }
    };
    (0..steps).map(of).collect()
}

struct Cost {
    work: u64,
    commands: u64,
    bytes: usize,
    timers: usize,
}

/// Runs to the end; `fails` fails each step, else each is completed.
fn run(plan: Plan, capabilities: &Capabilities, fails: impl Fn(StepIndex) -> bool) -> (Machine, Cost) {
    let policy = PlanPolicy::builder()
        .max_parallel_steps(8)
        .continue_after_failure()
        .step_timeout(std::time::Duration::from_hours(1))
        .build()
        .unwrap();
    let mut machine = Machine::new(plan, policy, |_, _| Some(capabilities.clone()));
    let mut cost = Cost { work: 0, commands: 0, bytes: 0, timers: 0 };
    let (mut out, mut sequence) = (Vec::new(), 0);
    let result = output("x");
    let mut events = std::collections::VecDeque::from([Event::Begin]);
    while let Some(event) = events.pop_front() {
        machine.handle(Moment::default(), event, &mut out).unwrap();
        cost.timers = cost.timers.max(machine.timers.len());
        for command in out.drain(..) {
            cost.commands += 1;
            match command {
                Command::Persist(entry) => {
                    sequence = entry.sequence;
                    cost.bytes += entry.to_json().unwrap().len();
                }
                Command::Flush => events.push_back(Event::Persisted { sequence }),
                Command::Start(start) => {
                    let outcome = if fails(start.step) {
                        super::bench::failure()
                    } else {
                        WorkOutcome::Completed(result.clone())
                    };
                    let start = start.start;
                    events.push_back(Event::WorkEnded { start, outcome, ended: std::time::Duration::ZERO });
                }
                Command::Finish(_) => {
                    cost.work = machine.work;
                    return (machine, cost);
                }
                _ => {}
            }
        }
    }
    panic!("the run did not end");
}

#[test]
fn cost_grows_with_the_plan_and_no_faster() {
    for shape in [chain, wide, layered] {
        for serial in [false, true] {
            let capabilities = if serial { Capabilities::new().serial("press") } else { Capabilities::new() };
            let cost = |steps: usize| {
                let (machine, cost) = run(plan(shape(steps)), &capabilities, |_| false);
                assert_eq!(machine.stop(), Some(StopReason::Completed));
                cost
            };
            let (small, large) = (cost(1_000), cost(10_000));
            for (what, small, large) in [
                ("work", small.work, large.work),
                ("commands", small.commands, large.commands),
                ("bytes", small.bytes as u64, large.bytes as u64),
            ] {
                // Numbers have more digits, and nothing else is more.
                assert!(large <= small * 11, "{what}: {small} for 1,000 steps and {large} for 10,000");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_steps_run_on_a_small_stack() {
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(|| {
            for shape in [chain, wide, layered] {
                let (machine, cost) = run(plan(shape(100_000)), &Capabilities::new(), |_| false);
                assert_eq!(machine.count_of(StepStatus::Completed), 100_000);
                assert!(cost.work <= 600_000, "{}", cost.work);
                assert!(cost.commands <= 900_000, "{}", cost.commands);
                assert!((1..=8).contains(&cost.timers), "{}", cost.timers);
            }
            // What follows from the first failure is the whole plan.
            let (machine, _) = run(plan(chain(100_000)), &Capabilities::new(), |_| true);
            assert_eq!(machine.count_of(StepStatus::Skipped), 99_999);
            let last = machine.plan().indices().next_back().unwrap();
            assert_eq!(machine.skip_causes(last).len(), 1);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn timers_of_what_has_ended_go_though_an_earlier_one_stays() {
    let set = policy(|policy| policy.max_parallel_steps(2).step_timeout(ms(3_600_000)));
    let mut bench = Bench::new(set, wide(1_000)).begin();
    for n in 1..1_000 {
        bench.pass(1).done(&format!("s{n}"));
        assert!(bench.machine.timers.len() <= 70, "{} at {n}", bench.machine.timers.len());
    }
}

#[test]
fn a_step_takes_few_bytes() {
    // Row, output, phase, executor, and what readiness and queue keep.
    let row = size_of::<Row>();
    let output = 32;
    let phase = size_of::<(crate::machine::Phase, Option<std::time::Duration>)>();
    let executor = size_of::<Option<crate::machine::serial::Executor>>();
    let sum = row + output + phase + executor + 12 + 8;
    assert!(sum <= 200, "{sum}: row {row}, phase {phase}, executor {executor}");
}
