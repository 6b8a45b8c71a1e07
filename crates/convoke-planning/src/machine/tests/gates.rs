use convoke_core::{Metadata, ResumeToken};

use crate::{
    PlanPolicyBuilder,
    StepStatus::*,
    machine::{
        Capabilities, Command, Event, HookDecision, Machine, Pending as Waiting, PendingKind, Question,
        Refusal, RequestId, StepErrorCode, StopReason, WorkOutcome,
        tests::bench::{Bench, plan, policy, step},
    },
};

fn hooked(steps: impl IntoIterator<Item = crate::StepDraft>, policy: crate::PlanPolicy) -> Bench {
    Bench::of(Machine::new(plan(steps), policy, |_, _| Some(Capabilities::new())).with_hook())
}

/// The requests that the hook was asked.
fn asked(bench: &Bench) -> Vec<RequestId> {
    let request = |command: &Command| match command {
        Command::AskHook { request, .. } => Some(*request),
        _ => None,
    };
    bench.last.iter().filter_map(request).collect()
}

fn approval_asked(bench: &Bench) -> Vec<RequestId> {
    let request = |command: &Command| match command {
        Command::AskApproval { request, .. } => Some(*request),
        _ => None,
    };
    bench.last.iter().filter_map(request).collect()
}

#[test]
fn a_gated_step_waits_for_its_approval_here_or_in_another_process() {
    let steps = || [step("a").gated()];
    let closed = || {
        let mut bench = Bench::new(policy(|policy| policy), steps()).begin();
        let [request] = approval_asked(&bench)[..] else { panic!("{:?}", bench.last) };
        assert_eq!(bench.stop, None, "the provider is asked");
        bench.send(Event::Deferred { request });
        assert_eq!(
            (bench.stop, bench.machine.attempts(bench.at("a"))),
            (Some(StopReason::ApprovalRequired), 0)
        );
        bench
    };
    // Approved at rest, then resumed.
    let bench = closed();
    let [(_, request)] = bench.gates()[..] else { panic!("no gate") };
    let mut bench = bench.again(policy(|policy| policy));
    assert_eq!(bench.gates(), [("a".to_owned(), request)]);
    bench.approve(request).unwrap();
    assert_eq!((bench.gates(), bench.order().len()), (vec![], 0));
    let mut bench = bench.again(policy(|policy| policy)).resume();
    bench.done("a");
    assert_eq!(bench.stop, Some(StopReason::Completed));

    // Approved while the run goes on; the provider's word comes too late.
    let mut bench = Bench::new(policy(|policy| policy), steps()).begin();
    let request = approval_asked(&bench)[0];
    let metadata = Metadata::from_iter([("by".to_owned(), "ada".into())]);
    bench.send(Event::Approved { request, metadata: metadata.clone() });
    assert_eq!(bench.working(), ["a"]);
    assert_eq!(bench.approve(request), Err(Refusal::StaleApproval { request }));
    bench.done("a");
    assert_eq!(bench.machine.approval(bench.at("a")), Some(&metadata));
}

#[test]
fn an_approval_covers_one_attempt_and_its_repeats() {
    let set = || policy(|policy| policy.max_attempts(2));
    let mut bench = Bench::new(set(), [step("a").gated()]).begin();
    let first = approval_asked(&bench)[0];
    bench.approve(first).unwrap();

    // A crash repeat keeps it.
    let again = bench.again(set()).resume();
    assert_eq!((again.working(), again.starts[0].attempt), (vec!["a".to_owned()], 1));

    // The next attempt does not.
    bench.fail("a");
    let second = approval_asked(&bench)[0];
    assert_ne!(first, second);
    assert_eq!(bench.approve(first), Err(Refusal::StaleApproval { request: first }));
    bench.approve(second).unwrap();
    assert_eq!(bench.working(), ["a"]);
}

