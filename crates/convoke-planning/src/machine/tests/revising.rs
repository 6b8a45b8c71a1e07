use crate::{
    Plan, PlanPolicy, PlanValidator, PrioritySignals, StepDraft,
    StepStatus::*,
    machine::{
        Capabilities, Command, Durability, Event, Finding, HookDecision, Machine, Question, Record, Refusal,
        StepErrorCode, StopReason, WorkOutcome,
        tests::bench::{Bench, failure, ms, output, plan, policy, step},
    },
};

pub(super) fn replanning(replans: u64) -> PlanPolicy {
    policy(|policy| policy.replanning(replans).max_parallel_steps(3))
}

/// The steps that the planner was asked about.
pub(super) fn asked(bench: &Bench) -> Vec<String> {
    let step = |command: &Command| match command {
        Command::AskPlanner { step, .. } => Some(bench.name(*step)),
        _ => None,
    };
    bench.last.iter().filter_map(step).collect()
}

pub(super) fn next(bench: &Bench, steps: impl IntoIterator<Item = StepDraft>) -> Plan {
    let plan = bench.machine.plan();
    let draft = crate::PlanDraft::new(plan.goal()).with_steps(steps);
    PlanValidator::default().validate_revision(plan, draft).unwrap()
}

pub(super) fn revise(bench: &mut Bench, steps: impl IntoIterator<Item = StepDraft>) {
    let plan = next(bench, steps);
    let executors = plan.indices().map(|_| Some(Capabilities::new())).collect();
    bench.send(Event::RevisionReady { plan, executors });
}

#[test]
fn a_failure_is_replanned_and_the_run_goes_on_with_the_new_plan() {
    let mut bench =
        Bench::new(replanning(1), [step("done"), step("a").after("done"), step("b").after("a")]).begin();
    bench.done("done").fail("a");
    assert_eq!((asked(&bench), bench.stop), (vec!["a".to_owned()], None));
    revise(&mut bench, [step("z"), step("b").after("z"), step("done")]);
    assert_eq!((bench.working(), bench.status("done")), (vec!["z".to_owned()], Completed));
    assert_eq!(bench.machine.outputs().get(bench.at("done")), Some(&output("done")));
    bench.done("z").done("b");
    assert_eq!((bench.stop, bench.machine.plan().revision()), (Some(StopReason::Completed), 1));
    assert_eq!(bench.starts.last().map(|start| start.key.as_str()), Some("plan/b/1"), "b waits for another");
}

#[test]
fn a_revision_with_deadlines_asks_for_the_wall_clock() {
    let mut bench = Bench::new(replanning(1), [step("a"), step("b").after("a")]).begin();
    assert!(!bench.machine.asks_for_wall_time());
    bench.fail("a");
    assert!(bench.machine.asks_for_wall_time(), "the next plan may need it at once");
    let due = PrioritySignals::new().with_deadline(1_000);
    revise(&mut bench, [step("z"), step("b").after("z").with_signals(due)]);
    assert!(bench.machine.asks_for_wall_time());
}

#[test]
fn one_failure_is_replanned_once_and_no_more_than_allowed() {
    // A was offered and kept; a later failure is offered on its own.
    let steps = || [step("a"), step("b"), step("c")];
    let set =
        |replans| policy(|policy| policy.replanning(replans).max_parallel_steps(3).continue_after_failure());
    let mut bench = Bench::new(set(9), steps()).begin();
    bench.fail("a");
    assert_eq!(asked(&bench), ["a"]);
    revise(&mut bench, steps());
    assert_eq!((asked(&bench), bench.status("a")), (vec![], Failed), "kept as it was, it stays failed");
    bench.fail("b");
    assert_eq!(asked(&bench), ["b"]);
    bench.send(Event::RevisionFailed { reason: "no idea".into() }).done("c");
    assert_eq!(bench.stop, Some(StopReason::Failed));
    // Neither is offered again.
    let again = bench.again(set(9)).resume();
    assert_eq!((asked(&again), again.stop), (vec![], Some(StopReason::Failed)));

    let mut bench = Bench::new(set(1), steps()).begin();
    bench.fail("a").send(Event::RevisionFailed { reason: "no idea".into() }).fail("b");
    assert_eq!(asked(&bench), Vec::<String>::new());
}

