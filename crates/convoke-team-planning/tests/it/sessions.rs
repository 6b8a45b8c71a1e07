//! The session of a run: what it takes, what it begins with, and how it ends.

use convoke_core::{Artifact, ArtifactId, PlanId, ResumeToken, TaskId, TaskOutput, TaskRequest};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    FunctionStepExecutor, PlanPolicy,
    machine::{PendingKind, StepErrorCode, StopReason},
};
use convoke_registry::{ExecutionContext, FunctionExecutor};
use convoke_session::{Author, Limit, SessionLimits, SessionSnapshot};
use convoke_testkit::{FaultyJournal, JournalFault, ScriptedExecutor, Step};

use crate::house::{House, code, named, plan, plan_id, policy, registry, session_of, step};

/// Says which artifacts are in its session.
fn librarian() -> FunctionExecutor<impl Fn(TaskRequest, ExecutionContext) -> Listed + Send + Sync + 'static> {
    FunctionExecutor::new(|request: TaskRequest, ctx: ExecutionContext| -> Listed {
        Box::pin(async move {
            let found = ctx.session().snapshot();
            let found: Vec<_> =
                found.artifacts().map(|kept| format!("{}/{}", kept.task, kept.artifact.id)).collect();
            let id = request.id.map(|id| id.to_string()).unwrap_or_default();
            Ok(TaskOutput::text(found.join(" ")).with_artifact(Artifact::text("of", id)?).into())
        })
    })
}

type Listed = std::pin::Pin<
    Box<dyn Future<Output = Result<convoke_core::TaskOutcome, convoke_core::ExecutorError>> + Send>,
>;

fn chain() -> convoke_planning::Plan {
    plan([step("one"), step("two").after("one"), step("three").after("two")])
}

#[tokio::test(start_paused = true)]
async fn a_resumed_plan_finds_in_its_new_session_what_it_had() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    let run = house.runner(policy(|policy| policy.steps_per_run(2))).run_plan(chain()).await.unwrap();
    assert_eq!(run.stop, StopReason::StepBudget);
    let other = house.restarted();
    let run = other.runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
    assert_eq!(run.text("three"), Some("one/of two/of"));
    let snapshot = other.snapshot(&run);
    assert_eq!(snapshot.tasks().len(), 3);
    let of_one = snapshot.artifact(&TaskId::new("one").unwrap(), &ArtifactId::new("of").unwrap()).unwrap();
    assert_eq!(of_one.agent, None, "nobody knows who it was");
    assert!(texts(&snapshot).contains(&(Author::Team, "one/of".into())), "{:?}", texts(&snapshot));
}

