//! Whatever is read as the records of a plan gives a machine or an error, and what such a machine records is read too.
//!
//! The input is text: a record in each line, and in the first one the plan, where it is another than the one here; or the
//! texts of a snapshot, a line each.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use convoke_core::{Metadata, TaskOutput};
use convoke_planning::{
    Plan, PlanCodec, PlanDraft, PlanPolicy, PlanValidator, StepDraft, StepIndex,
    machine::{
        Capabilities, Command, Effects, Entry, Event, Finding, HookDecision, Machine, Moment, Question,
        ReplayError, Snapshot, StepError, StepErrorCode, WorkOutcome,
    },
};

/// Whether all of it are the records of one plan.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let mut choices =
        Choices(bytes.iter().fold(1, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(FACTOR)));
    if restore(text, choices) {
        return true;
    }
    let first = text.lines().next().and_then(|line| PlanCodec::default().decode(line).ok());
    let has_plan = first.is_some();
    let plan = first.unwrap_or_else(usual);
    let mut journal = Vec::new();
    for line in text.lines().skip(usize::from(has_plan)) {
        let Ok(entry) = Entry::from_json(line) else { return false };
        let written = entry.to_json().expect("what was read can be written");
        assert_eq!(Entry::from_json(&written).expect("what was written can be read"), entry);
        journal.push(entry);
    }
    let set = choices;
    let Ok(mut machine) = replay(&plan, &journal, set) else { return false };
    let read = journal.len();
    for _ in 0..3 {
        machine = resume(machine, &mut journal, &mut choices);
        let again = replay(&plan, &journal, set).expect("what a machine records is replayed");
        assert_eq!(again.snapshot(), machine.snapshot(), "replayed, it is another machine");
        keep(&machine);
        // The next time it is taken up where its process was killed on the way.
        journal.truncate(choices.between(read, journal.len()));
        machine = replay(&plan, &journal, set).expect("what a machine has recorded so far is replayed");
    }
    true
}

/// Odd, with bits everywhere.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// What the policy is and what is answered, drawn from the input.
#[derive(Clone, Copy)]
struct Choices(u64);

impl Choices {
    fn next(&mut self, of: u64) -> u64 {
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1);
        (self.0 >> 32) % of
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + usize::try_from(self.next(most.abs_diff(least) as u64 + 1)).unwrap()
    }
}

/// A plan with a bit of everything.
fn usual() -> Plan {
    let draft = PlanDraft::new("g")
        .with_id("p")
        .with_step(StepDraft::new("a").titled("x"))
        .with_step(StepDraft::new("b").titled("x").input_from("a").gated())
        .with_step(StepDraft::new("c").titled("x").after_end_of("a"))
        .with_step(StepDraft::new("d").titled("x").after("b").after("c"));
    PlanValidator::default().validate(draft).unwrap()
}

/// A machine is what its snapshot makes of it.
fn keep(machine: &Machine) {
    let snapshot = machine.snapshot();
    let texts = snapshot.to_json().expect("what is of records can be written");
    let read = Snapshot::from_json(&texts).expect("what was written can be read");
    let policy = PlanPolicy::default();
    let again = Machine::restore(&read, policy, [], |_, _| None).expect("a machine left it");
    assert_eq!(again.snapshot(), snapshot, "restored, it is another machine");
}

/// Whatever is read as a snapshot gives a machine that ends its run, or an error.
fn restore(text: &str, mut choices: Choices) -> bool {
    let Ok(snapshot) = Snapshot::from_json(text.lines()) else { return false };
    let policy = PlanPolicy::default();
    let capabilities = |_: &Plan, _| Some(Capabilities::new());
    let Ok(machine) = Machine::restore(&snapshot, policy.clone(), [], capabilities) else { return false };
    keep(&machine);
    let mut journal = Vec::new();
    let machine = resume(machine, &mut journal, &mut choices);
    let again = Machine::restore(&snapshot, policy, journal, capabilities).expect("a machine recorded it");
    assert_eq!(again.snapshot(), machine.snapshot(), "restored, it is another machine");
    true
}