#[test]
fn nothing_starts_or_is_skipped_while_the_planner_has_the_plan() {
    let steps = || [step("a"), step("b"), step("after-a").after("a"), step("after-b").after("b"), step("c")];
    let set = policy(|policy| policy.replanning(2).max_parallel_steps(2).continue_after_failure());
    let mut bench = Bench::new(set, steps()).begin();
    bench.fail("a").done("b");
    assert_eq!(
        (bench.working().len(), bench.status("after-a"), bench.status("after-b")),
        (0, Pending, Pending)
    );
    bench.send(Event::RevisionFailed { reason: "no idea".into() });
    assert_eq!(
        (bench.working(), bench.status("after-a")),
        (vec!["after-b".to_owned(), "c".to_owned()], Skipped)
    );
}

#[test]
fn that_it_was_asked_is_durable_before_it_is_asked() {
    let mut bench = Bench::new(replanning(1), [step("a")]).begin();
    bench.durable_at_once = false;
    bench.fail("a");
    assert_eq!(asked(&bench).len(), 0);
    assert!(matches!(bench.records().last(), Some(Record::RevisionAsked { .. })));
    bench.persisted();
    assert_eq!(asked(&bench), ["a"]);

    let machine = Machine::new(plan([step("a")]), replanning(1), |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine.with_durability(Durability::Relaxed)).begin();
    bench.durable_at_once = false;
    bench.fail("a");
    assert_eq!(asked(&bench), ["a"]);
}

#[test]
fn a_kill_while_the_planner_was_asked_leads_to_the_ask_and_counts_once() {
    let mut bench = Bench::new(replanning(1), [step("a"), step("b")]).begin();
    bench.fail("a");
    let mut again = bench.again(replanning(1)).resume();
    assert_eq!((asked(&again), again.working().len()), (vec!["a".to_owned()], 0));
    revise(&mut again, [step("a").titled("otherwise"), step("b")]);
    assert_eq!(
        (again.working(), again.machine.key(again.at("a"))),
        (vec!["a".into(), "b".into()], "plan/a/1".into())
    );
    again.done("a").done("b");
    assert_eq!(again.stop, Some(StopReason::Completed));
}

#[test]
fn work_under_way_goes_on_at_its_new_place() {
    let set = policy(|policy| policy.replanning(1).max_parallel_steps(2).step_timeout(ms(20)).grace(ms(5)));
    let mut bench = Bench::new(set, [step("a"), step("works")]).begin();
    bench.pass(1).fail("a");
    revise(&mut bench, [step("x"), step("y").after("works"), step("works")]);
    assert_eq!(bench.working(), ["x", "works"]);
    let start = bench.at_work[&bench.at("works")].start;
    bench.done("x").wait(19);
    assert_eq!(bench.last[0], Command::Stop { step: bench.at("works"), start });
    bench.end_at("works", WorkOutcome::Completed(output("w")), ms(20));
    assert_eq!((bench.status("works"), bench.working()), (Completed, vec!["y".to_owned()]));
}

#[test]
fn a_denial_is_not_offered_and_what_is_added_after_one_is_gated() {
    let set = policy(|policy| policy.replanning(3).max_parallel_steps(3).continue_after_failure());
    let machine =
        Machine::new(plan([step("a").gated(), step("b"), step("c")]), set, |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine).begin();
    let request = bench.gates()[0].1;
    bench.send(Event::Denied { request, reason: "no".into() });
    assert_eq!(asked(&bench).len(), 0);
    bench.fail("b");
    assert_eq!(asked(&bench), ["b"]);
    revise(&mut bench, [step("a").gated(), step("c"), step("added")]);
    assert_eq!(bench.working(), ["c"]);
    assert_eq!(bench.gates().into_iter().map(|(step, _)| step).collect::<Vec<_>>(), ["added"]);
}

