//! Snapshots stand for the records that they hold, and forks begin where they stand.

use std::sync::Arc;

use convoke_core::{Metadata, ResumeToken, TaskOutput};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::{
    Plan, PlanPolicy, PlanPolicyBuilder, StepIndex,
    StepStatus::*,
    machine::{
        Capabilities, Effects, Event, Finding, HookDecision, Machine, Question, RecordError, ReplayError,
        Snapshot, StopReason, WorkOutcome,
        ledger::{Ledger, Mark},
        phase::Phase,
        tests::{
            bench::{Bench, ms, output, plan, policy, step},
            properties::{case, config, standing, storm, stormy, told},
        },
    },
};

/// What is written and read again.
fn through_json(snapshot: &Snapshot) -> Snapshot {
    let texts = snapshot.to_json().unwrap();
    let read = Snapshot::from_json(&texts).unwrap();
    assert_eq!(&read, snapshot, "{texts:?}");
    read
}

fn restored(snapshot: &Snapshot, policy: PlanPolicy) -> Bench {
    Bench::of(Machine::restore(snapshot, policy, [], |_, _| Some(Capabilities::new())).unwrap())
}

/// A run that has everything: a step of each status, mark and note.
fn rich() -> Bench {
    let steps = [
        step("done").gated(),
        step("revised"),
        step("failed"),
        step("skipped").after("failed"),
        step("later").after("skipped"),
        step("blocked"),
        step("retried"),
        step("worked"),
        step("running"),
        step("unknown"),
        step("given-up"),
        step("end-of-given-up").after_end_of("given-up"),
        step("lost").after("given-up"),
        step("gate").gated(),
        step("asks"),
        step("answered"),
        step("rejected"),
        step("idle").after("worked"),
    ];
    let executor = |plan: &Plan, step| {
        let capabilities = Capabilities::new();
        Some(match plan.step(step)?.id.as_str() {
            "unknown" => capabilities.owning_deadline().with_effects(Effects::SideEffect),
            "given-up" => capabilities,
            _ => capabilities.owning_deadline(),
        })
    };
    let machine = Machine::new(plan(steps), lively(), executor);
    let mut bench = Bench::of(machine.with_reflection()).begin();
    let request = |bench: &Bench, id: &str| {
        bench.gates().into_iter().find(|(step, _)| step == id).map(|(_, request)| request).unwrap()
    };
    let done = request(&bench, "done");
    let metadata = Metadata::from_iter([("by".to_owned(), json!("me"))]);
    bench.send(Event::Approved { request: done, metadata });
    let blocked = WorkOutcome::Blocked { error: failure_of("no"), retryable: false };
    bench.pass(1).done("done").find("done", Finding::Pass);
    bench.done("revised").find("revised", Finding::Revise("better".into()));
    bench.fail("failed").fail("failed").end("blocked", blocked).fail("retried");
    bench.done("worked").done("rejected").find("rejected", Finding::Retry("shorter".into()));
    bench.wait(20).wait(5);
    let question = || Question::new("which?").with_token(ResumeToken::new(1, "token"));
    bench.end("asks", WorkOutcome::Asked(question())).end("answered", WorkOutcome::Asked(question()));
    let start = bench.machine.ledger.row(bench.at("answered")).start;
    bench.send(Event::Answered { start, answer: Value::Null });
    // Another process has it now.
    let machine = Machine::replay(bench.plan.clone(), lively(), bench.journal.clone(), executor).unwrap();
    Bench { journal: bench.journal, ..Bench::of(machine.with_reflection()) }.resume()
}

fn lively() -> PlanPolicy {
    policy(|policy| {
        let policy =
            policy.continue_after_failure().max_parallel_steps(20).max_attempts(2).max_step_runs(999);
        policy.step_timeout(ms(20)).grace(ms(5))
    })
}

fn failure_of(text: &str) -> crate::machine::StepError {
    crate::machine::StepError::new(crate::machine::StepErrorCode::ExecutionFailed, text)
}

/// Carries a run to its end, whatever it asks.
fn drive(bench: &mut Bench) {
    for _ in 0..500 {
        if bench.stop.is_some() {
            return;
        }
        let machine = &bench.machine;
        let of = |phase| machine.plan().indices().find(|step| machine.phase(*step) == phase);
        if let Some(id) = bench.working().first().cloned() {
            bench.done(&id);
        } else if let Some(step) = of(Phase::Reviewing) {
            let id = bench.name(step);
            bench.find(&id, Finding::Pass);
        } else if let Some(step) = of(Phase::Hook) {
            let request = machine.request(step);
            bench.send(Event::HookDecided { request, decision: HookDecision::Allow });
        } else if let Some(step) = of(Phase::Approval) {
            let request = machine.request(step);
            bench.approve(request).unwrap();
        } else if machine.is_revising() {
            bench.send(Event::RevisionFailed { reason: "no idea".into() });
        } else {
            bench.now.running = bench.now.running.max(bench.wake.expect("nothing is waited for"));
            bench.send(Event::Tick);
        }
    }
    panic!("the run does not end: {:?}", bench.machine);
}