fn texts(snapshot: &SessionSnapshot) -> Vec<(Author, String)> {
    snapshot.messages().map(|said| (said.author.clone(), said.message.text.clone())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_there_is_left_as_it_is() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    let runner = house.runner(policy(|policy| policy.steps_per_run(2)));
    let run = runner.run_plan(chain()).await.unwrap();
    let before = house.snapshot(&run).messages().len();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!(run.text("three"), Some("one/of two/of"));
    // An input and an answer.
    assert_eq!(house.snapshot(&run).messages().len(), before + 2);
    assert!(texts(&house.snapshot(&run)).iter().all(|(author, _)| *author != Author::Team));
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_a_session_of_its_own_with_what_was_done_by_then() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(chain()).await.unwrap();
    // Begun, then a start and an end of the first step.
    let fork = runner.fork(&plan_id(), 3, PlanId::new("fork").unwrap()).await.unwrap();
    let forked = runner.resume(&fork.plan).await.unwrap();
    assert_eq!((forked.text("two"), forked.text("three")), (Some("one/of"), Some("one/of two/of")));
    assert_ne!(session_of(&run), session_of(&forked));
    assert_eq!((house.snapshot(&run).tasks().len(), house.snapshot(&forked).tasks().len()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn what_other_executors_did_before_is_there_too() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    let made = FunctionStepExecutor::new(|_, _| async {
        Ok(TaskOutput::text("made").with_artifact(Artifact::text("of", "function")?))
    });
    let both = convoke_planning::CompositeStepExecutor::builder()
        .agents(house.executor())
        .otherwise(made)
        .build()
        .unwrap();
    let first = convoke_planning::StepDraft::new("first").titled("first");
    let runner = house.runner_with(PlanPolicy::default(), |builder| builder.executor(both));
    let run = runner.run_plan(plan([first, step("two").after("first")])).await.unwrap();
    assert_eq!(run.text("two"), Some("first/of"));
}

#[tokio::test(start_paused = true)]
async fn a_session_takes_what_its_plan_may_need_or_what_the_host_says() {
    let house = House::of(ScriptedExecutor::echo());
    let limits = |run| house.team.session(session_of(run)).unwrap().limits();
    let run = house.run([step("one")]).await;
    assert_eq!(limits(&run), SessionLimits::default());
    let many = (0..1_000).map(|n| step(format!("s{n}")));
    let large = house.runner(policy(|policy| policy.max_parallel_steps(8)));
    let run = large.run_plan(named("large", many)).await.unwrap();
    assert_eq!(limits(&run).messages, Limit::Finite(16_000));
    assert_eq!(limits(&run).bytes, Limit::Finite(256 * 1024 * 1_000));

    let few = SessionLimits::default().with_messages(1);
    let executor = house.executor().with_session_limits(few);
    let runner = house.runner_with(PlanPolicy::default(), |builder| builder.executor(executor));
    let run = runner.run_plan(named("small", [step("one")])).await.unwrap();
    assert_eq!(limits(&run), few);
    assert_eq!((run.stop, code(run.step("one"))), (StopReason::Failed, Some(StepErrorCode::ExecutionFailed)));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_take_what_the_plan_has_blocks_the_step_that_needs_it() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    house.runner(policy(|policy| policy.steps_per_run(2))).run_plan(chain()).await.unwrap();
    let other = house.restarted();
    let executor = other.executor().with_session_limits(SessionLimits::default().with_artifacts(1));
    let runner = other.runner_with(PlanPolicy::default(), |builder| builder.executor(executor));
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!(
        (run.stop, code(run.step("three"))),
        (StopReason::Blocked, Some(StepErrorCode::ExecutionBlocked))
    );
}

#[tokio::test(start_paused = true)]
async fn the_session_of_a_completed_plan_is_removed_by_the_observer_and_no_other() {
    let agent = ScriptedExecutor::new([
        Step::reply("done"),
        Step::pause_with("which?", ResumeToken::new(1, "t")),
        Step::reply("that"),
    ]);
    let house = House::of(agent);
    let removal = house.executor().session_removal();
    let runner = house.runner_with(PlanPolicy::default(), |builder| builder.observer(removal));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, run.observer_failures), (StopReason::Completed, 0));
    assert!(house.team.session(session_of(&run)).is_none());

    let asking = PlanId::new("asking").unwrap();
    let run = runner.run_plan(named("asking", [step("one")])).await.unwrap();
    assert!(house.team.session(session_of(&run)).is_some() && run.observer_failures == 0);
    assert!(house.executor().remove_session(&asking, &run.run).await.is_err(), "a task of it is paused");
    let PendingKind::Question { start, .. } = &run.pending[0].kind else { panic!("{run:?}") };
    runner.answer(&asking, *start, "this").await.unwrap();
    let run = runner.resume(&asking).await.unwrap();
    assert_eq!(run.text("one"), Some("that"));
    assert!(house.team.session(session_of(&run)).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_session_of_a_plan_that_is_deleted_is_removed_by_whoever_deletes_it() {
    let house = House::of(ScriptedExecutor::new([Step::fail(convoke_core::ExecutorError::new("no"))]));
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    runner.delete(&plan_id()).await.unwrap();
    let executor = house.executor();
    assert_eq!(executor.remove_session(&plan_id(), &run.run).await, Ok(true));
    assert_eq!(executor.remove_session(&plan_id(), &run.run).await, Ok(false));
    assert_eq!(house.team.stats().sessions, 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_runtime_nothing_is_done() {
    let house = House::of(ScriptedExecutor::echo());
    let runner = house.runner(PlanPolicy::default());
    drop(house.team);
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!(
        (run.stop, code(run.step("one"))),
        (StopReason::Blocked, Some(StepErrorCode::ExecutionBlocked))
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_session_begins_with_is_there_once_though_its_journal_fails_meanwhile() {
    let house = House::built(registry([("a", librarian())]), |builder| builder);
    house.runner(policy(|policy| policy.steps_per_run(2))).run_plan(chain()).await.unwrap();
    for fault in [JournalFault::Before, JournalFault::After] {
        for write in 0..8 {
            let journal = FaultyJournal::new(MemoryJournal::new()).failing(write, fault);
            let registry = registry([("a", librarian())]);
            let other = House::built(registry, |builder| builder.journal(journal));
            // A copy for each round, since the plan ends in each.
            let fork = PlanId::new(format!("fork-{write}-{fault:?}")).unwrap();
            let other = House { journal: house.journal.clone(), ..other };
            let runner = other.runner(policy(|policy| policy.max_attempts(3)));
            runner.fork(&plan_id(), 6, fork.clone()).await.unwrap();
            let run = runner.resume(&fork).await.unwrap();
            assert_eq!(run.text("three"), Some("one/of two/of"), "{write} {fault:?}: {:?}", run.error);
            let team = texts(&other.snapshot(&run));
            let team: Vec<_> = team.iter().filter(|(author, _)| *author == Author::Team).collect();
            // The text of the first is empty.
            assert_eq!(team.len(), 1, "{write} {fault:?}: {team:?}");
        }
    }
}