#[test]
fn a_skipped_step_comes_back_iff_its_causes_or_its_definition_did() {
    let steps = || {
        [
            step("a"),
            step("b"),
            step("sa").after("a"),
            step("sb").after("b"),
            step("sab").after("a").after("b"),
        ]
    };
    let set = || policy(|policy| policy.replanning(9).max_parallel_steps(3).continue_after_failure());
    let mut bench = Bench::new(set(), steps()).begin();
    bench.fail("a").send(Event::RevisionFailed { reason: "no".into() });
    bench.fail("b");
    assert_eq!(asked(&bench), ["b"]);
    revise(
        &mut bench,
        [
            step("a"),
            step("b").titled("otherwise"),
            step("sa").after("a"),
            step("sb").after("b"),
            step("sab").after("a").after("b"),
        ],
    );
    assert_eq!(["sa", "sb", "sab"].map(|id| bench.status(id)), [Skipped, Pending, Skipped]);
    let skips = bench.records().iter().filter(|record| matches!(record, Record::Skipped { .. })).count();
    assert_eq!(skips, 2, "who stays skipped is not skipped again");
    bench.done("b").done("sb");
    assert_eq!(bench.stop, Some(StopReason::Failed));

    // The records say the same, read from their text.
    let journal: Vec<_> = bench.journal.iter().map(|entry| entry.to_json().unwrap()).collect();
    let journal = journal.iter().map(|json| crate::machine::Entry::from_json(json).unwrap());
    let again = Machine::replay(bench.plan.clone(), set(), journal, |_, _| None).unwrap();
    assert!(again.ledger.same_as(&bench.machine.ledger));
    assert_eq!(again.plan(), bench.machine.plan());
}

#[test]
fn an_open_gate_stays_open_and_its_approval_holds() {
    let set = policy(|policy| policy.replanning(1).max_parallel_steps(3).continue_after_failure());
    let mut bench = Bench::new(set, [step("a"), step("gated").gated()]).begin();
    let request = bench.gates()[0].1;
    bench.fail("a");
    revise(&mut bench, [step("b"), step("gated").gated()]);
    assert!(
        !bench.last.iter().any(|command| matches!(command, Command::AskApproval { .. })),
        "asked already"
    );
    bench.approve(request).unwrap();
    assert_eq!(bench.working(), ["b", "gated"]);
}

#[test]
fn a_cancel_or_a_reset_does_not_wait_for_the_planner() {
    let mut bench = Bench::new(replanning(1), [step("a")]).begin();
    bench.fail("a").send(Event::Cancel);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));

    let mut bench = Bench::new(replanning(1), [step("a")]).begin();
    bench.fail("a");
    let a = bench.at("a");
    bench.send(Event::ResetStep { step: a });
    assert_eq!(bench.working(), ["a"]);
    let plan = next(&bench, [step("b")]);
    assert_eq!(
        bench.try_send(Event::RevisionReady { plan, executors: Vec::new() }),
        Err(Refusal::NoRevision)
    );
}

#[test]
fn what_has_timed_out_and_still_runs_is_not_offered() {
    let set = policy(|policy| policy.replanning(1).step_timeout(ms(20)).grace(ms(5)));
    let mut bench = Bench::new(set, [step("a")]).begin();
    bench.wait(20).wait(5);
    assert_eq!((asked(&bench), bench.stop), (vec![], Some(StopReason::Failed)));
    let again = bench.again(replanning(1)).resume();
    assert_eq!((asked(&again), again.stop), (vec![], Some(StopReason::Failed)));
}