#[test]
fn a_hook_that_always_asks_and_a_provider_that_always_grants_converge() {
    let mut bench = hooked([step("a"), step("b").after("a")], policy(|policy| policy)).begin();
    for id in ["a", "b"] {
        let request = asked(&bench)[0];
        bench.send(Event::HookDecided { request, decision: HookDecision::RequireApproval });
        assert_eq!(approval_asked(&bench), [request]);
        bench.approve(request).unwrap();
        assert_eq!(asked(&bench), [], "asked again about what was granted");
        bench.done(id);
    }
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn what_a_hook_allows_starts_unless_the_plan_gates_it() {
    let mut bench =
        hooked([step("a"), step("b").gated()], policy(|policy| policy.max_parallel_steps(2))).begin();
    let requests = asked(&bench);
    assert_eq!(bench.working().len(), 0);
    for request in requests {
        bench.send(Event::HookDecided { request, decision: HookDecision::Allow });
    }
    assert_eq!((bench.working(), approval_asked(&bench).len()), (vec!["a".to_owned()], 1));
}

#[test]
fn what_is_denied_is_blocked_and_others_go_on() {
    let set = || policy(PlanPolicyBuilder::continue_after_failure);
    let steps = || [step("a"), step("b"), step("c").after("a")];
    let mut bench = hooked(steps(), set()).begin();
    let requests = asked(&bench);
    bench.send(Event::HookDecided {
        request: requests[0],
        decision: HookDecision::Deny { reason: "no".into() },
    });
    assert_eq!((bench.status("a"), bench.code("a")), (Blocked, Some(StepErrorCode::Denied)));
    assert_eq!(bench.status("c"), Skipped);
    bench.send(Event::HookDecided { request: requests[1], decision: HookDecision::Allow });
    bench.done("b");
    assert_eq!(bench.stop, Some(StopReason::Blocked));

    let mut bench = Bench::new(set(), [step("a").gated(), step("b")]).begin();
    let request = approval_asked(&bench)[0];
    bench.send(Event::Denied { request, reason: "no".into() });
    bench.done("b");
    assert_eq!((bench.status("a"), bench.stop), (Blocked, Some(StopReason::Blocked)));
}

#[test]
fn gates_are_surfaced_though_others_have_failed() {
    // The gate opens before the failure, and after it.
    let steps = || [step("early").gated(), step("fails"), step("slow"), step("late").gated().after("slow")];
    let mut bench = Bench::new(policy(|policy| policy.max_parallel_steps(2)), steps()).begin();
    bench.fail("fails").done("slow");
    assert_eq!(approval_asked(&bench), [], "nobody is asked for what will not start");
    assert_eq!(bench.stop, Some(StopReason::Failed));
    let gates: Vec<_> = bench.gates().into_iter().map(|(step, _)| step).collect();
    assert_eq!(gates, ["early", "late"]);
}

#[test]
fn an_executor_may_gate_its_steps() {
    let machine =
        Machine::new(plan([step("a")]), policy(|policy| policy), |_, _| Some(Capabilities::new().gated()));
    let bench = Bench::of(machine).begin();
    assert_eq!(approval_asked(&bench).len(), 1);
}

#[test]
fn a_request_stands_for_what_is_done_with_what() {
    let request = |input: &str, text: &str, gate: &str| {
        let steps = [step("source"), step(gate).gated().input_from("source").with_input(input)];
        let mut bench = Bench::new(policy(|policy| policy), steps).begin();
        bench.end("source", WorkOutcome::Completed(super::bench::output(text)));
        bench.gates()[0].1
    };
    let same = request("i", "o", "a");
    assert_eq!(same, request("i", "o", "a"));
    for other in [request("j", "o", "a"), request("i", "p", "a"), request("i", "o", "b")] {
        assert_ne!(same, other);
    }
}

#[test]
fn an_approval_is_stale_once_what_it_stood_for_has_changed() {
    // The input of the gated step is the end of another, which is then reset.
    let steps = [step("a"), step("b").gated().input_from("a").after_end_of("a"), step("c")];
    let set = policy(|policy| policy.continue_after_failure().max_parallel_steps(2));
    let mut bench = Bench::new(set, steps).begin();
    bench.fail("a");
    let (_, request) = bench.gates()[0].clone();
    let a = bench.at("a");
    bench.send(Event::ResetStep { step: a });
    assert_eq!((bench.gates(), bench.working()), (vec![], vec!["a".to_owned(), "c".to_owned()]));
    bench.done("a");
    let (_, other) = bench.gates()[0].clone();
    assert_ne!(request, other);
    assert_eq!(bench.approve(request), Err(Refusal::StaleApproval { request }));
    bench.approve(other).unwrap();
    assert_eq!(bench.working(), ["b", "c"]);
}

#[test]
fn a_question_is_pending_and_its_answer_goes_on_in_the_same_attempt() {
    let set = || policy(|policy| policy);
    let mut bench = Bench::new(set(), [step("a").gated()]).begin();
    let request = approval_asked(&bench)[0];
    bench.approve(request).unwrap();
    let token = ResumeToken::new(1, "state");
    let question = Question::new("which one?").with_token(token);
    bench.end("a", WorkOutcome::Asked(question.clone()));
    assert_eq!((bench.stop, bench.status("a")), (Some(StopReason::ApprovalRequired), Pending));

    let mut bench = bench.again(set());
    let (a, start) = (bench.at("a"), 1);
    let kind = PendingKind::Question { start, question: question.clone() };
    assert_eq!(bench.machine.pending().collect::<Vec<_>>(), [Waiting { step: a, kind }]);
    let wrong = bench.try_send(Event::Answered { start: 7, answer: "b".into() });
    assert!(matches!(wrong, Err(Refusal::StaleAnswer { .. })), "{wrong:?}");
    bench.send(Event::Answered { start, answer: "b".into() });

    // Killed after it went on, it goes on with the answer again.
    for mut bench in [bench.again(set()).resume(), bench.again(set()).resume().again(set()).resume()] {
        assert_eq!(approval_asked(&bench), []);
        let start = bench.starts[0].clone();
        let answer = start.answer.clone().unwrap();
        assert_eq!((start.attempt, &answer.question, &answer.answer), (1, &question, &"b".into()));
        bench.done("a");
        assert_eq!(bench.stop, Some(StopReason::Completed));
    }
}

#[test]
fn an_approval_that_was_given_is_stale_once_what_it_stood_for_has_changed() {
    // Approved, and no place was free before the source was reset.
    let steps = [step("a"), step("b").gated().input_from("a").after_end_of("a"), step("c")];
    let set = || policy(PlanPolicyBuilder::continue_after_failure);
    let mut bench = Bench::new(set(), steps).begin();
    bench.fail("a");
    let request = bench.gates()[0].1;
    bench.approve(request).unwrap();
    assert_eq!(bench.working(), ["c"]);
    let a = bench.at("a");
    bench.send(Event::ResetStep { step: a }).done("c").done("a");
    assert_eq!(bench.working().len(), 0);
    assert_eq!(bench.gates().len(), 1);
    assert_ne!(bench.gates()[0].1, request);
}

#[test]
fn at_rest_an_approval_is_stale_too_once_what_it_stood_for_has_changed() {
    let steps = [step("a"), step("b").gated().input_from("a").after_end_of("a")];
    let set = || policy(PlanPolicyBuilder::continue_after_failure);
    let mut bench = Bench::new(set(), steps).begin();
    bench.fail("a");
    let request = bench.gates()[0].1;
    bench.send(Event::Deferred { request });
    let mut at_rest = bench.again(set());
    let a = at_rest.at("a");
    at_rest.send(Event::ResetStep { step: a });
    assert_eq!(at_rest.gates(), []);
    assert_eq!(at_rest.approve(request), Err(Refusal::StaleApproval { request }));
}

#[test]
fn a_hook_is_not_asked_again_about_an_attempt_that_goes_on_with_an_answer() {
    let mut bench = hooked([step("a"), step("b")], policy(|policy| policy)).begin();
    let request = asked(&bench)[0];
    bench.send(Event::HookDecided { request, decision: HookDecision::Allow });
    let start = bench.starts[0].start;
    bench.end("a", WorkOutcome::Asked(Question::new("which?")));
    bench.send(Event::Answered { start, answer: "this".into() });
    assert_eq!((asked(&bench), bench.working()), (vec![], vec!["a".to_owned()]));
}

#[test]
fn a_second_question_waits_for_a_second_answer() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a")]).begin();
    bench.end("a", WorkOutcome::Asked(Question::new("which?")));
    let mut bench = bench.again(policy(|policy| policy));
    bench.send(Event::Answered { start: 1, answer: "this".into() });
    let mut bench = bench.resume();
    bench.end("a", WorkOutcome::Asked(Question::new("and then?")));
    assert_eq!((bench.stop, bench.working().len()), (Some(StopReason::ApprovalRequired), 0));
    let mut bench = bench.again(policy(|policy| policy));
    let first = bench.try_send(Event::Answered { start: 1, answer: "this".into() });
    assert_eq!(first, Err(Refusal::StaleAnswer { start: 1 }));
    bench.send(Event::Answered { start: 2, answer: "that".into() });
    let bench = bench.resume();
    assert_eq!(bench.starts[0].answer.as_ref().map(|answer| answer.answer.clone()), Some("that".into()));
}