proptest! {
    #![proptest_config(config(256))]

    /// At each moment of a run that is told anything, its snapshot is all that the records say, and has a form in JSON. From
    /// any record on, the records that follow lead to the same.
    #[test]
    fn a_snapshot_stands_for_the_records_before_it(case in case(), told in told(), cut in any::<Index>()) {
        let bench = storm(&case, told, &mut |_| {});
        let cut = cut.index(bench.journal.len() + 1);
        let mut ledger = Ledger::new(case.plan());
        let mut at_cut = ledger.snapshot();
        for (place, entry) in bench.journal.iter().enumerate() {
            if place == cut {
                at_cut = ledger.snapshot();
            }
            ledger.append(entry).unwrap();
            let again = Ledger::restored(&through_json(&ledger.snapshot()));
            prop_assert!(again.unwrap().same_as(&ledger), "{:?}", entry);
        }
        prop_assert!(ledger.same_as(&bench.machine.ledger));
        let (rest, at_cut) = if cut == bench.journal.len() {
            (Vec::new(), ledger.snapshot())
        } else {
            (bench.journal[cut..].to_vec(), at_cut)
        };
        let machine = Machine::restore(&at_cut, stormy(&case), rest, |_, _| None).unwrap();
        prop_assert!(machine.ledger.same_as(&bench.machine.ledger));
        prop_assert_eq!(machine.snapshot(), bench.machine.snapshot());
    }

    /// What is told to a machine that comes from a snapshot has the consequences that it has for one that comes from records.
    #[test]
    fn a_restored_machine_goes_on_as_a_replayed_one(case in case(), cut in any::<Index>(), more in any::<Index>(), turn in 0_usize..24) {
        let mut whole = Bench::of(case.machine());
        case.run(&mut whole, 0, &mut |_| {});
        let cut = cut.index(whole.journal.len() + 1);
        let known = cut + more.index(whole.journal.len() + 1 - cut);
        let mut replayed = case.again(&whole.journal[..known]);
        let snapshot = through_json(&case.again(&whole.journal[..cut]).machine.snapshot());
        let rest = whole.journal[cut..known].to_vec();
        let mut restored = case.again(&whole.journal[..known]);
        restored.machine = case.set(
            Machine::restore(&snapshot, case.policy(), rest, |_, step| Some(case.capabilities(step))).unwrap(),
        );
        case.run(&mut replayed, turn, &mut |_| {});
        case.run(&mut restored, turn, &mut |_| {});
        prop_assert_eq!(restored.journal, replayed.journal);
        prop_assert_eq!(restored.starts, replayed.starts);
        prop_assert_eq!(restored.stop, replayed.stop);
    }

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
        fork.send(Event::Resume { retry_failed: false });
        drive(&mut fork);
    }
}