#[test]
fn a_run_that_ends_asks_no_planner_and_the_next_does() {
    let mut bench = Bench::new(replanning(1), [step("a"), step("b")]).begin();
    bench.pass(1).send(Event::Cancel).pass(1).end_at("a", failure(), ms(1));
    assert_eq!((bench.status("a"), asked(&bench)), (Failed, vec![]));
    bench.end("b", WorkOutcome::Cancelled);
    assert_eq!(bench.stop, Some(StopReason::Cancelled));
    assert_eq!(asked(&bench.again(replanning(1)).resume()), ["a"]);
}

#[test]
fn a_failure_that_came_meanwhile_is_offered_next() {
    let mut bench = Bench::new(replanning(2), [step("a"), step("b"), step("c")]).begin();
    bench.fail("a").fail("b");
    assert_eq!(asked(&bench), Vec::<String>::new());
    revise(&mut bench, [step("y"), step("z"), step("c"), step("b")]);
    assert_eq!((asked(&bench), bench.working()), (vec!["b".to_owned()], vec!["c".to_owned()]));
}

#[test]
fn who_has_a_serial_turn_keeps_it() {
    let serial = || Capabilities::new().serial("press");
    let machine = Machine::new(plan([step("a"), step("works")]), replanning(1), |plan, step| {
        Some(if plan.step(step).unwrap().id.as_str() == "works" { serial() } else { Capabilities::new() })
    });
    let mut bench = Bench::of(machine).begin();
    bench.fail("a");
    let plan = next(&bench, [step("x"), step("works")]);
    bench.send(Event::RevisionReady { plan, executors: vec![Some(serial()), Some(serial())] });
    assert_eq!(bench.working(), ["works"]);
    bench.done("works");
    assert_eq!(bench.working(), ["x"]);
}

#[test]
fn what_was_ready_because_of_an_end_that_is_none_any_more_waits_again() {
    let rest = || [step("b").gated().after_end_of("a"), step("q").after_end_of("a"), step("c"), step("w")];
    let steps = |a: StepDraft| std::iter::once(a).chain(rest());
    let set = policy(|policy| policy.replanning(2).max_parallel_steps(2).continue_after_failure());
    let important = |step: StepDraft| step.with_signals(PrioritySignals::new().with_priority(9.0));
    let steps = |a: StepDraft| {
        steps(important(a)).map(|step| if step.id == "c" || step.id == "w" { important(step) } else { step })
    };
    let mut bench = Bench::new(set, steps(step("a"))).begin();
    bench.fail("a").send(Event::RevisionFailed { reason: "no".into() });
    assert_eq!(bench.working(), ["c", "w"]);
    let request = bench.gates()[0].1;
    bench.fail("c");
    assert_eq!(asked(&bench), ["c"]);
    revise(&mut bench, steps(step("a").titled("otherwise")));
    // `a` runs again, so that neither the gate nor the queued step is due.
    assert_eq!((bench.working(), bench.gates()), (vec!["a".to_owned(), "w".to_owned()], vec![]));
    assert_eq!(bench.approve(request), Err(Refusal::StaleApproval { request }));
    bench.done("w");
    assert_eq!(bench.working(), ["a"]);
    bench.done("a");
    assert_eq!((bench.working(), bench.gates().len()), (vec!["q".to_owned()], 1));
}

#[test]
fn the_hook_is_asked_again_about_what_has_changed_alone() {
    let hook = |bench: &mut Bench| {
        let asked = |command: &Command| match command {
            Command::AskHook { step, request } => Some((*step, *request)),
            _ => None,
        };
        let asked: Vec<_> = bench.last.iter().filter_map(asked).collect();
        for (_, request) in &asked {
            bench.send(Event::HookDecided { request: *request, decision: HookDecision::Allow });
        }
        asked.into_iter().map(|(step, _)| bench.name(step)).collect::<Vec<_>>()
    };
    let set = policy(|policy| policy.replanning(1));
    let machine =
        Machine::new(plan([step("a"), step("same"), step("other")]), set, |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine.with_hook()).begin();
    assert_eq!(hook(&mut bench), ["a", "same", "other"]);
    bench.fail("a");
    revise(&mut bench, [step("same"), step("other").titled("otherwise")]);
    assert_eq!(bench.working(), ["same"]);
    assert_eq!(hook(&mut bench), ["other"]);
}

