//! Everything that may happen to a plan, in any order.

use convoke_core::Metadata;
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{
    Plan, PlanPolicy, PlanValidator, StepDraft, StepIndex,
    machine::{
        Capabilities, Event, Finding, HookDecision, Machine, Question, WorkOutcome,
        phase::Phase,
        tests::{
            bench::{Bench, failure, ms, output, policy},
            properties::Case,
        },
    },
};

/// Another plan: without the step, or with another definition of it, and with a step more.
fn revision(plan: &Plan, step: StepIndex, time: u64) -> Event {
    let mut draft = plan.to_draft();
    if time.is_multiple_of(2) && draft.steps.len() > 1 {
        let gone = draft.steps.remove(step.row()).id;
        for step in &mut draft.steps {
            step.depends_on.retain(|dependency| dependency.step != gone);
        }
    } else {
        draft.steps[step.row()].title.push('x');
    }
    draft.steps.insert(0, StepDraft::new(format!("new-{}", plan.revision())).titled("x"));
    let plan = PlanValidator::default().validate_revision(plan, draft).unwrap();
    let executors = plan.indices().map(|_| Some(Capabilities::new())).collect();
    Event::RevisionReady { plan, executors }
}

/// What is told, about which of the steps, whether about any, and how much later.
pub(super) type Told = (u8, Index, bool, u64);

pub(super) fn told() -> impl Strategy<Value = Vec<Told>> {
    vec((0_u8..14, any::<Index>(), any::<bool>(), 0_u64..9), 0..120)
}

pub(super) fn stormy(case: &Case) -> PlanPolicy {
    policy(|policy| {
        let policy = policy.max_parallel_steps(case.parallel).max_attempts(case.attempts);
        policy.step_timeout(ms(20)).run_timeout(ms(3_000)).grace(ms(5)).continue_after_failure().replanning(9)
    })
}

/// A run that is told all that, looked at after each event, and not told to end.
pub(super) fn storm(case: &Case, told: Vec<Told>, look: &mut dyn FnMut(&Bench)) -> Bench {
    let machine = Machine::new(case.plan(), stormy(case), |_, step| Some(case.capabilities(step)));
    let mut bench = Bench::of(machine.with_reflection().with_hook());
    bench.send(Event::Begin);
    for (kind, index, stray, time) in told {
        if bench.stop.is_some() {
            break;
        }
        bench.pass(time);
        // Some of what is told is about any step, and refused or without effect.
        let fits =
            |step: &StepIndex| stray && time == 0 || fitting(kind).contains(&bench.machine.phase(*step));
        let steps: Vec<_> = bench.machine.plan().indices().filter(fits).collect();
        if steps.is_empty() {
            continue;
        }
        let step = steps[index.index(steps.len())];
        let start = bench.machine.ledger.row(step).start;
        let event = event(&bench, kind, step, time);
        if matches!(event, Event::WorkEnded { .. }) {
            bench.at_work.retain(|_, work| work.start != start);
        }
        let _ = bench.try_send(event);
        // What was taken back or given up is not at work either.
        let machine = &bench.machine;
        bench.at_work.retain(|step, work| {
            machine.ledger.row(*step).start == work.start && machine.phase(*step).is_active()
        });
        look(&bench);
    }
    bench
}

/// The phases in which a step is told so.
fn fitting(kind: u8) -> &'static [Phase] {
    match kind {
        0..=3 => &[Phase::Running, Phase::Stopping, Phase::Detached],
        4 | 5 => &[Phase::Reviewing],
        6..=8 => &[Phase::Hook],
        9 => &[Phase::Approval, Phase::Gate],
        10 => &[Phase::Question],
        11 | 12 => &[Phase::Idle],
        _ => &[Phase::Idle, Phase::Running, Phase::Queued],
    }
}

fn event(bench: &Bench, kind: u8, step: StepIndex, time: u64) -> Event {
    let start = bench.machine.ledger.row(step).start;
    let request = bench.machine.request(step);
    let ended = bench.now.running.saturating_sub(ms(time / 2));
    let work = |outcome| Event::WorkEnded { start, outcome, ended };
    let reviewed = |finding| Event::Reviewed { start, finding };
    let decided = |decision| Event::HookDecided { request, decision };
    match kind {
        0 | 1 => work(WorkOutcome::Completed(output("x"))),
        2 => work(failure()),
        3 => work(WorkOutcome::Asked(Question::new("which?"))),
        4 => reviewed(Finding::Pass),
        5 => reviewed(Finding::Retry("again".into())),
        6 | 7 => decided(HookDecision::Allow),
        8 => decided(HookDecision::RequireApproval),
        9 => Event::Approved { request, metadata: Metadata::new() },
        10 => Event::Answered { start, answer: "this".into() },
        11 if time < 2 => Event::ResetStep { step },
        11 if time < 5 => Event::RevisionFailed { reason: "no idea".into() },
        11 | 12 => revision(bench.machine.plan(), step, time),
        _ => Event::Tick,
    }
}
