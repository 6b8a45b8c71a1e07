//! Gates, questions, hooks and providers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use convoke_core::{Metadata, OwnerId, PlanId};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    ApprovalDecision, BoxError, PendingStep, PlanError, PlanEventKind, PlanPolicy, PlanPolicyBuilder,
    PlanUpdate, RunOptions, StepRequest, StepStatus,
    machine::{HookDecision, PendingKind, Refusal, RequestId, StepErrorCode, StopReason},
};
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
use serde_json::json;
use tokio::sync::Notify;

use super::support::{Act, Script, ms, policy, runner, with};
use crate::fixtures::{plan, step};

fn request(pending: &[PendingStep]) -> RequestId {
    match pending {
        [PendingStep { kind: PendingKind::Approval { request }, .. }] => *request,
        other => panic!("{other:?}"),
    }
}

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

fn note(text: &str) -> Metadata {
    [("by".to_owned(), json!(text))].into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn a_gate_stays_open_where_nobody_is_asked() {
    let script = Script::new();
    let run = runner(&script, PlanPolicy::default()).run_plan(plan([step("a").gated()])).await.unwrap();
    assert_eq!((run.stop, run.step("a").unwrap().attempts), (StopReason::ApprovalRequired, 0));
    request(&run.pending);
    assert_eq!(script.starts("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_approval_from_elsewhere_lets_a_stored_plan_go_on() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let here = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let run = here.run_plan(plan([step("a").gated()])).await.unwrap();
    let open = request(&run.pending);

    // Another process has a runner of its own.
    let elsewhere = with(&Script::new(), PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    assert_eq!(request(&elsewhere.status(&id()).await.unwrap().pending), open);
    elsewhere.approve(&id(), open, note("Ann")).await.unwrap();

    let run = here.resume(&id()).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(run.step("a").unwrap().approval, note("Ann"));
    let stale = elsewhere.approve(&id(), open, Metadata::new()).await.unwrap_err();
    assert!(matches!(stale, PlanError::Refused(Refusal::StaleApproval { .. })), "{stale:?}");
}

#[tokio::test(start_paused = true)]
async fn a_running_plan_hears_an_approval_from_elsewhere() {
    let (script, journal) = (Script::new().with("b", [Act::Slow(ms(100))]), MemoryJournal::new());
    let runner = with(&script, policy(|policy| policy.max_parallel_steps(2)), |builder| {
        builder.journal(journal.clone())
    });
    let handle = runner.start(plan([step("a").gated(), step("b")]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let open = request(&runner.status(&id()).await.unwrap().pending);
    runner.approve(&id(), open, Metadata::new()).await.unwrap();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, run.elapsed), (StopReason::Completed, ms(100)));
}

#[tokio::test(start_paused = true)]
async fn a_handle_approves_denies_and_refuses() {
    let script = Script::new().with("b", [Act::Slow(ms(100))]);
    let runner = runner(&script, policy(|policy| policy.max_parallel_steps(2).continue_after_failure()));
    let handle = runner.start(plan([step("a").gated(), step("b"), step("c").gated()]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let pending = handle.status().await.unwrap().pending;
    let requests: Vec<_> = pending.chunks(1).map(request).collect();
    handle.approve(requests[0], Metadata::new()).await.unwrap();
    let again = handle.approve(requests[0], Metadata::new()).await.unwrap_err();
    assert!(matches!(again, PlanError::Refused(Refusal::StaleApproval { .. })), "{again:?}");
    handle.deny(requests[1], "not today").await.unwrap();

    let run = handle.await.unwrap();
    assert_eq!(run.text("a"), Some("did a"));
    let denied = run.step("c").unwrap().error.clone().unwrap();
    assert_eq!((denied.code, denied.message.as_str()), (StepErrorCode::Denied, "not today"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_denies_and_the_others_go_on() {
    let script = Script::new();
    let hook = |request: StepRequest| async move {
        let denied = request.step().id.as_str() == "a";
        Ok::<_, BoxError>(if denied {
            HookDecision::Deny { reason: "no".to_owned() }
        } else {
            HookDecision::Allow
        })
    };
    let runner =
        with(&script, policy(PlanPolicyBuilder::continue_after_failure), |builder| builder.hook(hook));
    let run = runner.run_plan(plan([step("a"), step("b")])).await.unwrap();
    assert_eq!(run.step("a").unwrap().status, StepStatus::Blocked);
    assert_eq!((run.text("b"), script.starts("a")), (Some("did b"), 0));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_always_asks_and_a_provider_that_always_grants_come_to_an_end() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let script = Script::new().with("a", [Act::Fails, Act::Done]);
    let runner = with(&script, policy(|policy| policy.max_attempts(2)), |builder| {
        builder.hook(|_: StepRequest| async { Ok::<_, BoxError>(HookDecision::RequireApproval) }).approvals(
            move |_: StepRequest| {
                count.fetch_add(1, Ordering::Relaxed);
                async { Ok::<_, BoxError>(ApprovalDecision::Approve(Metadata::new())) }
            },
        )
    });
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!(
        (run.stop, asked.load(Ordering::Relaxed)),
        (StopReason::Completed, 2),
        "each attempt is asked about"
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_denies_and_a_provider_that_fails_leaves_the_gate_open() {
    let hook = |_: StepRequest| async { Err::<HookDecision, BoxError>("hook is down".into()) };
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.hook(hook));
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    let error = run.step("a").unwrap().error.clone().unwrap();
    assert_eq!(error.message, "policy hook gave no decision: hook is down");

    let provider = |_: StepRequest| async {
        assert!(std::hint::black_box(false), "it panics");
        Ok::<_, BoxError>(ApprovalDecision::Later)
    };
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.approvals(provider));
    let run = runner.run_plan(plan([step("a").gated()])).await.unwrap();
    assert_eq!((run.stop, run.pending.len()), (StopReason::ApprovalRequired, 1));
}

#[tokio::test(start_paused = true)]
async fn a_gate_is_surfaced_beside_a_failure() {
    let script = Script::new().with("a", [Act::Fails]);
    let run =
        runner(&script, PlanPolicy::default()).run_plan(plan([step("a"), step("b").gated()])).await.unwrap();
    assert_eq!((run.stop, run.pending.len()), (StopReason::Failed, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_continues_the_attempt_that_asked() {
    let (script, journal) = (Script::new().with("a", [Act::Asks]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!(run.stop, StopReason::ApprovalRequired);
    let PendingKind::Question { start, question } = run.pending[0].kind.clone() else { panic!("{run:?}") };
    assert_eq!(question.prompt, "which one?");

    runner.answer(&id(), start, "the red one").await.unwrap();
    let run = runner.resume(&id()).await.unwrap();
    assert_eq!(run.text("a"), Some("heard \"the red one\""));
    assert_eq!(run.step("a").unwrap().attempts, 1);
    let attempts: Vec<_> = script.seen().into_iter().map(|seen| (seen.attempt, seen.key)).collect();
    assert_eq!(attempts[0], attempts[1]);
    let stale = runner.answer(&id(), start, "again").await.unwrap_err();
    assert!(matches!(stale, PlanError::Refused(Refusal::StaleAnswer { .. })), "{stale:?}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_does_not_cover_what_has_changed_since() {
    let (script, journal) = (Script::new().with("a", [Act::Fails]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let run = runner.run_plan(plan([step("a").gated()])).await.unwrap();
    let first = request(&run.pending);
    runner.approve(&id(), first, Metadata::new()).await.unwrap();
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Failed);
    runner.reset_step(&id(), &"a".try_into().unwrap()).await.unwrap();
    let run = runner.resume(&id()).await.unwrap();
    let second = request(&run.pending);
    assert_ne!(first, second);
    let stale = runner.approve(&id(), first, Metadata::new()).await.unwrap_err();
    assert!(matches!(stale, PlanError::Refused(Refusal::StaleApproval { .. })), "{stale:?}");
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn people_who_do_not_answer_keep_nobody_else_from_being_asked() {
    let provider = |_: StepRequest| std::future::pending::<Result<ApprovalDecision, BoxError>>();
    let hook = |_: StepRequest| async { Ok::<_, BoxError>(HookDecision::Allow) };
    let script = Script::new();
    let runner = with(&script, policy(|policy| policy.max_parallel_steps(2)), |builder| {
        builder.approvals(provider).hook(hook)
    });
    let gated = (0..16).map(|n| step(format!("gated{n}")).gated());
    let handle = runner.start(plan(gated.chain([step("a"), step("b").after("a")])), RunOptions::new());
    tokio::time::sleep(ms(100)).await;
    assert_eq!(script.order(), ["a", "b"]);
    handle.cancel();
    assert_eq!(handle.await.unwrap().stop, StopReason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_any_more_what_somebody_else_has_answered() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let provider = move |_: StepRequest| {
        let dropped = Dropped(Arc::clone(&count));
        async move {
            let _dropped = dropped;
            std::future::pending::<Result<ApprovalDecision, BoxError>>().await
        }
    };
    let script = Script::new().with("a", [Act::Slow(ms(500))]);
    let runner = with(&script, PlanPolicy::default(), |builder| builder.approvals(provider));
    let handle = runner.start(plan([step("a").gated(), step("b").gated()]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let open = handle.status().await.unwrap().pending;
    handle.approve(request(&open[..1]), Metadata::new()).await.unwrap();
    handle.deny(request(&open[1..]), "no").await.unwrap();
    tokio::time::sleep(ms(10)).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    assert_eq!(handle.await.unwrap().stop, StopReason::Blocked);
}

#[tokio::test(start_paused = true)]
async fn who_follows_a_run_hears_of_gates() {
    let runner = runner(&Script::new(), PlanPolicy::default());
    let handle = runner.start(plan([step("a").gated(), step("b")]), RunOptions::new());
    let mut updates = handle.updates();
    handle.await.unwrap();
    let mut kinds = Vec::new();
    while let Some(PlanUpdate::Event(event)) = updates.next().await {
        kinds.push(event.kind);
    }
    assert!(kinds.contains(&PlanEventKind::ApprovalRequired), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&PlanEventKind::Finished));
}

/// The worst moment: a commit ends while a signal is heard, and another one is wanted already. Then the process ends.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_heard_survives_its_process() {
    let journal = MemoryJournal::new();
    let (armed, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let (is_armed, appends) = (Arc::clone(&armed), AtomicUsize::new(0));
    let hooked = HookedJournal::new(journal.clone(), move |call, when| match (call, when) {
        (JournalCall::NextSignals, JournalMoment::After) => {
            told.notify_one();
            go_on()
        }
        (JournalCall::Append, JournalMoment::Before) if is_armed.load(Ordering::Relaxed) => {
            match appends.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    let told = Arc::clone(&told);
                    Box::pin(async move {
                        told.notified().await;
                        Ok(())
                    })
                }
                1 => go_on(),
                _ => Box::pin(std::future::pending()),
            }
        }
        _ => go_on(),
    });
    let script = Script::new()
        .with("s1", [Act::Slow(ms(20))])
        .with("s2", [Act::Slow(ms(30))])
        .with("s3", [Act::Slow(ms(500)), Act::Done]);
    let policy = policy(|policy| policy.max_parallel_steps(3));
    let owner = OwnerId::new("one").unwrap();
    let first = with(&script, policy.clone(), |builder| builder.journal(hooked).owner(owner.clone()));
    let steps = [step("s1"), step("s2"), step("s3"), step("g").gated()];
    let handle = first.start(plan(steps), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    armed.store(true, Ordering::Relaxed);
    tokio::time::sleep(ms(30)).await;
    let open = request(&first.status(&id()).await.unwrap().pending);
    first.approve(&id(), open, Metadata::new()).await.unwrap();
    tokio::time::sleep(ms(10)).await;

    // One of the same name stands for the process that comes back.
    let again = with(&script, policy, |builder| builder.journal(journal).owner(owner));
    let run = again.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.text("g")), (StopReason::Completed, Some("did g")));
    drop(handle);
}

#[tokio::test(start_paused = true)]
async fn what_a_handle_was_told_is_durable_once_it_is_answered() {
    let held = Arc::new(AtomicUsize::new(0));
    let holds = Arc::clone(&held);
    let journal = HookedJournal::new(MemoryJournal::new(), move |call, when| {
        let time = if (call, when) == (JournalCall::Append, JournalMoment::Before) {
            holds.load(Ordering::Relaxed)
        } else {
            0
        };
        Box::pin(async move {
            tokio::time::sleep(ms(time as u64)).await;
            Ok(())
        })
    });
    let script = Script::new().with("b", [Act::Slow(ms(500))]);
    let runner =
        with(&script, policy(|policy| policy.max_parallel_steps(2)), |builder| builder.journal(journal));
    let handle = runner.start(plan([step("a").gated(), step("b")]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let pending = handle.status().await.unwrap().pending;
    held.store(100, Ordering::Relaxed);
    let told = tokio::time::Instant::now();
    handle.approve(request(&pending), Metadata::new()).await.unwrap();
    assert_eq!(told.elapsed(), ms(100), "the write of what was told takes so long");
    assert_eq!(handle.await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_is_open_is_answered_while_a_hook_is_asked_that_came_later() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let first = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let open = request(&first.run_plan(plan([step("a").gated()])).await.unwrap().pending);
    let hook = |_: StepRequest| async {
        tokio::time::sleep(ms(100)).await;
        Ok::<_, BoxError>(HookDecision::Allow)
    };
    let hooked = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()).hook(hook));
    let handle = hooked.start(id(), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    handle.approve(open, Metadata::new()).await.unwrap();
    assert_eq!(handle.await.unwrap().stop, StopReason::Completed);
}
