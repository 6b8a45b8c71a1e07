//! A run that is cut off at each place between what the team keeps and what the plan keeps.

use convoke_core::{AnyJournal, ExecutorError, Journal as _, LogId, ResumeToken};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    PlanError, PlanPolicy, PlanRun,
    machine::{Durability, PendingKind, StopReason},
};
use convoke_testkit::{FaultyJournal, JournalFault, ScriptedExecutor, Step};

use crate::house::{House, asked, plan, plan_id, policy, registry, script, settle, step};

/// Runs the plan of three steps to its end, whatever the journal does, and answers what is asked.
async fn to_the_end(house: &House, policy: &PlanPolicy, durability: Durability) -> PlanRun {
    let runner = || house.runner_with(policy.clone(), |builder| builder.durability(durability));
    let steps = || [step("one"), step("two").input_from("one"), step("three").after("two")];
    let mut begun = false;
    for _ in 0..20 {
        let runner = runner();
        let run = if begun { runner.resume(&plan_id()).await } else { runner.run_plan(plan(steps())).await };
        let run = match run {
            Ok(run) => run,
            Err(PlanError::Journal { .. }) => continue,
            // Nothing of it has run.
            Err(PlanError::NotFound { .. } | PlanError::Unreadable { .. }) => {
                begun = false;
                continue;
            }
            Err(PlanError::BegunBefore { .. }) => {
                begun = true;
                continue;
            }
            Err(error) => panic!("{error:?}"),
        };
        begun = true;
        match run.stop {
            StopReason::StoreFailed | StopReason::ClaimLost => {}
            StopReason::ApprovalRequired => {
                let PendingKind::Question { start, .. } = &run.pending[0].kind else { panic!("{run:?}") };
                // What the journal refuses now it takes in the next round.
                let _ = runner.answer(&plan_id(), *start, "green").await;
            }
            _ => return run,
        }
    }
    panic!("it never ended");
}

fn house(agent: ScriptedExecutor, journal: impl convoke_core::Journal) -> House {
    let house = House::built(registry([("a", agent)]), |builder| builder);
    House { journal: AnyJournal::new(journal), ..house }
}

/// Fails once in the middle, and asks once at the end.
fn agent() -> ScriptedExecutor {
    ScriptedExecutor::answering({
        let failed = std::sync::atomic::AtomicBool::new(false);
        move |request| match request.id.as_ref().unwrap().as_str() {
            "two" if !failed.swap(true, std::sync::atomic::Ordering::Relaxed) => {
                Step::fail(ExecutorError::new("once"))
            }
            "three" if request.resume.is_none() => Step::pause_with("which?", ResumeToken::new(1, "t")),
            id => Step::reply(format!("did {id}")),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn cut_off_at_each_write_the_agent_is_asked_once_for_each_attempt() {
    let policy = policy(|policy| policy.max_attempts(2));
    for durability in [Durability::Strict, Durability::Relaxed] {
        let whole = FaultyJournal::new(MemoryJournal::new());
        let counted = house(agent(), whole.clone());
        assert_eq!(to_the_end(&counted, &policy, durability).await.stop, StopReason::Completed);
        let writes = whole.writes();
        assert!(writes > 8, "{writes}");
        for fault in [JournalFault::Before, JournalFault::After, JournalFault::Poison] {
            for write in 0..writes {
                let agent = agent();
                let journal = FaultyJournal::new(MemoryJournal::new()).failing(write, fault);
                let house = house(agent.clone(), journal);
                let run = to_the_end(&house, &policy, durability).await;
                let asked = asked(&agent);
                assert_eq!(run.stop, StopReason::Completed, "{write} {fault:?}: {:?}", run.error);
                // The one that failed has nothing that could be taken.
                let twice = asked.iter().filter(|((key, attempt, _), times)| {
                    **times > 1 && !(key == "plan/two/0" && *attempt == 1)
                });
                assert_eq!(twice.count(), 0, "{write} {fault:?} {durability:?}: {asked:?}");
                assert_eq!(run.final_text(), "did three");
                house.assert_rest();
            }
        }
    }
}

/// Has the journal fail at the commit that follows the end of the work.
#[tokio::test(start_paused = true)]
async fn what_the_session_had_is_taken_and_the_agent_not_asked_again() {
    let agent = script([Step::reply("done")]);
    let journal = FaultyJournal::new(MemoryJournal::new());
    let failing = {
        let house = house(script([Step::reply("done")]), journal.clone());
        house.runner(PlanPolicy::default()).run_plan(plan([step("one")])).await.unwrap();
        // The head, what starts, and what comes of it.
        FaultyJournal::new(MemoryJournal::new()).failing(2, JournalFault::Before)
    };
    let house = house(agent.clone(), failing);
    let run = house.runner(PlanPolicy::default()).run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, agent.calls()), (StopReason::StoreFailed, 1));
    let run = house.runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, run.text("one")), (StopReason::Completed, Some("done")));
    assert_eq!((agent.calls(), run.step("one").unwrap().attempts), (1, 1));
    assert_eq!(house.record(&run, "one").attempt, 1, "the task had no other attempt");
}

