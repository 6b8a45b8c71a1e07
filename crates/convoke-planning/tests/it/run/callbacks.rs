//! What the code of others does to a run: it panics where nobody expects it, and goes on when the run is over.

use std::{
    error::Error,
    fmt,
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use convoke_core::{ExecutorError, Journal, LogId, OwnerId, PlanId};
use convoke_journal::{FileJournal, MemoryJournal};
use convoke_planning::{
    ApprovalDecision, BoxError, FunctionPlanner, FunctionStepExecutor, Observation, Plan, PlanDraft,
    PlanError, PlanPolicy, PlanRun, PlanRunner, PlanStep, PlanningRequest, Review, RunOptions, StepContext,
    StepExecutor, StepOutcome, StepRequest, StepStatus,
    machine::{
        Capabilities, Durability, Finding, HookDecision, Refusal, StepErrorCode, StepInput, StopReason,
    },
};
use convoke_testkit::{FaultyJournal, HookedJournal, JournalCall, JournalFault, JournalMoment};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::support::{Act, Script, ms, policy, runner, with};
use crate::fixtures::{plan, step};

/// More than any run here takes.
const PATIENCE: Duration = Duration::from_mins(10);

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

async fn in_time(run: impl Future<Output = Result<PlanRun, PlanError>>) -> PlanRun {
    tokio::time::timeout(PATIENCE, run).await.expect("the run ends").unwrap()
}

/// An error that panics over what it would say.
#[derive(Debug)]
struct Wordless;

impl fmt::Display for Wordless {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl Error for Wordless {}

#[tokio::test(start_paused = true)]
async fn an_error_that_panics_over_its_text_fails_its_step() {
    for capabilities in [Capabilities::new(), Capabilities::new().inline()] {
        let executor = FunctionStepExecutor::new(|_, _| async {
            Err::<String, ExecutorError>(ExecutorError::from(Wordless))
        });
        let executor = executor.with_capabilities(capabilities);
        let runner = PlanRunner::builder().executor(executor).build().unwrap();
        let run = in_time(runner.run_plan(plan([step("a")]))).await;
        let error = run.step("a").unwrap().error.clone().unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (StepErrorCode::ExecutorPanicked, "executor panicked: no words")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_asked_and_answers_with_such_an_error_has_answered() {
    let hook = |_: StepRequest| async { Err::<HookDecision, BoxError>(Wordless.into()) };
    let hooked = with(&Script::new(), PlanPolicy::default(), |builder| builder.hook(hook));
    let run = in_time(hooked.run_plan(plan([step("a")]))).await;
    assert_eq!(run.step("a").unwrap().error.as_ref().unwrap().code, StepErrorCode::Denied);

    let provider = |_: StepRequest| async { Err::<ApprovalDecision, BoxError>(Wordless.into()) };
    let gated = with(&Script::new(), PlanPolicy::default(), |builder| builder.approvals(provider));
    let run = in_time(gated.run_plan(plan([step("a").gated()]))).await;
    assert_eq!((run.stop, run.pending.len()), (StopReason::ApprovalRequired, 1));

    let reflector = |_: Review| async { Err::<Finding, BoxError>(Wordless.into()) };
    let reviewed = with(&Script::new(), PlanPolicy::default(), |builder| builder.reflector(reflector));
    let run = in_time(reviewed.run_plan(plan([step("a")]))).await;
    assert_eq!(run.step("a").unwrap().error.as_ref().unwrap().code, StepErrorCode::Rejected);

    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Ok::<_, BoxError>(PlanDraft::new("goal")) })
            .revising(|_: Plan, _: Observation| async { Err::<PlanDraft, BoxError>(Wordless.into()) });
    let script = Script::new().with("a", [Act::Fails]);
    let revised = with(&script, policy(|policy| policy.replanning(1)), |builder| builder.planner(planner));
    let run = in_time(revised.run_plan(plan([step("a")]))).await;
    assert_eq!(run.stop, StopReason::Failed);
}

/// Says nothing of a step without a panic.
struct Speechless;

impl StepExecutor for Speechless {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        assert_ne!(step.id.as_str(), "a", "what is that?");
        Some(Capabilities::new())
    }

    async fn execute(&self, _: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        Ok(ctx.step().id.as_str().into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_of_which_its_executor_knows_nothing_is_blocked() {
    let policy = policy(convoke_planning::PlanPolicyBuilder::continue_after_failure);
    let runner = PlanRunner::builder().executor(Speechless).policy(policy).build().unwrap();
    let run = in_time(runner.run_plan(plan([step("a"), step("b")]))).await;
    assert_eq!(run.step("a").unwrap().error.as_ref().unwrap().code, StepErrorCode::NoExecutor);
    assert_eq!(run.step("b").unwrap().status, StepStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_scorer_that_panics_ends_the_run_and_names_the_step() {
    let scorer = |_: &Plan, step: &PlanStep| if step.id.as_str() == "a" { panic!("how much?") } else { 1.0 };
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.scorer(scorer));
    let run = in_time(runner.run_plan(plan([step("a"), step("b")]))).await;
    assert_eq!((run.stop, run.executed), (StopReason::InvalidScore, 0));
    assert_eq!(run.error.unwrap().step.unwrap().as_str(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_panics_is_that_of_the_system() {
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| {
        builder.wall_clock(|| panic!("what is the time?"))
    });
    let run = in_time(runner.run_plan(plan([step("a")]))).await;
    assert_eq!(run.stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn who_follows_a_run_hears_its_end_though_others_keep_what_belongs_to_it() {
    let kept: Arc<Mutex<Option<StepContext>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let executor = FunctionStepExecutor::new(move |_, ctx| {
        *keep.lock().unwrap() = Some(ctx);
        async { Ok("done") }
    });
    let runner = PlanRunner::builder().executor(executor).build().unwrap();
    let mut handle = runner.start(plan([step("a")]), RunOptions::new());
    let mut updates = handle.updates();
    (&mut handle).await.unwrap();
    let all = async {
        let mut count = 0;
        while updates.next().await.is_some() {
            count += 1;
        }
        count
    };
    assert!(tokio::time::timeout(PATIENCE, all).await.expect("the end is told") > 0);
    drop(handle);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_run_that_is_over() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let script = Script::new().with("a", [Act::Slow(ms(5))]).with("b", [Act::Panics]);
    runner(&script, policy(|policy| policy.max_parallel_steps(2)))
        .run_plan_with(plan([step("a"), step("b"), step("c").gated()]), options)
        .await
        .unwrap();
    tokio::time::sleep(ms(1)).await;
    assert_eq!(alive(), 0);
    drop(token);
}

/// A run whose store fails while one of its steps does not hear.
async fn left_behind(
    script: &Script,
    journal: &FaultyJournal<MemoryJournal>,
    policy: PlanPolicy,
) -> PlanRunner {
    let runner = with(script, policy, |builder| builder.journal(journal.clone()));
    let run = in_time(runner.run_plan(plan([step("deaf"), step("quick")]))).await;
    assert_eq!((run.stop, script.starts("deaf")), (StopReason::StoreFailed, 1));
    runner
}

#[tokio::test(start_paused = true)]
async fn what_still_runs_when_the_store_has_failed_is_not_started_again() {
    let script =
        Script::new().with("deaf", [Act::Deaf(ms(500)), Act::Done]).with("quick", [Act::Slow(ms(10))]);
    let policy = policy(|policy| policy.max_parallel_steps(2).reset_detached_on_resume());
    // The plan, then begun and both starts, then the end of the quick one.
    let journal = FaultyJournal::new(MemoryJournal::new()).failing(2, JournalFault::Poison);
    let runner = left_behind(&script, &journal, policy).await;

    let refused = runner.reset_step(&id(), &"deaf".try_into().unwrap()).await.unwrap_err();
    assert!(matches!(refused, PlanError::Refused(Refusal::NotReset { .. })), "{refused:?}");
    let run = in_time(runner.resume(&id())).await;
    assert_eq!((run.stop, script.starts("deaf")), (StopReason::NoReadyStep, 1));
    assert_eq!(run.step("quick").unwrap().status, StepStatus::Completed);

    tokio::time::sleep(ms(500)).await;
    let run = in_time(runner.resume(&id())).await;
    assert_eq!((run.stop, script.starts("deaf")), (StopReason::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn what_still_runs_though_no_record_says_so_is_not_started_beside_itself() {
    let script = Script::new().with("deaf", [Act::Deaf(ms(500)), Act::Done]);
    // The plan is there, and nothing after it.
    let journal = FaultyJournal::new(MemoryJournal::new()).failing(1, JournalFault::Poison);
    let short = policy(|policy| policy.run_timeout(ms(20)));
    let runner = |policy| {
        with(&script, policy, |builder| {
            let builder = builder.journal(journal.clone()).durability(Durability::OnExit);
            // The claim cannot be given back either, and is that of its owner.
            builder.owner(OwnerId::new("me").unwrap())
        })
    };
    let run = in_time(runner(short).run_plan(plan([step("deaf")]))).await;
    assert_eq!((run.stop, script.is_idle()), (StopReason::StoreFailed, false));
    let run = in_time(runner(PlanPolicy::default()).resume(&id())).await;
    assert_eq!((run.stop, script.starts("deaf"), script.most_at_once("d")), (StopReason::Completed, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_claims_a_plan_at_once_knows_what_still_runs() {
    let script = Script::new().with("deaf", [Act::Deaf(ms(500))]);
    let inner = MemoryJournal::new();
    let policy = policy(|policy| policy.run_timeout(Duration::from_secs(9)).reset_detached_on_resume());
    let next = with(&script, policy, |builder| builder.journal(inner.clone()));
    let started: Arc<Mutex<Option<usize>>> = Arc::default();
    let (seen, told) = (script.clone(), Arc::clone(&started));
    let journal = HookedJournal::new(inner, move |call, when| {
        let (next, seen, told) = (next.clone(), seen.clone(), Arc::clone(&told));
        Box::pin(async move {
            if (call, when) == (JournalCall::Release, JournalMoment::After) {
                in_time(next.resume(&id())).await;
                *told.lock().unwrap() = Some(seen.starts("deaf"));
            }
            Ok(())
        })
    });
    let short = super::support::policy(|policy| policy.run_timeout(ms(100)));
    let runner = with(&script, short, |builder| builder.journal(journal));
    let run = in_time(runner.run_plan(plan([step("deaf")]))).await;
    assert_eq!((run.stop, *started.lock().unwrap()), (StopReason::RunTimeout, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_another_runner_has_finished_meanwhile_is_not_removed() {
    let (script, inner) = (Script::new(), MemoryJournal::new());
    inner.create(&LogId::new("plan/plan").unwrap()).await.unwrap();
    let other = with(&script, PlanPolicy::default(), |builder| builder.journal(inner.clone()));
    let first = Arc::new(AtomicBool::new(true));
    let journal = HookedJournal::new(inner.clone(), move |call, when| {
        let (other, first) = (other.clone(), Arc::clone(&first));
        Box::pin(async move {
            if (call, when) == (JournalCall::Claim, JournalMoment::Before)
                && first.swap(false, Ordering::Relaxed)
            {
                assert_eq!(in_time(other.run_plan(plan([step("a")]))).await.stop, StopReason::Completed);
            }
            Ok(())
        })
    });
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal));
    let refused = runner.run_plan(plan([step("a")])).await.unwrap_err();
    assert!(matches!(refused, PlanError::BegunBefore { .. }), "{refused:?}");
    assert_eq!(in_time(runner.resume(&id())).await.stop, StopReason::Completed);
    assert_eq!(script.starts("a"), 1);
}

#[tokio::test]
async fn a_plan_that_ends_with_a_snapshot_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileJournal::builder(folder.path()).compact_at_least(10_000).open().await.unwrap();
    let (may_end, appends) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let notify = Arc::clone(&may_end);
    let journal = HookedJournal::new(files, move |call, when| {
        // The plan, then begun and both starts, then the end of `a`: it is answered when `b` has ended too, so that the
        // end of the run is decided when a snapshot is due.
        let is_last = (call, when) == (JournalCall::Append, JournalMoment::After)
            && appends.fetch_add(1, Ordering::Relaxed) == 2;
        let (notify, mut polls) = (Arc::clone(&notify), 0);
        Box::pin(poll_fn(move |_| {
            polls += 1;
            if !is_last || polls > 1 {
                return Poll::Ready(Ok(()));
            }
            notify.notify_one();
            Poll::Pending
        }))
    });
    let executor = FunctionStepExecutor::new(move |_, ctx: StepContext| {
        let may_end = Arc::clone(&may_end);
        async move {
            if ctx.step().id.as_str() == "b" {
                may_end.notified().await;
            }
            Ok("x".repeat(10_000))
        }
    });
    let policy = policy(|policy| policy.max_parallel_steps(2));
    let runner = PlanRunner::builder().executor(executor).policy(policy).journal(journal).build().unwrap();
    let run = in_time(runner.run_plan(plan([step("a"), step("b")]))).await;
    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(runner.status(&id()).await.unwrap().stop, Some(StopReason::Completed));
}
