//! A round that is cut off at each place where it can be: it ends once, and nothing leaks.

use tokio::time::sleep;

use convoke_consensus::{ConsensusReport, ConsensusRequest, Decide, JudgeAgent, Merge, ReachConsensus as _};
use convoke_core::{AgentDescriptor, ExecutorError, TaskStatus};
use convoke_registry::{CancellationToken, RunOptions};
use convoke_session::SessionSnapshot;
use convoke_testkit::{ScriptedExecutor, Step, dropped_after};

use crate::house::{Heard, House, consensus, ms, registry, settle, summary};

/// What cuts a round off.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Its token, after so many turns of the other tasks.
    TokenAfterTurns(usize),
    /// Its token, after so many milliseconds.
    TokenAfterMillis(usize),
    /// Its future is dropped after so many polls,
    DroppedAfterPolls(usize),
    /// turns of the other tasks,
    DroppedAfterTurns(usize),
    /// or milliseconds.
    DroppedAfterMillis(usize),
}

const CUTS: [fn(usize) -> Cut; 5] = [
    Cut::TokenAfterTurns,
    Cut::TokenAfterMillis,
    Cut::DroppedAfterPolls,
    Cut::DroppedAfterTurns,
    Cut::DroppedAfterMillis,
];

/// The ways in which rounds go.
const REQUESTS: [fn() -> ConsensusRequest; 4] = [
    consensus,
    || consensus().with_decide(Decide::Early),
    || consensus().with_resolver(JudgeAgent::new("judge")),
    || consensus().with_resolver(Merge::new(|_| Ok("all".into()))),
];

/// Voters that answer, stop, fail and will not stop, three slots for them, and a judge.
fn house() -> House {
    let steps: [fn() -> Step; 5] = [
        || Step::reply("ship").after_delay(ms(2)),
        || Step::reply("ship").after_delay(ms(4)),
        || Step::fail(ExecutorError::new("broken")).after_delay(ms(1)),
        || Step::reply("ship").after_delay(ms(3)),
        || Step::reply("late").after_delay(ms(8)),
    ];
    let voters = steps.into_iter().map(|step| ScriptedExecutor::answering(move |_| step()));
    let house = House::built(registry(voters), |builder| builder.max_parallel_tasks(3).grace(ms(2)));
    let judge = ScriptedExecutor::answering(|_| Step::reply("1").after_delay(ms(2)));
    house.registry.add(AgentDescriptor::new("judge"), judge).unwrap();
    house
}

async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

async fn cut_short(house: &House, request: ConsensusRequest, cut: Cut) -> Option<ConsensusReport> {
    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let mut call = house.team.handle().reach_consensus_with(request, options);
    let after = async {
        match cut {
            Cut::TokenAfterTurns(count) | Cut::DroppedAfterTurns(count) => turns(count).await,
            Cut::TokenAfterMillis(count) | Cut::DroppedAfterMillis(count) => sleep(ms(count as u64)).await,
            Cut::DroppedAfterPolls(_) => {}
        }
    };
    if let Cut::DroppedAfterPolls(count) = cut {
        return dropped_after(count, call).await.map(Result::unwrap);
    }
    tokio::select! {
        biased;
        report = &mut call => return Some(report.unwrap()),
        () = after => {}
    }
    match cut {
        Cut::TokenAfterTurns(_) | Cut::TokenAfterMillis(_) => {
            token.cancel();
            Some(call.await.unwrap())
        }
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn wherever_a_round_is_cut_off_it_ends_once_and_nothing_leaks() {
    for (way, request) in REQUESTS.iter().enumerate() {
        for cut in CUTS {
            for count in 0..400 {
                let (cut, house, heard) = (cut(count), house(), Heard::default());
                let report = cut_short(&house, heard.listen(request()), cut).await;
                let case = format!("way {way}, {cut:?}: {report:?}");
                // Also where nobody is there for the answer any more.
                settle().await;
                sleep(ms(30)).await;
                settle().await;
                house.assert_rest();
                let names = heard.names();
                assert!(matches!(names.as_slice(), [] | [_] | ["started", _]), "{case}: {names:?}");
                let record = house.team.session("s").map(|_| house.snapshot());
                for (task, record) in record.iter().flat_map(SessionSnapshot::tasks) {
                    assert!(record.status.is_terminal(), "{case}: {task} {record:?}");
                }
                let Some(report) = report else { continue };
                if report.summary.is_some() {
                    summary(&report);
                }
                assert_eq!(names.last().copied(), Some(report.report.status.as_str()), "{case}");
                let status = report.report.status;
                assert!(matches!(status, TaskStatus::Completed | TaskStatus::Cancelled), "{case}");
                if status == TaskStatus::Completed && !matches!(cut, Cut::TokenAfterTurns(_)) {
                    break;
                }
            }
        }
    }
}
