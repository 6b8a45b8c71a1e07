//! What a consensus tells: two events, or one, and never more.

use convoke_consensus::{ConsensusEvent, ConsensusObserver, ReachConsensus as _};
use convoke_core::{ErrorCode, SessionId, TaskId, TaskStatus};
use convoke_observability::{Event, EventSink, ObserverError, SinkError};
use convoke_registry::TeamError;
use convoke_team::{TeamRuntime, TelemetryFailures};
use convoke_testkit::{FailingSink, ScriptedExecutor, Step, dropped_after};

use crate::house::{Heard, House, consensus, ms, question, registry, settle, summary};

#[tokio::test(start_paused = true)]
async fn its_start_and_its_end_are_told_with_counts_and_codes() {
    let votes: [fn() -> Step; 2] = [|| Step::reply("one"), || Step::reply("two").after_delay(ms(7))];
    let (house, heard) = (House::of(votes), Heard::default());
    let task = question().with_trace_id("trace");
    house.reach(heard.listen(convoke_consensus::ConsensusRequest::new(task))).await;
    let events = heard.events();
    let told = |event: &ConsensusEvent| {
        (event.kind.as_str(), event.status, event.code, event.round, event.participants)
    };
    assert_eq!(
        events.iter().map(told).collect::<Vec<_>>(),
        [
            ("started", TaskStatus::Working, None, 1, 2),
            ("failed", TaskStatus::Failed, Some(ErrorCode::ConsensusNotReached), 1, 2)
        ]
    );
    for event in &events {
        assert_eq!((event.session.as_str(), event.consensus.as_str()), ("s", "c"));
        assert_eq!(event.trace_id.as_deref(), Some("trace"));
    }
    assert!(events[1].text.as_ref().unwrap().contains("2 eligible"));

    let common: Vec<_> =
        house.sink.events().into_iter().filter(|event| event.module == "consensus").collect();
    assert_eq!(common.len(), 2);
    assert_eq!((common[0].name, &*common[0].subject), ("started", "c"));
    let end = &common[1];
    assert_eq!((end.attempt, end.status, end.trace_id.as_deref()), (Some(1), Some("failed"), Some("trace")));
    assert_eq!(end.session.as_ref().map(SessionId::as_str), Some("s"));
    assert_eq!(end.task.as_ref().map(TaskId::as_str), Some("c"));
    let end = serde_json::to_string(end).unwrap();
    for part in
        [r#""participants":2"#, r#""code":"consensus_not_reached""#, "2 eligible", r#""elapsed_micros":7000"#]
    {
        assert!(end.contains(part), "{part} in {end}");
    }
    let all: std::collections::HashSet<_> =
        house.sink.events().iter().map(|event| event.id.to_string()).collect();
    assert_eq!(all.len(), house.sink.events().len(), "each has an id of its own");
    assert!(house.tasks.names_of("c").is_empty(), "and none of a task's events");
    assert_eq!(house.tasks.names().len(), 8, "but those of its participants");
}

struct Unwell(bool);

impl ConsensusObserver for Unwell {
    fn observe(&self, _: &ConsensusEvent) -> Result<(), ObserverError> {
        assert!(self.0, "secret");
        Err(ObserverError::new("secret"))
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_fails_or_panics_is_counted_and_harms_nothing() {
    for fails in [true, false] {
        let house = House::answering(&["ship", "ship"]);
        let report = house.reach(consensus().with_observer(Unwell(fails))).await;
        assert_eq!((report.text(), report.report.telemetry_errors), ("ship", 2));
        assert_eq!(house.told(), ["started", "completed"], "the sink hears all the same");
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn where_failures_are_propagated_nothing_begins_that_was_not_told() {
    let voter = ScriptedExecutor::answering(|_| Step::reply("ship"));
    let house = House::built(registry([voter.clone(), voter.clone()]), |builder| {
        builder.telemetry_failures(TelemetryFailures::Propagate)
    });
    let answer = house.team.handle().reach_consensus(consensus().with_observer(Unwell(true))).await;
    let Err(TeamError::Telemetry { report }) = answer else { panic!("{answer:?}") };
    assert_eq!((report.status, voter.calls()), (TaskStatus::Failed, 0));
    assert_eq!(house.reach(consensus()).await.text(), "ship", "its id is free");

    // A verdict that was committed is never lost.
    let team = TeamRuntime::builder(registry([voter.clone(), voter]))
        .event_sink(FailingSink::after(9))
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap();
    let answer = team.handle().reach_consensus(consensus()).await;
    let Err(TeamError::Telemetry { report }) = answer else { panic!("{answer:?}") };
    assert_eq!((report.status, report.text()), (TaskStatus::Completed, "ship"));
}

/// Fails at the end of each task of an agent.
struct DeafToEnds;

impl EventSink for DeafToEnds {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        if (event.module, event.name) == ("team", "completed") {
            return Err(SinkError::new("unwell"));
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_vote_that_was_cast_counts_although_its_end_could_not_be_told() {
    let voter = ScriptedExecutor::answering(|_| Step::reply("ship"));
    let team = TeamRuntime::builder(registry([voter.clone(), voter]))
        .event_sink(DeafToEnds)
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap();
    let report = team.handle().reach_consensus(consensus()).await.unwrap();
    assert_eq!((report.text(), summary(&report).succeeded), ("ship", 2));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_tells_its_end_once() {
    let house = House::of([|| Step::reply("ship"), Step::cancelled]);
    let heard = Heard::default();
    let call = house.team.handle().reach_consensus(heard.listen(consensus()));
    tokio::time::timeout(ms(10), call).await.unwrap_err();
    settle().await;
    assert_eq!(heard.names(), ["started", "cancelled"]);
    house.assert_rest();
    let unpolled = house.team.handle().reach_consensus(heard.listen(consensus()));
    assert!(dropped_after(0, unpolled).await.is_none());
    settle().await;
    assert_eq!(heard.names().len(), 2, "what is never polled does nothing");
}
