//! Forks begin where another plan stands.

use std::sync::Arc;

use convoke_core::TaskOutput;
use proptest::{prelude::*, sample::Index};

use crate::{
    PlanPolicyBuilder,
    StepStatus::*,
    machine::{
        Event, Finding, Machine, StopReason, WorkOutcome,
        ledger::Mark,
        tests::{
            bench::{Bench, ms, policy, step},
            properties::{case, config, standing},
            snapshots::{drive, lively, restored, rich, through_json},
            storms::{storm, stormy, told},
        },
    },
};

proptest! {
    #![proptest_config(config(256))]

    /// A fork at any record comes to the end of the run that it left, under keys of its own, and repeats nothing that ended.
    #[test]
    fn a_fork_comes_to_the_same_end(case in case(), cut in any::<Index>(), turn in 0_usize..24) {
        let mut case = case;
        case.continues = true;
        let mut whole = Bench::of(case.machine());
        case.run(&mut whole, 0, &mut |_| {});
        let at = case.again(&whole.journal[..cut.index(whole.journal.len() + 1)]).machine;
        let (snapshot, anew) = at.snapshot().forked("fork".parse().unwrap());
        let running = at.plan().indices().filter(|step| at.status(*step) == Running);
        prop_assert_eq!(anew, running.map(|step| at.plan().step(step).unwrap().id.clone()).collect::<Vec<_>>());
        let machine = Machine::restore(&through_json(&snapshot), case.policy(), [], |_, step| {
            Some(case.capabilities(step))
        });
        let mut fork = Bench::of(case.set(machine.unwrap()));
        case.run(&mut fork, turn, &mut |_| {});
        prop_assert_eq!(standing(&fork), standing(&whole));
        for start in &fork.starts {
            prop_assert!(start.key.starts_with("fork/"), "{:?}", start);
            prop_assert!(!at.status(start.step).is_terminal(), "{:?}", start);
        }
        prop_assert_eq!(fork.starts.len() as u64, fork.machine.starts());
    }

    /// A fork of a run that was told anything has nothing of what belongs to that run, and runs to its end.
    #[test]
    fn a_fork_takes_over_what_has_ended_and_no_more(case in case(), told in told()) {
        let bench = storm(&case, told, &mut |_| {});
        let at = &bench.machine;
        let (snapshot, anew) = at.snapshot().forked("fork".parse().unwrap());
        let mut fork = restored(&through_json(&snapshot), stormy(&case));
        prop_assert_eq!(fork.machine.snapshot(), snapshot);
        for step in at.plan().indices() {
            let (before, after) = (at.ledger.row(step), fork.machine.ledger.row(step));
            let had_question = at.ledger.notes(step).is_some_and(|notes| notes.question.is_some());
            let begins_anew = at.status(step) == Running || before.mark == Mark::Detached || had_question;
            prop_assert_eq!(anew.contains(&at.plan().step(step).unwrap().id), begins_anew);
            if begins_anew {
                prop_assert_eq!((fork.machine.status(step), after.generation), (Pending, before.generation + 1));
            } else if at.status(step) != Skipped {
                prop_assert_eq!(fork.machine.status(step), at.status(step));
                prop_assert_eq!((&after.error, after.attempts), (&before.error, before.attempts));
            }
            prop_assert_eq!((after.start, after.mark, after.gated), (0, Mark::None, before.gated));
            prop_assert_eq!(fork.machine.outputs().get(step), at.outputs().get(step));
            prop_assert_eq!(fork.machine.approval(step), None);
            prop_assert_eq!(fork.machine.finding(step), at.finding(step));
        }
        prop_assert_eq!(fork.machine.pending().count(), 0);
        fork.send(Event::Resume { retry_failed: false, still_running: Vec::new() });
        drive(&mut fork);
    }
}