#[test]
fn a_snapshot_has_a_text_for_each_step_with_a_state() {
    let bench = rich();
    let texts = bench.machine.snapshot().to_json().unwrap();
    assert_eq!(texts.len(), 1 + 17, "all but `idle`: {texts:#?}");
    let of = |id: &str| texts.iter().find(|text| text.starts_with(&format!(r#"{{"step":"{id}""#))).unwrap();
    assert_eq!(
        texts[0].split_once(r#""sequence""#).unwrap().1,
        r#":51,"elapsed_millis":26,"starts":22,"begun":true,"replans":0,"steps":17}"#
    );
    for (id, text) in [
        ("skipped", r#"{"step":"skipped","status":"skipped"}"#),
        (
            "given-up",
            r#"{"step":"given-up","status":"failed","row":{"start":8,"error":{"code":"step_timeout","message":"step `given-up` did not end before its deadline; allow it more time, or split it"},"attempts":1,"mark":"detached"}}"#,
        ),
        (
            "unknown",
            r#"{"step":"unknown","status":"running","row":{"start":7,"attempts":1,"mark":"outcome_unknown","side_effect":true}}"#,
        ),
    ] {
        assert_eq!(of(id), text);
    }
    let again = restored(&through_json(&bench.machine.snapshot()), lively());
    assert!(again.machine.ledger.same_as(&bench.machine.ledger));
}

#[test]
fn bytes_grow_with_the_steps_that_have_a_state() {
    let texts = |steps: usize, done: usize| {
        let mut bench =
            Bench::new(policy(|policy| policy), (0..steps).map(|n| step(format!("s{n}")))).begin();
        for n in 0..done {
            bench.end(&format!("s{n}"), WorkOutcome::Completed(output("x")));
        }
        bench.machine.snapshot().to_json().unwrap()
    };
    let bytes = |texts: &[String]| texts[1..].iter().map(String::len).sum::<usize>();
    // A start is under way behind those that are done. An output of one letter takes 71 bytes by itself.
    let (few, many) = (texts(1_000, 10), texts(1_000, 500));
    assert_eq!((few.len(), many.len()), (12, 502));
    assert!(bytes(&many) <= 501 * 175, "{} bytes a step", bytes(&many) / 501);
    assert_eq!(texts(2_000, 10)[1..], few[1..]);
    let without_plan = |texts: &[String]| texts[0].split_once(r#""sequence""#).unwrap().1.len();
    assert!(without_plan(&many) <= 100);
}

#[test]
fn an_answer_that_is_null_stays_an_answer() {
    let again = restored(&through_json(&rich().machine.snapshot()), lively());
    let questions = again.machine.pending().filter(|pending| pending.step == again.at("answered")).count();
    assert_eq!(questions, 0);
}

#[test]
fn what_is_no_snapshot_of_this_version_is_an_error() {
    let texts = rich().machine.snapshot().to_json().unwrap();
    let read = |texts: &[String]| Snapshot::from_json(texts);
    assert!(matches!(read(&[]), Err(RecordError::Malformed(_))));
    assert!(matches!(read(&texts[1..]), Err(RecordError::Malformed(_))));
    for n in 1..texts.len() {
        let error = read(&texts[..n]).unwrap_err();
        assert!(matches!(error, RecordError::OtherLength { wanted: 17, .. }), "{error}");
    }
    let mut newer = texts.clone();
    newer[0] = newer[0].replacen(r#""version":1"#, r#""version":2"#, 1);
    assert!(matches!(read(&newer), Err(RecordError::OtherVersion { version: 2 })));
    let mut twice = texts.clone();
    twice[2] = twice[1].clone();
    let twice = Machine::restore(&read(&twice).unwrap(), lively(), [], |_, _| None);
    assert!(matches!(twice, Err(ReplayError::Unsound { .. })));
}

#[test]
fn records_that_do_not_follow_a_snapshot_are_refused() {
    let bench = rich();
    let snapshot = bench.again_as(lively(), 10, |machine| machine).machine.snapshot();
    let restore = |from: usize| {
        let entries = bench.journal[from..].to_vec();
        Machine::restore(&snapshot, lively(), entries, |_, _| None).map(drop)
    };
    assert_eq!(snapshot.sequence(), 10);
    assert_eq!(restore(10), Ok(()));
    assert_eq!(restore(9), Err(ReplayError::Sequence { before: 10, found: 10 }));
    assert_eq!(restore(11), Err(ReplayError::Sequence { before: 10, found: 12 }));
}

/// All ways to change one thing within a value that is not free: to leave a field out, to put another value in its place,
/// to add a field that nobody knows.
fn changes(value: &Value) -> Vec<Value> {
    let others = [
        Value::Null,
        json!(0),
        json!(1),
        json!(7),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(-1),
        json!(true),
        json!(""),
        json!("failed"),
        json!("pending"),
        json!("running"),
        json!("completed"),
        json!("skipped"),
        json!("blocked"),
        json!("worked"),
        json!("detached"),
        json!("outcome_unknown"),
        json!("idle"),
        json!([]),
        json!({}),
    ];
    let mut changed = others.to_vec();
    let Value::Object(fields) = value else { return changed };
    for (name, inner) in fields {
        let with = |inner: Option<Value>| {
            let mut fields = fields.clone();
            match inner {
                Some(inner) => fields.insert(name.clone(), inner),
                None => fields.remove(name),
            };
            Value::Object(fields)
        };
        changed.push(with(None));
        changed.extend(changes(inner).into_iter().map(|inner| with(Some(inner))));
    }
    let mut fields = fields.clone();
    fields.insert("more".to_owned(), json!(1));
    changed.push(Value::Object(fields));
    changed
}

#[test]
fn whatever_is_read_gives_an_error_or_a_machine_that_runs() {
    let mut asking = Bench::new(
        policy(|policy| policy.continue_after_failure().replanning(1)),
        [step("a"), step("b").after("a")],
    )
    .begin();
    asking.fail("a");
    let (mut errors, mut machines) = (0, 0);
    for snapshot in [rich().machine.snapshot(), asking.machine.snapshot()] {
        let texts = snapshot.to_json().unwrap();
        for (place, text) in texts.iter().enumerate() {
            for changed in changes(&serde_json::from_str(text).unwrap()) {
                let mut texts = texts.clone();
                texts[place] = changed.to_string();
                let Ok(read) = Snapshot::from_json(&texts) else {
                    errors += 1;
                    continue;
                };
                // What comes of a fork may be as unsound as it was, and is no worse.
                let (fork, _) = read.clone().forked("fork".parse().unwrap());
                for read in [read, fork] {
                    let set = policy(|policy| {
                        policy.continue_after_failure().max_parallel_steps(9).max_attempts(3).replanning(2)
                    });
                    match Machine::restore(&read, set, [], |_, _| Some(Capabilities::new())) {
                        Err(error) => {
                            assert!(matches!(error, ReplayError::Unsound { .. }));
                            errors += 1;
                        }
                        Ok(machine) => {
                            machines += 1;
                            let mut bench = Bench::of(machine.with_reflection());
                            bench.send(Event::Resume { retry_failed: true });
                            drive(&mut bench);
                        }
                    }
                }
            }
        }
    }
    assert!(errors > 1_000 && machines > 100, "{errors} errors and {machines} machines");
}

/// A snapshot with one step changed.
fn forged(change: impl FnOnce(&mut crate::machine::snapshot::StepState), id: &str) -> Option<String> {
    let mut snapshot = rich().machine.snapshot();
    change(snapshot.steps.iter_mut().find(|state| state.step.as_str() == id).unwrap());
    let error = Machine::restore(&snapshot, lively(), [], |_, _| None).err()?;
    Some(error.to_string())
}

#[test]
fn a_snapshot_that_no_run_can_have_left_is_refused() {
    let unsound = |reason: &str| {
        Some(format!(
            "snapshot at record 51 is not that of a run: {reason}; use an earlier one, or all records"
        ))
    };
    assert_eq!(forged(|_| {}, "done"), None);
    assert_eq!(
        forged(|state| state.output = None, "done"),
        unsound("step `done` is completed without an output, or has one and is not")
    );
    assert_eq!(
        forged(|state| state.row.start = 1, "done"),
        unsound("start 1 of step `revised` is that of another, or was not yet")
    );
    assert_eq!(
        forged(|state| state.row.start = 23, "running"),
        unsound("start 23 of step `running` is that of another, or was not yet")
    );
    assert_eq!(
        forged(|state| state.status = Skipped, "gate"),
        unsound("step `gate` is skipped, which the steps before it do not allow")
    );
    assert_eq!(
        forged(
            |state| {
                state.status = Running;
                (state.row.start, state.row.attempts) = (2, 1);
            },
            "skipped"
        ),
        unsound("step `skipped` is running, which the steps before it do not allow")
    );
    assert_eq!(
        forged(|state| state.output.as_mut().unwrap().sequence = 52, "done"),
        unsound("the output of step `done` comes from record 52")
    );
    assert_eq!(
        forged(|state| state.row.generation = u32::MAX, "done"),
        unsound("step `done` has a count that is too large")
    );
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

#[test]
fn a_place_of_the_next_revision_has_the_starts_of_a_snapshot() {
    let set = || policy(|policy| policy.continue_after_failure().replanning(1).max_parallel_steps(2));
    let mut bench = Bench::new(set(), [step("a"), step("b")]).begin();
    bench.end("b", WorkOutcome::Asked(Question::new("which?"))).fail("a");
    let snapshot = through_json(&bench.machine.snapshot());
    let mut bench = restored(&snapshot, set()).resume();
    let mut draft = bench.machine.plan().to_draft();
    draft.steps.insert(0, step("new"));
    let plan = crate::PlanValidator::default().validate_revision(bench.machine.plan(), draft).unwrap();
    let executors = vec![Some(Capabilities::new()); 3];
    bench.send(Event::RevisionReady { plan, executors });
    bench.send(Event::Answered { start: 2, answer: "this".into() });
    assert_eq!(bench.working(), ["b", "new"].map(str::to_owned).into_iter().rev().collect::<Vec<_>>());
    let asked = bench.starts.iter().find(|start| start.step == StepIndex::new(2)).unwrap();
    assert_eq!(asked.answer.as_ref().map(|answer| &answer.answer), Some(&json!("this")));
}
