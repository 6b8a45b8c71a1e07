//! A thousand participants, and an early decision.

use tokio::time::{Instant, sleep};

use convoke_consensus::Decide;
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, consensus, ms, registry, settle, summary};

/// Half and one agree after a millisecond; of the others a hundred will not stop, and the rest do.
fn house(slots: usize) -> House {
    let voters = (0..1000).map(|number| match number {
        0..501 => ScriptedExecutor::answering(|_| Step::reply("ship").after_delay(ms(1))),
        501..900 => ScriptedExecutor::answering(|_| Step::cancelled()),
        _ => ScriptedExecutor::answering(|_| Step::reply("late").after_delay(ms(10_000))),
    });
    House::built(registry(voters), |builder| builder.max_parallel_tasks(slots))
}

#[tokio::test(start_paused = true)]
async fn an_early_decision_among_a_thousand_signals_all_others_at_once() {
    let house = house(1000);
    let start = Instant::now();
    let report = house.reach(consensus().with_decide(Decide::Early)).await;
    assert_eq!((report.text(), start.elapsed()), ("ship", ms(1)));
    let summary = summary(&report);
    assert_eq!((summary.eligible, summary.succeeded, summary.signalled.len()), (1000, 501, 499));
    assert_eq!((summary.asked, summary.required, summary.votes[0].weight), (1000, Some(501), 501));
    settle().await;
    let active: u32 = house.registry.list().iter().map(|agent| agent.active).sum();
    assert_eq!((active, start.elapsed()), (100, ms(1)), "those that stop leave no lease behind");
    sleep(ms(51)).await;
    settle().await;
    assert_eq!(house.team.detached().len(), 100, "those that do not stay visible");
    sleep(ms(10_000)).await;
    settle().await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_in_line_are_never_asked() {
    let house = house(4);
    let report = house.reach(consensus().with_decide(Decide::Early)).await;
    assert_eq!(report.text(), "ship");
    let summary = summary(&report);
    assert!(summary.asked < 520, "{}", summary.asked);
    settle().await;
    let stats = house.team.stats();
    assert_eq!(stats.slots.waiting, 0);
    assert_eq!(house.snapshot().tasks().len(), summary.asked + 1, "and leave no record");
}
