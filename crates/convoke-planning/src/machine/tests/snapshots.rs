//! Snapshots stand for the records that they hold.

use convoke_core::{Metadata, ResumeToken};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::{
    Plan, PlanPolicy, StepIndex,
    StepStatus::*,
    machine::{
        Capabilities, Effects, Event, Finding, HookDecision, Machine, Question, RecordError, ReplayError,
        Snapshot, WorkOutcome,
        ledger::Ledger,
        phase::Phase,
        tests::{
            bench::{Bench, ms, output, plan, policy, step},
            properties::{case, config},
            storms::{storm, stormy, told},
        },
    },
};

/// What is written and read again.
pub(super) fn through_json(snapshot: &Snapshot) -> Snapshot {
    let texts = snapshot.to_json().unwrap();
    let read = Snapshot::from_json(&texts).unwrap();
    assert_eq!(&read, snapshot, "{texts:?}");
    read
}

pub(super) fn restored(snapshot: &Snapshot, policy: PlanPolicy) -> Bench {
    Bench::of(Machine::restore(snapshot, policy, [], |_, _| Some(Capabilities::new())).unwrap())
}

/// A run that has everything: a step of each status, mark and note.
pub(super) fn rich() -> Bench {
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

pub(super) fn lively() -> PlanPolicy {
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
pub(super) fn drive(bench: &mut Bench) {
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
            r#"{"step":"given-up","status":"failed","row":{"start":8,"error":{"code":"step_timeout","message":"step `given-up` did not end before its deadline; allow it more time, or split it"},"attempts":1,"mark":"detached","took_millis":26}}"#,
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
    assert!(bytes(&many) <= 501 * 192, "{} bytes a step", bytes(&many) / 501);
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
                            // What has ended is reviewed, or completed at once.
                            let reviewed = machines % 2 == 0;
                            let machine = if reviewed { machine.with_reflection() } else { machine };
                            let mut bench = Bench::of(machine);
                            bench.send(Event::Resume { retry_failed: true, still_running: Vec::new() });
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
