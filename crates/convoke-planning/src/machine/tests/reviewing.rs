use crate::{
    StepStatus::*,
    machine::{
        Capabilities, Command, Event, Finding, Machine, StepErrorCode, StopReason,
        tests::bench::{Bench, ms, output, plan, policy, step},
    },
};

fn reviewed(set: crate::PlanPolicy, steps: impl IntoIterator<Item = crate::StepDraft>) -> Bench {
    Bench::of(Machine::new(plan(steps), set, |_, _| Some(Capabilities::new())).with_reflection()).begin()
}

fn is_review(command: &Command) -> bool {
    matches!(command, Command::Review { .. })
}

#[test]
fn dependents_wait_for_the_review_and_places_do_not() {
    let mut bench = reviewed(policy(|policy| policy), [step("a"), step("b").after("a"), step("c")]);
    bench.done("a");
    assert!(bench.last.iter().any(is_review));
    assert_eq!((bench.status("a"), bench.working()), (Running, vec!["c".to_owned()]));
    assert_eq!(bench.machine.outputs().get(bench.at("a")), None);
    bench.find("a", Finding::Pass).done("c");
    assert_eq!((bench.status("a"), bench.working()), (Completed, vec!["b".to_owned()]));
}

#[test]
fn a_kill_between_the_end_and_the_review_leads_to_the_review() {
    let set = || policy(|policy| policy);
    let mut bench = reviewed(set(), [step("a"), step("b").after("a")]);
    bench.done("a");
    let mut again = bench.again_as(set(), bench.journal.len(), Machine::with_reflection).resume();
    assert_eq!((again.order().len(), again.last.iter().filter(|command| is_review(command)).count()), (0, 1));
    again.find("a", Finding::Pass);
    assert_eq!(again.working(), ["b"]);
    assert_eq!(again.machine.outputs().get(again.at("a")), Some(&output("a")));
    // Without a reflector any more, what is done is done.
    assert_eq!(bench.again(set()).resume().working(), ["b"]);
}

#[test]
fn a_rejected_output_is_tried_again_under_another_key_with_the_note() {
    let mut bench = reviewed(policy(|policy| policy.max_attempts(3)), [step("a")]);
    bench.done("a").find("a", Finding::Retry("too long".into()));
    let (first, second) = (bench.starts[0].clone(), bench.starts[1].clone());
    assert_eq!((first.key.as_str(), second.key.as_str()), ("plan/a/0", "plan/a/1"));
    assert_eq!((second.attempt, second.note.as_deref()), (2, Some("too long")));
    // The note is of the attempt after it alone.
    bench.fail("a");
    assert_eq!((bench.starts[2].note.clone(), bench.starts[2].attempt), (None, 3));
    bench.done("a").find("a", Finding::Retry("no".into()));
    assert_eq!((bench.status("a"), bench.code("a")), (Failed, Some(StepErrorCode::Rejected)));
}

#[test]
fn a_finding_may_replace_the_text_or_block_the_step() {
    let mut bench = reviewed(policy(|policy| policy), [step("a")]);
    bench.done("a").find("a", Finding::Revise("better".into()));
    let again = bench.again(policy(|policy| policy));
    for bench in [&bench, &again] {
        assert_eq!(bench.machine.finding(bench.at("a")), Some(&Finding::Revise("better".into())));
    }
    assert_eq!(bench.machine.outputs().get(bench.at("a")), Some(&output("better")));

    let mut bench = reviewed(policy(|policy| policy), [step("a")]);
    bench.done("a").find("a", Finding::Block("no".into()));
    assert_eq!(
        (bench.status("a"), bench.code("a"), bench.stop),
        (Blocked, Some(StepErrorCode::Rejected), Some(StopReason::Blocked))
    );
}

#[test]
fn a_finding_of_an_earlier_output_is_not_taken_for_one_of_this() {
    let mut bench = reviewed(policy(|policy| policy.max_attempts(2)), [step("a")]);
    let start = bench.starts[0].start;
    bench.done("a").find("a", Finding::Retry("again".into())).done("a");
    bench.send(Event::Reviewed { start, finding: Finding::Pass });
    assert_eq!(bench.status("a"), Running);
}

#[test]
fn a_cancel_waits_for_a_review_no_longer_than_the_grace() {
    let mut bench = reviewed(policy(|policy| policy.grace(ms(5))), [step("a")]);
    bench.done("a").send(Event::Cancel);
    assert_eq!(bench.stop, None);
    bench.wait(5);
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::Cancelled), Running));
    let again =
        bench.again_as(policy(|policy| policy), bench.journal.len(), Machine::with_reflection).resume();
    assert!(again.last.iter().any(is_review));
}