#[test]
fn places_of_the_last_revision_mean_nothing_in_this() {
    let set = policy(|policy| policy.replanning(1).max_parallel_steps(2));
    let mut bench = Bench::new(set, [step("a"), step("w"), step("queued")]).begin();
    bench.fail("a");
    revise(&mut bench, [step("w"), step("x").after("w"), step("late").after("x")]);
    assert_eq!(bench.working(), ["w"]);
    bench.done("w").done("x").done("late");
    assert_eq!(bench.stop, Some(StopReason::Completed));
}

#[test]
fn a_plan_that_is_not_the_next_of_this_one_is_refused() {
    let fits = |make: &dyn Fn(&Bench) -> Plan| {
        let set = policy(|policy| policy.replanning(1).max_steps(2));
        let mut bench = Bench::new(set, [step("a")]).begin();
        bench.fail("a");
        let plan = make(&bench);
        bench.send(Event::RevisionReady { executors: vec![Some(Capabilities::new()); 3], plan });
        bench.working().len() == 1
    };
    assert!(fits(&|bench| next(bench, [step("b")])));
    assert!(!fits(&|_| plan([step("b")])), "it is the first revision");
    assert!(!fits(&|bench| next(bench, [step("b"), step("c"), step("d")])), "it is too large");
    let other = |_: &Bench| {
        let draft = crate::PlanDraft::new("goal").with_id("other").with_step(step("b"));
        let other = PlanValidator::default().validate(draft.clone()).unwrap();
        PlanValidator::default().validate_revision(&other, draft).unwrap()
    };
    assert!(!fits(&other), "it is another plan");
}

#[test]
fn what_still_runs_cannot_change() {
    let set = policy(|policy| {
        policy.replanning(1).max_parallel_steps(2).step_timeout(ms(20)).grace(ms(5)).continue_after_failure()
    });
    let owner = |plan: &Plan, step| match plan.step(step).unwrap().id.as_str() {
        "b" => Some(Capabilities::new().owning_deadline()),
        _ => Some(Capabilities::new()),
    };
    let mut bench = Bench::of(Machine::new(plan([step("a"), step("b")]), set, owner)).begin();
    bench.wait(20).wait(5);
    assert!(bench.machine.is_detached(bench.at("a")));
    bench.fail("b");
    assert_eq!(asked(&bench), ["b"]);
    let plan = next(&bench, [step("c")]);
    bench.send(Event::RevisionReady { plan, executors: Vec::new() });
    assert_eq!(asked(&bench), ["b"], "`a` may still run");
}

#[test]
fn what_was_skipped_stays_so_or_comes_back_with_its_cause() {
    let steps = |b: StepDraft| {
        [
            step("a"),
            b,
            step("c"),
            step("a1").after("a"),
            step("a2").after("a1"),
            step("b1").after("b"),
            step("b2").after("b1"),
        ]
    };
    let set = policy(|policy| policy.replanning(3).max_parallel_steps(3).continue_after_failure());
    let mut bench = Bench::new(set, steps(step("b"))).begin();
    for id in ["a", "b"] {
        bench.fail(id).send(Event::RevisionFailed { reason: "no".into() });
    }
    assert_eq!(["a1", "a2", "b1", "b2"].map(|id| bench.status(id)), [Skipped; 4]);
    let records = bench.journal.len();
    bench.fail("c");
    revise(&mut bench, steps(step("b").titled("otherwise")));
    assert_eq!(["a1", "a2", "b1", "b2"].map(|id| bench.status(id)), [Skipped, Skipped, Pending, Pending]);
    assert_eq!(bench.working(), ["b"]);
    let skips =
        bench.journal[records..].iter().filter(|entry| matches!(entry.record, Record::Skipped { .. }));
    assert_eq!(skips.count(), 0, "nobody is skipped twice");
}