#[test]
fn a_gate_that_was_surfaced_without_the_hook_does_not_get_around_it() {
    // Nothing may start when the gate is surfaced, so the hook is not asked; it is before the step starts.
    let set = || policy(|policy| policy.max_parallel_steps(2));
    let mut bench = hooked([step("a"), step("b").gated().after("c"), step("c")], set()).begin();
    for request in asked(&bench) {
        bench.send(Event::HookDecided { request, decision: HookDecision::Allow });
    }
    bench.fail("a").done("c");
    assert_eq!((asked(&bench), bench.stop), (vec![], Some(StopReason::Failed)));
    let request = bench.gates()[0].1;
    let hooked_again = |bench: &Bench| bench.again_as(set(), bench.journal.len(), Machine::with_hook);

    // The person is faster than the resume, or slower.
    for approved_at_rest in [true, false] {
        let mut again = hooked_again(&bench);
        let a = again.at("a");
        again.send(Event::ResetStep { step: a });
        if approved_at_rest {
            again.approve(request).unwrap();
        }
        let mut again = hooked_again(&again).resume();
        let requests = asked(&again);
        assert!(requests.contains(&request) && approval_asked(&again).is_empty());
        let mut denied = hooked_again(&again).resume();
        denied.send(Event::HookDecided { request, decision: HookDecision::Deny { reason: "no".into() } });
        assert_eq!(denied.status("b"), Blocked);

        again.send(Event::HookDecided { request, decision: HookDecision::RequireApproval });
        if !approved_at_rest {
            assert_eq!(approval_asked(&again), [request]);
            again.approve(request).unwrap();
        }
        assert_eq!((again.working(), asked(&again)), (vec!["b".to_owned()], vec![]));
    }
}

#[test]
fn a_hook_that_was_added_later_is_asked_about_what_was_approved_without_it() {
    let mut bench = Bench::new(policy(|policy| policy), [step("a").gated()]).begin();
    let request = bench.gates()[0].1;
    bench.approve(request).unwrap();
    let set = policy(|policy| policy);
    let mut again = bench.again_as(set, bench.journal.len(), Machine::with_hook).resume();
    assert_eq!((asked(&again), again.working().len()), (vec![request], 0));
    again.send(Event::HookDecided { request, decision: HookDecision::Allow });
    assert_eq!(again.working(), ["a"]);
}

#[test]
fn a_gate_that_a_hook_asked_for_stays_though_the_hook_is_gone() {
    let mut bench = hooked([step("a")], policy(|policy| policy)).begin();
    let request = asked(&bench)[0];
    bench.send(Event::HookDecided { request, decision: HookDecision::RequireApproval });
    let mut again = bench.again(policy(|policy| policy)).resume();
    assert_eq!((approval_asked(&again), again.working().len()), (vec![request], 0));
    again.approve(request).unwrap();
    assert_eq!(again.working(), ["a"]);
}