fn replay(plan: &Plan, journal: &[Entry], mut choices: Choices) -> Result<Machine, ReplayError> {
    let mut policy = PlanPolicy::builder().max_attempts(2).run_timeout(Duration::from_mins(1)).replanning(1);
    if choices.next(2) == 0 {
        policy = policy.continue_after_failure();
    }
    if choices.next(2) == 0 {
        policy = policy.reset_detached_on_resume();
    }
    let policy = policy.build().unwrap();
    let capabilities = |_: &Plan, step: StepIndex| {
        let capabilities = Capabilities::new().cooperative().serial("one");
        Some(if step.get() == 2 { capabilities.with_effects(Effects::SideEffect) } else { capabilities })
    };
    let machine = Machine::replay(plan.clone(), policy, journal.iter().cloned(), capabilities)?;
    Ok(if choices.next(2) == 0 { machine } else { machine.with_hook().with_reflection() })
}

/// Drives a machine until it is done.
fn resume(mut machine: Machine, journal: &mut Vec<Entry>, choices: &mut Choices) -> Machine {
    let mut events = VecDeque::from([Event::Resume { retry_failed: true, still_running: vec![] }]);
    let (mut now, mut wake, mut commands) = (Moment::default(), None, Vec::new());
    let steps = machine.plan().steps().len();
    for _ in 0..64 * (steps + 1) {
        let event = events.pop_front().unwrap_or_else(|| {
            now.running = wake.take().expect("a machine that waits for nothing is done");
            Event::Tick
        });
        // A refusal is no fault of whoever answers.
        _ = machine.handle(now, event, &mut commands);
        for command in commands.drain(..) {
            match command {
                Command::Persist(entry) => journal.push(entry),
                Command::Flush => {
                    let sequence = journal.last().map_or(0, |entry| entry.sequence);
                    events.push_back(Event::Persisted { sequence });
                }
                Command::Start(start) => {
                    let text = machine.input(start.step).text;
                    let error = || StepError::new(StepErrorCode::ExecutionFailed, "no");
                    let outcome = match choices.next(12) {
                        0 => WorkOutcome::Failed(error()),
                        1 => WorkOutcome::Blocked { error: error(), retryable: choices.next(2) == 0 },
                        2 => WorkOutcome::Cancelled,
                        3 => WorkOutcome::TimedOut { detached: choices.next(2) == 0 },
                        4 => WorkOutcome::Asked(Question::new("?")),
                        _ => WorkOutcome::Completed(Arc::new(TaskOutput::text(text))),
                    };
                    events.push_back(Event::WorkEnded { start: start.start, outcome, ended: now.running });
                }
                Command::AskHook { request, .. } => {
                    let decision = match choices.next(8) {
                        0 => HookDecision::Deny { reason: "no".into() },
                        1 => HookDecision::RequireApproval,
                        _ => HookDecision::Allow,
                    };
                    events.push_back(Event::HookDecided { request, decision });
                }
                Command::AskApproval { request, .. } => {
                    events.push_back(match choices.next(8) {
                        0 => Event::Denied { request, reason: "no".into() },
                        1 => Event::Deferred { request },
                        _ => Event::Approved { request, metadata: Metadata::new() },
                    });
                }
                Command::Review { start, .. } => {
                    let finding = match choices.next(8) {
                        0 => Finding::Revise("better".into()),
                        1 => Finding::Retry("no".into()),
                        2 => Finding::Replan("no".into()),
                        3 => Finding::Block("no".into()),
                        _ => Finding::Pass,
                    };
                    events.push_back(Event::Reviewed { start, finding });
                }
                Command::AskPlanner { .. } => {
                    events.push_back(Event::RevisionFailed { reason: "no".into() });
                }
                Command::WakeAt(at) => wake = at,
                Command::Finish(stop) => {
                    assert_eq!(machine.stop(), Some(stop));
                    return machine;
                }
                _ => {}
            }
        }
    }
    panic!("the run does not end: {machine:?}")
}