#[test]
fn a_fork_lists_what_begins_anew() {
    let bench = rich();
    let (snapshot, anew) = bench.machine.snapshot().forked("fork".parse().unwrap());
    let anew: Vec<_> = anew.iter().map(convoke_core::StepId::as_str).collect();
    assert_eq!(
        anew,
        [
            "retried",
            "worked",
            "running",
            "unknown",
            "given-up",
            "end-of-given-up",
            "asks",
            "answered",
            "rejected"
        ]
    );
    let fork = restored(&through_json(&snapshot), lively());
    assert_eq!((snapshot.sequence(), fork.machine.starts()), (0, 0));
    assert_eq!((snapshot.plan().id().as_str(), snapshot.plan().revision()), ("fork", 0));
    // What was skipped because of work that was given up waits for it again; what failed stays so.
    assert_eq!(bench.status("lost"), Skipped);
    assert_eq!(
        ["lost", "skipped", "failed", "blocked"].map(|id| fork.status(id)),
        [Pending, Skipped, Failed, Blocked]
    );
    assert_eq!(fork.machine.key(fork.at("running")), "fork/running/1");
    let text = |id: &str| fork.machine.outputs().get(fork.at(id)).map(|output| output.text.clone());
    assert_eq!([text("done"), text("revised")], [Some("done".into()), Some("better".into())]);
    assert_eq!(fork.machine.finding(fork.at("revised")), Some(&Finding::Revise("better".into())));
    // The gate is asked anew, and so is what was approved in the other plan.
    assert_eq!(fork.machine.pending().count(), 0);
    let mut fork = fork.resume();
    assert_eq!(fork.gates().len(), 1);
    let running = fork.starts.iter().find(|start| start.step == fork.at("rejected")).unwrap();
    assert_eq!((running.note.as_deref(), running.attempt), (Some("shorter"), 2));
    assert!(fork.starts.iter().all(|start| start.answer.is_none()));
    drive(&mut fork);
    assert_eq!(fork.stop, Some(StopReason::Failed));
}

#[test]
fn a_fork_sees_outputs_that_the_other_plan_published() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a"), step("b").input_from("a")]).begin();
    bench.end("a", WorkOutcome::Completed(Arc::new(TaskOutput::text("x"))));
    let (snapshot, _) = bench.machine.snapshot().forked("fork".parse().unwrap());
    let fork = restored(&snapshot, policy(|policy| policy)).resume();
    let seen = fork.machine.outputs().as_of(fork.starts[0].sequence);
    assert!(seen.get(fork.at("a")).is_some());
}

#[test]
fn a_fork_has_its_limits_for_itself() {
    let set = || {
        policy(|policy| policy.continue_after_failure().max_step_runs(2).run_timeout(ms(100)).replanning(1))
    };
    let mut bench = Bench::new(set(), [step("a"), step("b"), step("c")]).begin();
    bench.pass(90).done("a").fail("b");
    assert!(bench.machine.is_revising());
    let (snapshot, _) = bench.machine.snapshot().forked("fork".parse().unwrap());
    let mut fork = restored(&snapshot, set()).resume();
    // What a planner was being asked about is offered anew.
    assert!(fork.machine.is_revising());
    fork.send(Event::RevisionFailed { reason: "no idea".into() });
    assert_eq!((fork.working(), fork.starts[0].deadline), (vec!["c".to_owned()], Some(ms(100))));
    fork.done("c");
    assert_eq!(fork.stop, Some(StopReason::Failed));
    // That it was asked once is known to the fork as well.
    let (snapshot, _) = fork.machine.snapshot().forked("third".parse().unwrap());
    let third = restored(&snapshot, set()).resume();
    assert_eq!((third.stop, third.order().len()), (Some(StopReason::Failed), 0));
}

#[test]
fn a_fork_of_a_plan_that_never_ran_begins() {
    let bench = Bench::new(policy(PlanPolicyBuilder::continue_after_failure), [step("a")]);
    let (snapshot, anew) = bench.machine.snapshot().forked("fork".parse().unwrap());
    assert_eq!(anew, []);
    assert_eq!(restored(&through_json(&snapshot), policy(|policy| policy)).begin().working(), ["a"]);
}
