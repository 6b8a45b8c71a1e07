//! What is kept, and what a later run makes of it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use convoke_core::{Journal, JournalError, JournalErrorKind, LogId, OwnerId, PlanId, ReadFrom};
use convoke_journal::{FileJournal, MemoryJournal};
use convoke_planning::{
    FunctionStepExecutor, PlanError, PlanPolicy, PlanRunner, PlanWork, RunOptions, StepStatus, UnreadableLog,
    machine::{Capabilities, Durability, Effects, Refusal, StepErrorCode, StopReason},
};
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
use futures_util::FutureExt as _;
use tokio::sync::Notify;

use super::support::{Act, Script, ms, policy, runner, with};
use crate::fixtures::{large, step};

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

fn log() -> LogId {
    LogId::new("plan/plan").unwrap()
}

fn chain(length: usize) -> convoke_planning::Plan {
    let steps = (0..length)
        .map(|n| if n == 0 { step("s0") } else { step(format!("s{n}")).after(format!("s{}", n - 1)) });
    convoke_planning::PlanValidator::new(&large()).validate(crate::fixtures::draft(steps)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_resumed_plan_runs_what_is_left() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let runner = with(&script, policy(|policy| policy.steps_per_run(1)), |builder| builder.journal(journal));
    let run = runner.run_plan(chain(2)).await.unwrap();
    assert_eq!(run.stop, StopReason::StepBudget);
    let again = runner.resume(&id()).await.unwrap();
    assert_eq!(
        (again.stop, again.run, script.order()),
        (StopReason::Completed, run.run, vec!["s0".to_owned(), "s1".to_owned()])
    );
}

#[tokio::test]
async fn a_plan_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new();
    for durability in [Durability::Strict, Durability::Relaxed, Durability::OnExit] {
        let folder = folder.path().join(format!("{durability:?}"));
        let journal = FileJournal::open(&folder).await.unwrap();
        let first = with(&script, policy(|policy| policy.steps_per_run(3)), |builder| {
            builder.journal(journal).durability(durability)
        });
        assert_eq!(first.run_plan(chain(5)).await.unwrap().stop, StopReason::StepBudget);
        drop(first);

        let journal = FileJournal::open(&folder).await.unwrap();
        let second =
            with(&script, PlanPolicy::default(), |builder| builder.journal(journal).durability(durability));
        let before = second.status(&id()).await.unwrap();
        assert_eq!(
            (before.stop, before.status("s2")),
            (Some(StopReason::StepBudget), Some(StepStatus::Completed))
        );
        let run = second.resume(&id()).await.unwrap();
        assert_eq!((run.stop, run.executed), (StopReason::Completed, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_has_one_runner_at_a_time() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(50))]), MemoryJournal::new());
    let one = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let other = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let handle = one.start(chain(1), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let refused = other.resume(&id()).await.unwrap_err();
    assert!(matches!(refused, PlanError::Claimed { .. }), "{refused:?}");
    let refused = other.run_plan(chain(1)).await.unwrap_err();
    assert!(matches!(refused, PlanError::BegunBefore { .. }), "{refused:?}");
    assert_eq!(handle.await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_stalled_is_fenced() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(50))]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let handle = runner.start(chain(2), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    // Of another name: whoever has the name of the owner is the owner, come back, and waits for nothing to run out.
    let thief = OwnerId::new("thief").unwrap();
    let taken = take(&journal, &thief).await;
    let run = handle.await.unwrap();
    assert_eq!((run.stop, script.starts("s1")), (StopReason::ClaimLost, 0));
    assert!(run.error.is_some());
    journal.release(&log(), taken).await.unwrap();
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

/// Takes a claim whose owner renews it no more: on the paused clock, one that has stalled.
async fn take(journal: &MemoryJournal, owner: &OwnerId) -> convoke_core::FencingToken {
    loop {
        // The clock jumps, and the owner has had no turn.
        tokio::time::advance(Duration::from_secs(31)).await;
        if let Ok(claim) = journal.claim(&log(), owner, Duration::from_mins(10)).await {
            return claim.token;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_whose_claim_has_run_out_starts_nothing() {
    let (started, journal) = (Arc::new(Mutex::new(Vec::new())), MemoryJournal::new());
    let noted = Arc::clone(&started);
    let executor = FunctionStepExecutor::new(move |_, ctx| {
        noted.lock().unwrap().push(ctx.step().id.to_string());
        async {
            // The thread was busy for longer than a claim lasts, and the owner has no turn to renew it.
            let advanced = tokio::time::advance(Duration::from_secs(31)).now_or_never();
            Ok(format!("{advanced:?}"))
        }
    });
    // No start waits for a commit, which would be refused.
    let builder = PlanRunner::builder().executor(executor).journal(journal.clone());
    let runner = builder.durability(Durability::Relaxed).build().unwrap();
    assert_eq!(runner.run_plan(chain(2)).await.unwrap().stop, StopReason::ClaimLost);
    assert_eq!(*started.lock().unwrap(), ["s0"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_renewed_while_a_run_goes_on() {
    let (script, journal) =
        (Script::new().with("s0", [Act::Slow(Duration::from_mins(5))]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    assert_eq!(runner.run_plan(chain(2)).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_detached_step_is_not_started_again_unasked() {
    let (script, journal) = (Script::new().with("s0", [Act::Deaf(ms(500)), Act::Done]), MemoryJournal::new());
    let runner = with(&script, policy(|policy| policy.run_timeout(ms(100))), |builder| {
        builder.journal(journal.clone())
    });
    let run = runner.run_plan(chain(1)).await.unwrap();
    assert_eq!((run.stop, run.detached), (StopReason::RunTimeout, 1));

    let step = "s0".try_into().unwrap();
    let refused = runner.reset_step(&id(), &step).await.unwrap_err();
    assert!(
        matches!(refused, PlanError::Refused(Refusal::NotReset { .. })),
        "it still runs here: {refused:?}"
    );
    let resetting = policy(|policy| policy.run_timeout(Duration::from_secs(9)).reset_detached_on_resume());
    let resetting = with(&script, resetting, |builder| builder.journal(journal.clone()));
    let run = resetting.start(id(), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    assert_eq!(script.starts("s0"), 1, "it still runs here");
    tokio::time::sleep(ms(500)).await;
    drop(run);

    // Once it has ended, it may start again: by the option, or by a reset.
    assert_eq!(resetting.resume(&id()).await.unwrap().stop, StopReason::Completed);
    assert_eq!(script.starts("s0"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reset_step_starts_anew_under_another_key() {
    let (script, journal) = (Script::new().with("s0", [Act::Fails, Act::Done]), MemoryJournal::new());
    let runner =
        with(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure), |builder| {
            builder.journal(journal.clone())
        });
    let run = runner.run_plan(chain(3)).await.unwrap();
    assert_eq!((run.stop, run.skipped), (StopReason::Failed, 2));
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Failed, "a failed step stays failed");

    runner.reset_step(&id(), &"s0".try_into().unwrap()).await.unwrap();
    let run = runner.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.step("s0").unwrap().attempts), (StopReason::Completed, 1));
    let keys: Vec<_> = script.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!(keys, ["plan/s0/0", "plan/s0/1", "plan/s1/0", "plan/s2/0"]);
    let refused = runner.reset_step(&id(), &"s0".try_into().unwrap()).await.unwrap_err();
    assert!(matches!(refused, PlanError::Refused(Refusal::NotReset { .. })), "{refused:?}");
    let unknown = runner.reset_step(&id(), &"zero".try_into().unwrap()).await.unwrap_err();
    assert!(matches!(unknown, PlanError::UnknownStep { .. }), "{unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn failed_steps_are_tried_again_where_that_is_asked_for() {
    let (script, journal) = (Script::new().with("s0", [Act::Fails, Act::Done]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    assert_eq!(runner.run_plan(chain(1)).await.unwrap().stop, StopReason::Failed);
    let run = runner.resume_with(&id(), RunOptions::new().retrying_failed()).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancelling_from_elsewhere_ends_the_run_that_goes_on_and_no_other() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(50))]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let handle = runner.start(chain(2), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    runner.cancel(&id()).await.unwrap();
    assert_eq!(handle.await.unwrap().stop, StopReason::Cancelled);
    let refused = runner.cancel(&id()).await.unwrap_err();
    assert!(matches!(refused, PlanError::NotRunning { .. }), "{refused:?}");
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_that_did_not_hear_of_it_ends_no_later_one() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(50))]), MemoryJournal::new());
    let deaf = HookedJournal::new(journal.clone(), |call, _| match call {
        JournalCall::NextSignals => Box::pin(std::future::pending()),
        _ => go_on(),
    });
    let first = with(&script, PlanPolicy::default(), |builder| builder.journal(deaf));
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let cancelled = async {
        tokio::time::sleep(ms(10)).await;
        runner.cancel(&id()).await.unwrap();
    };
    // Nobody waits for the first one any more.
    tokio::select! {
        run = first.run_plan(chain(2)) => panic!("{run:?}"),
        () = cancelled => {}
    }
    tokio::time::sleep(ms(10)).await;
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_that_ends_meanwhile_does_not_end_the_next_one() {
    let journal = MemoryJournal::new();
    let script = Script::new().with("s0", [Act::Slow(ms(50))]).with("s1", [Act::Slow(ms(50))]);
    let held = Arc::new(Notify::new());
    let until = Arc::clone(&held);
    let slow = HookedJournal::new(journal.clone(), move |call, when| {
        if (call, when) != (JournalCall::Signal, JournalMoment::Before) {
            return go_on();
        }
        let until = Arc::clone(&until);
        Box::pin(async move {
            until.notified().await;
            Ok(())
        })
    });
    let one = with(&script, policy(|policy| policy.steps_per_run(1)), |builder| builder.journal(slow));
    let handle = one.start(chain(2), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    // It has read of the first run, and says so while the second goes on.
    let cancelled = tokio::spawn(async move { one.cancel(&id()).await });
    assert_eq!(handle.await.unwrap().stop, StopReason::StepBudget);
    let rest = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let handle = rest.start(id(), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    held.notify_one();
    cancelled.await.unwrap().unwrap();
    assert_eq!(handle.await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_fork_begins_where_the_other_was() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let original = runner.run_plan(chain(4)).await.unwrap();
    let fork = PlanId::new("fork").unwrap();
    // begun, s0 started, s0 completed, s1 started
    let forked = runner.fork(&id(), 4, fork.clone()).await.unwrap();
    assert_eq!(forked.restarted.iter().map(convoke_core::StepId::as_str).collect::<Vec<_>>(), ["s1"]);
    let taken = runner.fork(&id(), 4, fork.clone()).await.unwrap_err();
    assert!(matches!(taken, PlanError::BegunBefore { .. }), "{taken:?}");

    let run = runner.resume(&fork).await.unwrap();
    assert_eq!((run.stop, run.executed, run.text("s0")), (StopReason::Completed, 3, Some("did s0")));
    assert_ne!(run.run, original.run);
    assert_eq!(script.seen()[4].key, "fork/s1/1");
    assert_eq!(runner.status(&id()).await.unwrap().stop, Some(StopReason::Completed));
    let beyond = runner.fork(&id(), 99, PlanId::new("other").unwrap()).await.unwrap_err();
    assert!(matches!(beyond, PlanError::NoSuchRecord { asked: 99, .. }), "{beyond:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_log_is_compacted_and_resumes_alike() {
    let journal = MemoryJournal::retaining(convoke_journal::Retain::Snapshots(0));
    let big = "x".repeat(20_000);
    let executor = move |limit: u64| {
        let big = big.clone();
        let executor = FunctionStepExecutor::new(move |_, _| {
            let big = big.clone();
            async move { Ok(big) }
        });
        let policy = policy(|policy| policy.steps_per_run(limit));
        PlanRunner::builder().executor(executor).policy(policy).journal(journal.clone()).build().unwrap()
    };
    let runner = executor(150);
    let run = runner.run_plan(chain(200)).await.unwrap();
    assert_eq!(run.stop, StopReason::StepBudget, "{:?}", run.error);
    let fork = PlanId::new("fork").unwrap();
    let compacted = runner.fork(&id(), 1, fork.clone()).await.unwrap_err();
    let PlanError::Compacted { oldest, .. } = compacted else { panic!("{compacted:?}") };
    assert!(oldest > 1);
    let before = runner.status(&id()).await.unwrap();
    assert_eq!(before.counts[&StepStatus::Completed], 150);
    runner.fork(&id(), oldest, fork.clone()).await.unwrap();
    let run = executor(1_000).resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.executed), (StopReason::Completed, 50));
    assert_eq!(executor(1_000).resume(&fork).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_was_deleted_may_run_again_as_another_run() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let first = runner.run_plan(chain(1)).await.unwrap();
    runner.delete(&id()).await.unwrap();
    let second = runner.run_plan(chain(1)).await.unwrap();
    assert_ne!(first.run, second.run);
}

#[tokio::test(start_paused = true)]
async fn the_plans_of_a_journal_are_listed_by_their_ids() {
    let journal = MemoryJournal::new();
    journal.create(&LogId::new("session/other").unwrap()).await.unwrap();
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let mut ids = vec!["a".to_owned(), "b/100%~ %2F".to_owned(), "x".repeat(256), "\u{e9}".to_owned()];
    for id in &ids {
        let draft = convoke_planning::PlanDraft::new("goal").with_id(id.clone()).with_step(step("a"));
        let plan = convoke_planning::PlanValidator::default().validate(draft).unwrap();
        assert_eq!(runner.run_plan(plan).await.unwrap().stop, StopReason::Completed);
    }
    let mut found: Vec<_> = runner.plans().await.unwrap().iter().map(ToString::to_string).collect();
    found.sort();
    ids.sort();
    assert_eq!(found, ids);
}

#[tokio::test(start_paused = true)]
async fn what_was_detached_in_a_process_that_is_gone_is_started_only_where_that_is_asked_for() {
    let (script, journal) = (Script::new().with("s0", [Act::Deaf(ms(500)), Act::Done]), MemoryJournal::new());
    let timed = policy(|policy| policy.run_timeout(ms(100)));
    let timed = with(&script, timed, |builder| builder.journal(journal.clone()));
    assert_eq!(timed.run_plan(chain(1)).await.unwrap().stop, StopReason::RunTimeout);
    // Nothing here knows of the work any more.
    tokio::time::sleep(ms(900)).await;

    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let run = runner.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.executed, run.detached), (StopReason::NoReadyStep, 0, 1));
    let asked = policy(convoke_planning::PlanPolicyBuilder::reset_detached_on_resume);
    let asked = with(&script, asked, |builder| builder.journal(journal.clone()));
    let run = asked.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.executed), (StopReason::Completed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_never_finished_is_begun_again() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    journal.create(&log()).await.unwrap();
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let unfinished = runner.resume(&id()).await.unwrap_err();
    let PlanError::Unreadable { source: UnreadableLog::Incomplete, .. } = unfinished else {
        panic!("{unfinished:?}")
    };
    assert_eq!(runner.run_plan(chain(1)).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_side_effect_that_was_interrupted_is_not_repeated() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(500)), Act::Done]), MemoryJournal::new());
    let script = script.able("s0", Capabilities::new().with_effects(Effects::SideEffect));
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let copy = interrupted(&runner, chain(1), &journal).await;
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(copy.clone()));
    let run = runner.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.step("s0").unwrap().outcome_unknown), (StopReason::NoReadyStep, true));
    assert_eq!(script.starts("s0"), 1);
    runner.reset_step(&id(), &"s0".try_into().unwrap()).await.unwrap();
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

/// What a journal would have had, had the process ended while the first step ran.
async fn interrupted(
    runner: &PlanRunner,
    work: impl Into<PlanWork>,
    journal: &MemoryJournal,
) -> MemoryJournal {
    let handle = runner.start(work, RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    let contents = journal.read(&log(), ReadFrom::Latest).await.unwrap();
    let copy = MemoryJournal::new();
    copy.create(&log()).await.unwrap();
    let claim = copy.claim(&log(), &OwnerId::new("copy").unwrap(), ms(1)).await.unwrap();
    let commit =
        convoke_core::Commit::new("copy".try_into().unwrap(), claim.token, convoke_core::Sequence::START)
            .with_records(contents.records);
    copy.append(&log(), commit).await.unwrap();
    copy.release(&log(), claim.token).await.unwrap();
    drop(handle);
    copy
}

#[tokio::test(start_paused = true)]
async fn a_step_that_ends_its_process_fails_at_the_fifth_time() {
    let (script, journal) = (Script::new().with("s0", [Act::Slow(ms(500))]), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let mut copy = interrupted(&runner, chain(1), &journal).await;
    for interruptions in 1..=5 {
        let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(copy.clone()));
        if interruptions == 5 {
            let run = runner.resume(&id()).await.unwrap();
            let error = run.step("s0").unwrap().error.clone().unwrap();
            assert_eq!((run.stop, error.code), (StopReason::Failed, StepErrorCode::InterruptedRepeatedly));
            break;
        }
        copy = interrupted(&runner, id(), &copy).await;
    }
    let attempts: Vec<_> = script.seen().into_iter().map(|seen| (seen.attempt, seen.key)).collect();
    assert_eq!(attempts, vec![(1, "plan/s0/0".to_owned()); 5]);
}

#[tokio::test]
async fn nothing_is_stored_without_a_journal() {
    let runner = runner(&Script::new(), PlanPolicy::default());
    let error = runner.resume(&id()).await.unwrap_err();
    assert!(matches!(error, PlanError::NoJournal), "{error:?}");
    let journal = MemoryJournal::new();
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.journal(journal));
    let error = runner.status(&id()).await.unwrap_err();
    assert!(matches!(error, PlanError::NotFound { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn the_last_moment_to_start_is_the_same_after_a_pause() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let at = |now: u64, starts: u64| {
        let policy = policy(|policy| policy.no_start_after(1_000).steps_per_run(starts));
        with(&script, policy, |builder| builder.journal(journal.clone()).wall_clock(move || now))
    };
    assert_eq!(at(999, 1).run_plan(chain(3)).await.unwrap().stop, StopReason::StepBudget);
    assert_eq!(at(1_000, 1).resume(&id()).await.unwrap().executed, 1);
    let run = at(1_001, 9).resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.executed), (StopReason::NoReadyStep, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_at_work_is_completed_later() {
    let journal = MemoryJournal::new();
    let ids = ["s0", "s1", "s2", "s3"];
    let script =
        ids.iter().fold(Script::new(), |script, id| script.with(id, [Act::Slow(ms(500)), Act::Done]));
    let runner =
        with(&script, policy(|policy| policy.max_parallel_steps(4)), |builder| builder.journal(journal));
    let handle = runner.start(crate::fixtures::plan(ids.map(step)), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    handle.cancel();
    let run = handle.await.unwrap();
    assert!(run.steps.iter().all(|step| step.status == StepStatus::Pending && step.attempts == 0), "{run:?}");
    let run = runner.resume(&id()).await.unwrap();
    assert_eq!((run.stop, run.completed), (StopReason::Completed, 4));
}

#[tokio::test(start_paused = true)]
async fn what_ends_in_the_moment_in_which_the_run_does_is_not_left_behind() {
    let begun = tokio::time::Instant::now();
    let journal = MemoryJournal::new();
    let failing = HookedJournal::new(journal.clone(), move |call, when| {
        if (call, when) == (JournalCall::Append, JournalMoment::Before) && begun.elapsed() >= ms(400) {
            return Box::pin(async {
                Err(JournalError::new(JournalErrorKind::Io, &log(), "fails on purpose"))
            });
        }
        go_on()
    });
    let inline = || Capabilities::new().inline();
    let script = Script::new().able("s1", inline()).able("s2", inline());
    let script = script.with("s0", [Act::Slow(ms(400))]).with("s1", [Act::Deaf(ms(1_000))]);
    let script = script.with("s2", [Act::Deaf(ms(1_000)), Act::Done]);
    let policy = policy(|policy| policy.max_parallel_steps(3).grace(ms(600)));
    let plan = || {
        let steps = ["s0", "s1", "s2"].map(step);
        convoke_planning::PlanValidator::new(&large()).validate(crate::fixtures::draft(steps)).unwrap()
    };
    let run =
        with(&script, policy.clone(), |builder| builder.journal(failing)).run_plan(plan()).await.unwrap();
    assert_eq!((run.stop, script.is_idle()), (StopReason::StoreFailed, true));
    // The claim could not be given back, and ends by itself.
    tokio::time::sleep(Duration::from_secs(31)).await;
    let again = with(&script, policy, |builder| builder.journal(journal)).resume(&id()).await.unwrap();
    assert_eq!((again.stop, script.starts("s2")), (StopReason::Completed, 2));
}
