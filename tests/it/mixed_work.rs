//! A long day of one team: answers, failures, panics, pauses, timeouts, cancellations, agents that come and go, sinks that
//! fail. In the end every task has its report, every event is told, and nothing is held.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::sleep;

use convoke::{
    observability::{BoundedAsyncSink, FanOutSink, JsonLinesSink},
    prelude::*,
};
use convoke_testkit::{FailingObserver, FailingSink, ScriptedExecutor, Step};

const TASKS: usize = 600;

/// What a task is to do, from its number: every kind of end in turn.
fn kind(number: usize) -> &'static str {
    ["answers", "fails", "panics", "pauses", "blocks", "heeds", "ignores", "expires"][number % 8]
}

fn step(request: &TaskRequest) -> Step {
    let while_ = Duration::from_millis(7);
    match request.input.as_str() {
        "fails" => Step::fail(ExecutorError::new("a secret reason")),
        "panics" => Step::panic("a secret panic"),
        "pauses" => Step::pause("a secret question"),
        "blocks" => Step::reply(TaskOutcome::blocked("a secret obstacle")).after_delay(while_),
        "heeds" => Step::cancelled(),
        // Long past the grace, so that it is given up on.
        "ignores" => Step::reply("a secret too late").after_delay(Duration::from_secs(3)),
        "expires" => Step::reply("a secret just too late").after_delay(Duration::from_secs(1)),
        _ => Step::reply("a secret answer").after_delay(while_),
    }
}

fn request(number: usize) -> TaskRequest {
    let request = TaskRequest::new(kind(number)).with_id(format!("task-{number}")).in_session("day");
    let request = match number % 3 {
        0 => request.requiring("a"),
        1 => request.requiring("b"),
        _ => request.requiring("a").requiring("b"),
    };
    match kind(number) {
        "heeds" | "ignores" => request.with_timeout(Duration::from_secs(40)),
        "expires" => request.with_timeout(Duration::from_millis(900)),
        _ => request,
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_day_ends_with_everything_told_and_nothing_held() {
    let registry = AgentRegistry::new();
    for (agent, skills, places) in [("ann", vec!["a"], 3), ("bob", vec!["b"], 2), ("cy", vec!["a", "b"], 4)] {
        let descriptor = AgentDescriptor::new(agent).with_max_concurrency(places);
        let descriptor = skills.into_iter().fold(descriptor, AgentDescriptor::with_skill);
        registry.add(descriptor, ScriptedExecutor::answering(step)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let lines = BoundedAsyncSink::builder(JsonLinesSink::open(&path).unwrap())
        .with_capacity(100_000)
        .start()
        .unwrap();
    let lines = Arc::new(lines);
    let sinks = FanOutSink::new().with_sink(FailingSink::always()).with_sink(Arc::clone(&lines));
    let team = TeamRuntime::builder(registry.clone())
        .max_parallel_tasks(5)
        .observer(FailingObserver::always())
        .event_sink(sinks)
        .build()
        .unwrap();

    // Agents go and come back all day; one is always there for each skill.
    let changes = tokio::spawn({
        let registry = registry.clone();
        async move {
            for round in 0_usize.. {
                let agent = ["ann", "bob"][round % 2];
                let availability =
                    [Availability::Draining, Availability::Available, Availability::Offline][round % 3];
                registry.set_availability(agent, availability).unwrap();
                sleep(Duration::from_millis(333)).await;
            }
        }
    });

    // A third in one call, a third as handles of which some are cancelled, a third awaited of which some are dropped.
    let (parallel, others): (Vec<_>, Vec<_>) = (0..TASKS).partition(|number| number % 5 < 2);
    let batch =
        tokio::spawn(team.run_parallel(parallel.iter().map(|&number| request(number)).collect::<Vec<_>>()));
    let mut reports = Vec::new();
    let mut dropped = 0;
    for number in others {
        if number % 2 == 0 {
            let handle = team.spawn(request(number));
            if number % 16 == 0 {
                sleep(Duration::from_millis(3)).await;
                handle.cancel();
            }
            reports.push(handle.await.unwrap());
        } else if number % 7 == 0 {
            let run = tokio::time::timeout(Duration::from_millis(4), team.run(request(number)));
            match run.await {
                Ok(report) => reports.push(report.unwrap()),
                Err(_) => dropped += 1,
            }
        } else {
            reports.push(team.run(request(number)).await.unwrap());
        }
    }
    reports.extend(batch.await.unwrap().into_iter().map(Result::unwrap));
    changes.abort();
    // The longest work that was given up on ends by itself.
    sleep(Duration::from_mins(1)).await;

    assert_eq!(reports.len() + dropped, TASKS);
    for agent in registry.list() {
        assert_eq!((agent.active, agent.detached, agent.waiting), (0, 0, 0), "{agent:?}");
    }
    let stats = team.stats();
    assert_eq!((stats.slots.taken, stats.slots.waiting, stats.detached), (0, 0, 0));

    let session = team.session("day").unwrap().snapshot();
    let mut by_status = BTreeMap::new();
    for (task, record) in session.tasks() {
        assert!(!record.status.is_active() && !record.detached, "{task} is {record:?}");
        *by_status.entry(record.status).or_insert(0) += 1;
        let published = session.messages().any(|message| message.id.as_str() == format!("{task}/1/output"));
        assert_eq!(published, record.status == TaskStatus::Completed, "{task} is {}", record.status);
    }
    for status in [
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Cancelled,
        TaskStatus::TimedOut,
    ] {
        assert!(by_status.contains_key(&status), "no task ended {status}: {by_status:?}");
    }
    // Each report has as many failures as it has events, from the observer and from the sinks.
    assert!(reports.iter().all(|report| report.telemetry_errors >= 2 && report.telemetry_errors % 2 == 0));

    lines.close().await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("secret"), "events carry no content");
    let mut ends = BTreeMap::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let name = event["name"].as_str().unwrap();
        if !matches!(name, "submitted" | "selected" | "started" | "detached_ended" | "late_write_refused") {
            *ends.entry(event["task"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(ends.len(), TASKS);
    assert!(ends.values().all(|&count| count == 1), "each task ends once");
}