#[tokio::test(start_paused = true)]
async fn a_lost_runtime_has_the_same_attempt_done_again_under_the_same_key() {
    let agent = ScriptedExecutor::answering(|_| Step::reply("done"));
    let journal = FaultyJournal::new(MemoryJournal::new()).failing(2, JournalFault::Before);
    let house = house(agent.clone(), journal);
    let run = house.runner(PlanPolicy::default()).run_plan(plan([step("one")])).await.unwrap();
    assert_eq!(run.stop, StopReason::StoreFailed);
    let run = house.restarted().runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(asked(&agent), [(("plan/one/0".to_owned(), 1, 0), 2)].into());
}

#[tokio::test(start_paused = true)]
async fn the_run_id_is_that_of_the_first_run_and_another_plan_of_the_name_has_another_session() {
    let house = House::of(ScriptedExecutor::echo());
    let run = house.run([step("one")]).await;
    house.runner(PlanPolicy::default()).delete(&plan_id()).await.unwrap();
    assert!(
        house.journal.read(&LogId::new("plan/plan").unwrap(), convoke_core::ReadFrom::Latest).await.is_err()
    );
    let again = house.run([step("one")]).await;
    assert_ne!(run.run, again.run);
    assert_eq!((house.record(&run, "one").attempt, house.record(&again, "one").attempt), (1, 1));
}

/// A house whose sessions outlive its runtime.
fn durable(agent: &ScriptedExecutor, sessions: &MemoryJournal, plans: AnyJournal) -> House {
    let registry = registry([("a", agent.clone())]);
    let house = House::built(registry, |builder| builder.journal(sessions.clone()));
    House { journal: plans, ..house }
}

#[tokio::test(start_paused = true)]
async fn what_a_durable_session_had_is_taken_in_another_runtime() {
    let agent = script([
        Step::reply("did one"),
        Step::pause_with("which?", ResumeToken::new(1, "t")),
        Step::reply("that"),
    ]);
    let sessions = MemoryJournal::new();
    // The commits after the head: a start; an end with the next start; the question.
    let plans = FaultyJournal::new(MemoryJournal::new())
        .failing(2, JournalFault::Before)
        .failing(7, JournalFault::Before);
    let plans = AnyJournal::new(plans);
    let steps = [step("one"), step("two").after("one")];
    let first = durable(&agent, &sessions, plans.clone());
    let mut run = first.runner(PlanPolicy::default()).run_plan(plan(steps)).await.unwrap();
    assert_eq!((run.stop, agent.calls()), (StopReason::StoreFailed, 1));
    drop(first);
    for _ in 0..4 {
        // What it has claimed is let go.
        settle().await;
        let house = durable(&agent, &sessions, plans.clone());
        run = house.runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
        if let Some(pending) = run.pending.first() {
            let PendingKind::Question { start, .. } = &pending.kind else { panic!("{run:?}") };
            house.runner(PlanPolicy::default()).answer(&plan_id(), *start, "this").await.unwrap();
        }
    }
    assert_eq!((run.stop, run.text("two")), (StopReason::Completed, Some("that")));
    assert!(asked(&agent).values().all(|times| *times == 1), "{:?}", asked(&agent));
    settle().await;
    let house = durable(&agent, &sessions, plans);
    assert_eq!(house.executor().remove_session(&plan_id(), &run.run).await, Ok(false));
    assert!(sessions.list("").await.unwrap().is_empty(), "it is gone from the journal too");
}
