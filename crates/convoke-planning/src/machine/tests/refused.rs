//! Revisions that are not taken.

use crate::{
    StepDraft,
    machine::{
        Command, Event, Record, Refusal, StopReason,
        tests::{
            bench::{Bench, step},
            revising::{asked, next, replanning},
        },
    },
};

#[test]
fn what_is_done_or_under_way_cannot_change_and_the_planner_is_told_once() {
    let steps = || {
        [
            step("a"),
            step("done"),
            step("works"),
            step("gated").gated().after("works"),
            step("free").after("a"),
        ]
    };
    let wrong: [(&str, Vec<StepDraft>); 4] = [
        ("step `done` is completed and is gone", vec![step("works"), step("gated").gated().after("works")]),
        ("step `done` is completed and has changed", vec![step("works"), step("done").titled("else")]),
        ("step `works` is running and is gone", vec![step("done")]),
        ("step `gated` has lost its gate", vec![step("done"), step("works"), step("gated").after("works")]),
    ];
    for (reason, wrong) in wrong {
        let mut bench = Bench::new(replanning(1), steps()).begin();
        bench.done("done").fail("a");
        let plan = next(&bench, wrong);
        bench.send(Event::RevisionReady { plan: plan.clone(), executors: Vec::new() });
        let told = |command: &Command| matches!(command, Command::AskPlanner { refused, .. } if refused.as_deref() == Some(reason));
        assert!(bench.last.iter().any(told), "{:?}", bench.last);
        bench.send(Event::RevisionReady { plan, executors: Vec::new() });
        assert_eq!(asked(&bench).len(), 0);
        let Some(Record::RevisionFailed { reason: found, .. }) = bench.records().last().copied() else {
            panic!("{:?}", bench.records().last())
        };
        assert_eq!(*found, format!("revision_conflict: {reason}"));
        bench.done("works");
        assert_eq!(bench.stop, Some(StopReason::Failed));
    }
}

#[test]
fn what_is_no_plan_is_asked_for_once_more_too() {
    let mut bench = Bench::new(replanning(1), [step("a")]).begin();
    let refusal = || Event::RevisionRefused { reason: "it has no steps".into() };
    assert_eq!(bench.try_send(refusal()), Err(Refusal::NoRevision));
    bench.fail("a").send(refusal());
    assert_eq!(asked(&bench), ["a"]);
    bench.send(refusal());
    let failed = Record::RevisionFailed {
        step: "a".try_into().unwrap(),
        reason: "revision_conflict: it has no steps".into(),
    };
    assert!(bench.records().contains(&&failed), "{:?}", bench.records());
    assert_eq!(bench.stop, Some(StopReason::Failed));
}