#[test]
fn an_open_question_stays_open() {
    let mut bench = Bench::new(replanning(1), [step("a"), step("asks")]).begin();
    bench.end("asks", WorkOutcome::Asked(Question::new("which?"))).fail("a");
    revise(&mut bench, [step("x"), step("asks")]);
    assert_eq!(bench.machine.pending().count(), 1);
    bench.send(Event::Answered { start: 2, answer: "this".into() });
    assert_eq!(bench.working(), ["x", "asks"]);
    assert!(bench.starts.last().unwrap().answer.is_some());
}

#[test]
fn revisions_are_counted_over_revisions() {
    let mut bench = Bench::new(replanning(1), [step("a")]).begin();
    bench.fail("a");
    revise(&mut bench, [step("b")]);
    bench.fail("b");
    assert_eq!((asked(&bench), bench.stop), (vec![], Some(StopReason::Failed)));
}

#[test]
fn a_step_that_is_blocked_before_it_starts_is_offered_before_anything_follows_from_it() {
    let set = policy(|policy| policy.replanning(1).continue_after_failure());
    let machine = Machine::new(plan([step("c"), step("a"), step("b").after("a")]), set, |plan, step| {
        (plan.step(step).unwrap().id.as_str() != "a").then(Capabilities::new)
    });
    let bench = Bench::of(machine).begin();
    assert_eq!((asked(&bench), bench.working().len()), (vec!["a".to_owned()], 0));
    assert_eq!((bench.status("a"), bench.status("b")), (Blocked, Pending));
}

#[test]
fn a_reflector_may_ask_for_another_plan() {
    let machine = Machine::new(plan([step("a")]), replanning(1), |_, _| Some(Capabilities::new()));
    let mut bench = Bench::of(machine.with_reflection()).begin();
    bench.done("a").find("a", Finding::Replan("not this way".into()));
    assert_eq!((asked(&bench), bench.code("a")), (vec!["a".to_owned()], Some(StepErrorCode::Rejected)));

    // Where no planner may be asked, it is a failure that is not tried again.
    let machine = Machine::new(plan([step("a")]), policy(|policy| policy.max_attempts(3)), |_, _| {
        Some(Capabilities::new())
    });
    let mut bench = Bench::of(machine.with_reflection()).begin();
    bench.done("a").find("a", Finding::Replan("not this way".into()));
    assert_eq!((bench.status("a"), bench.stop), (Failed, Some(StopReason::Failed)));
}

#[test]
fn work_under_way_is_held_to_what_was_said_when_it_started() {
    for owns_deadline in [false, true] {
        let set =
            policy(|policy| policy.replanning(1).max_parallel_steps(2).step_timeout(ms(20)).grace(ms(5)));
        let owner =
            || if owns_deadline { Capabilities::new().owning_deadline() } else { Capabilities::new() };
        let machine = Machine::new(plan([step("a"), step("works")]), set, |_, _| Some(owner()));
        let mut bench = Bench::of(machine).begin();
        bench.fail("a");
        // What is said now is the contrary.
        let other = if owns_deadline { Capabilities::new() } else { Capabilities::new().owning_deadline() };
        let plan = next(&bench, [step("works")]);
        bench.send(Event::RevisionReady { plan, executors: vec![Some(other)] });
        bench.pass(21).end("works", WorkOutcome::Completed(output("w")));
        assert_eq!(bench.status("works"), if owns_deadline { Completed } else { Failed });
    }
}
