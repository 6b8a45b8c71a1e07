//! Programs that do not heed a stop, under a runtime: they are gone before their caller hears of it.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::spawn_blocking,
    time::{Instant, advance},
};

use convoke_core::{ErrorCode, TaskStatus};
use convoke_registry::ProcessExecutor;
use convoke_team::TeamEventKind;

use crate::house::{House, agent, assert_end, ms, registry, task};

/// How long a test waits for what must come, lest it hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A child that goes on when it is asked to end, and says so; of what it has started, nobody even hears it.
const STUBBORN: &str = r#"exec 3>"$WITNESS"
    trap 'echo asked >&3' TERM
    sh -c "trap '' TERM; sleep 3600 & echo ready >&3; wait" &
    while :; do wait; done"#;

/// A named pipe that a child opens, and all that it starts inherit: at its end nobody of them is alive.
struct Witness {
    directory: TempDir,
    lines: UnboundedReceiver<String>,
}

impl Witness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (sender, lines) = unbounded_channel();
        // A thread of its own, which nothing waits for: opening the pipe blocks until a child does.
        thread::spawn(move || {
            let pipe = BufReader::new(File::open(path).unwrap());
            let _ = pipe.lines().map_while(Result::ok).try_for_each(|line| sender.send(line));
        });
        Self { directory, lines }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("witness")
    }

    /// The next line that somebody wrote; `None` once nobody holds the pipe any more.
    async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

/// Keeps a paused clock where it is, whatever the test waits for, until this is dropped or patience is lost.
fn stand_still() -> mpsc::Sender<()> {
    let (guard, dropped) = mpsc::channel();
    // A paused clock does not go on by itself while tokio's blocking pool works.
    spawn_blocking(move || dropped.recv_timeout(PATIENCE));
    guard
}

fn house(witness: &Witness, grace: Option<Duration>) -> House {
    let executor = ProcessExecutor::new("/bin/sh").arg("-c").arg(STUBBORN).env("WITNESS", witness.path());
    House::built(registry([(agent("a"), executor)]), |builder| match grace {
        Some(grace) => builder.grace(grace),
        None => builder,
    })
}

/// Stops a stubborn child, and lets no more than half of the `grace` pass.
async fn is_ended_within(grace: Duration, set: Option<Duration>) {
    let _still = stand_still();
    let mut witness = Witness::new();
    let house = house(&witness, set);
    let handle = house.team.spawn(task("t").with_timeout(ms(100)));
    assert_eq!(witness.line().await.as_deref(), Some("ready"));
    advance(ms(100)).await;
    assert_eq!(witness.line().await.as_deref(), Some("asked"));
    advance(grace / 2).await;

    let report = handle.await.unwrap();
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(!report.detached);
    assert_eq!(report.timing.executed, ms(100) + grace / 2);
    house.assert_rest();
    assert_eq!(witness.line().await, None, "somebody is there");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_does_not_heed_its_deadline_is_gone_within_the_usual_grace() {
    is_ended_within(ms(50), None).await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_does_not_heed_its_deadline_is_gone_within_a_short_grace() {
    is_ended_within(ms(10), Some(ms(10))).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_a_group_is_detached_for_no_longer_than_it_takes_to_kill_it() {
    let _still = stand_still();
    let mut witness = Witness::new();
    let house = house(&witness, Some(Duration::ZERO));
    let start = Instant::now();
    let handle = house.team.spawn(task("t").with_timeout(ms(100)));
    assert_eq!(witness.line().await.as_deref(), Some("ready"));
    advance(ms(100)).await;

    let report = handle.await.unwrap();
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(report.detached);
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(start.elapsed(), ms(100), "the timeout");
    house.assert_rest();
    while let Some(line) = witness.line().await {
        assert_eq!(line, "asked");
    }
}
