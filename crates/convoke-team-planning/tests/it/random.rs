//! Random plans over a team, with failures, retries, and runs that are cut off: each attempt is asked for once, and each
//! effect is had once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use convoke_core::{AnyJournal, ExecutorError};
use convoke_journal::MemoryJournal;
use convoke_planning::{Plan, PlanError, PlanRun, RunOptions, StepStatus, machine::StopReason};
use convoke_registry::AgentRegistry;
use convoke_team_planning::StepMark;
use convoke_testkit::{FaultyJournal, JournalFault, ScriptedExecutor, Step};
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::house::{House, agent, ms, plan, plan_id, policy, step};

/// One step: whom it waits for, how often it fails first, how long it takes, and whether it ends well when it is stopped.
#[derive(Clone, Debug)]
struct Of {
    after: Vec<prop::sample::Index>,
    fails: u32,
    millis: u64,
}

fn of() -> impl Strategy<Value = Of> {
    let after = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    (after, 0..3_u32, 0..40_u64).prop_map(|(after, fails, millis)| Of { after, fails, millis })
}

/// How a run is cut off.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Write(u64, JournalFault),
    Cancelled(u64),
    Dropped(u64),
}

fn cut() -> impl Strategy<Value = Cut> {
    let fault = prop::sample::select(vec![JournalFault::Before, JournalFault::After, JournalFault::Poison]);
    prop_oneof![
        (0..40_u64, fault).prop_map(|(write, fault)| Cut::Write(write, fault)),
        (0..120_u64).prop_map(Cut::Cancelled),
        (0..120_u64).prop_map(Cut::Dropped),
    ]
}

fn drawn(steps: &[Of]) -> Plan {
    let name = |number: usize| format!("s{number}");
    plan(steps.iter().enumerate().map(|(number, of)| {
        let mut draft = step(name(number));
        let mut after: Vec<_> =
            of.after.iter().filter(|_| number > 0).map(|index| index.index(number)).collect();
        after.sort_unstable();
        after.dedup();
        for source in after {
            draft = draft.input_from(name(source));
        }
        draft
    }))
}

/// What the agent did: how often it was asked for each attempt and ended by itself, and how often each effect was had.
#[derive(Clone, Default)]
struct Ledger {
    ended: Arc<Mutex<BTreeMap<(String, u32), u32>>>,
    effects: Arc<Mutex<HashMap<String, u32>>>,
}

/// Fails as often as it is told, by attempts, and has its effect when it completes.
fn worker(steps: Vec<Of>, ledger: Ledger) -> ScriptedExecutor {
    ScriptedExecutor::answering(move |request| {
        let mark = StepMark::of(&request.metadata).unwrap();
        let number: usize = request.id.as_ref().unwrap().as_str()[1..].parse().unwrap();
        let (of, ledger) = (steps[number].clone(), ledger.clone());
        Step::call(move |_, ctx| async move {
            tokio::select! {
                () = ctx.cancellation().cancelled() => return Ok(convoke_core::TaskOutcome::Cancelled {
                    output: convoke_core::TaskOutput::default(),
                }),
                () = tokio::time::sleep(ms(of.millis)) => {}
            }
            *ledger.ended.lock().entry((mark.key.clone(), mark.attempt)).or_default() += 1;
            if mark.attempt <= of.fails {
                return Err(ExecutorError::new("not yet"));
            }
            *ledger.effects.lock().entry(mark.key).or_default() += 1;
            Ok(convoke_core::TaskOutcome::completed("done"))
        })
    })
}

/// Runs the plan through all cuts to its end.
async fn to_the_end(house: &House, plan: &Plan, cuts: &[Cut]) -> PlanRun {
    let limits = policy(|policy| policy.max_attempts(3).max_parallel_steps(3));
    let mut begun = false;
    let mut cuts = cuts.iter().filter(|cut| !matches!(cut, Cut::Write(..)));
    for _ in 0..60 {
        let runner = house.runner(limits.clone());
        let cut = cuts.next();
        let run = if begun {
            runner.start(plan_id(), RunOptions::new())
        } else {
            runner.start(plan.clone(), RunOptions::new())
        };
        let run = match cut {
            Some(Cut::Cancelled(at)) => {
                tokio::time::sleep(ms(*at)).await;
                run.cancel();
                run.await
            }
            Some(Cut::Dropped(at)) => {
                tokio::time::sleep(ms(*at)).await;
                run.cancel();
                drop(run);
                // It ends by itself.
                tokio::time::sleep(ms(200)).await;
                begun = true;
                continue;
            }
            _ => run.await,
        };
        match run {
            Ok(run)
                if matches!(
                    run.stop,
                    StopReason::StoreFailed | StopReason::ClaimLost | StopReason::Cancelled
                ) =>
            {
                begun = true;
            }
            Ok(run) => return run,
            Err(PlanError::Journal { .. } | PlanError::Cancelled) => {}
            // Nothing of it has run.
            Err(PlanError::NotFound { .. } | PlanError::Unreadable { .. }) => begun = false,
            Err(PlanError::BegunBefore { .. }) => begun = true,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it never ended");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn each_attempt_ends_once_and_each_effect_is_had_once(
        steps in prop::collection::vec(of(), 1..8), cuts in prop::collection::vec(cut(), 0..5), slots in 1..4_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (registry, ledger) = (AgentRegistry::new(), Ledger::default());
            registry.add(agent("a"), worker(steps.clone(), ledger.clone())).unwrap();
            let mut journal = FaultyJournal::new(MemoryJournal::new());
            for cut in &cuts {
                if let Cut::Write(write, fault) = cut {
                    journal = journal.failing(*write, *fault);
                }
            }
            let house = House::built(registry, |builder| builder.max_parallel_tasks(slots));
            let house = House { journal: AnyJournal::new(journal), ..house };
            let plan = drawn(&steps);
            let run = to_the_end(&house, &plan, &cuts).await;

            assert_eq!(run.stop, StopReason::Completed, "{:?}", run.error);
            for (number, of) in steps.iter().enumerate() {
                let step = run.step(format!("s{number}")).unwrap();
                assert_eq!((step.status, step.attempts), (StepStatus::Completed, of.fails + 1), "s{number}");
            }
            let effects = ledger.effects.lock();
            assert_eq!(effects.len(), steps.len());
            assert!(effects.values().all(|times| *times == 1), "{effects:?}");
            for ((key, attempt), times) in ledger.ended.lock().iter() {
                let number: usize = key.split('/').nth(1).unwrap()[1..].parse().unwrap();
                let cut_off = !cuts.is_empty() && *attempt <= steps[number].fails;
                // A failure that no record of the plan tells of is nothing that could be taken.
                assert!(*times == 1 || cut_off, "{key} {attempt}: {times}");
            }
            drop(effects);
            house.assert_rest();
        });
    }
}
