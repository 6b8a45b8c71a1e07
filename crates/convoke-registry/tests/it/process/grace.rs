//! When a child that was asked to end is killed, to the millisecond.

use std::{fs::OpenOptions, io::Write as _, sync::mpsc, time::Duration};

use tokio::{
    task::{spawn_blocking, yield_now},
    time::advance,
};

use convoke_core::TaskRequest;
use convoke_registry::{AgentExecutor as _, ProcessExecutor};

use super::{PATIENCE, text, trial, witness::Witness};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Keeps a paused clock where it is, whatever the test waits for, until this is dropped or patience is lost.
fn stand_still() -> mpsc::Sender<()> {
    let (guard, dropped) = mpsc::channel();
    // A paused clock does not go on by itself while tokio's blocking pool works.
    spawn_blocking(move || dropped.recv_timeout(PATIENCE));
    guard
}

/// Whether a child that is asked to end, and takes `time` to do so, is heard, or else killed.
async fn is_heard_after(
    time: Duration,
    grace: impl Into<Option<Duration>>,
    set: impl FnOnce(ProcessExecutor) -> ProcessExecutor,
) -> bool {
    let _still = stand_still();
    let directory = tempfile::tempdir().unwrap();
    let mut witness = Witness::new();
    let script = r#"mkfifo go; trap 'read -r go <go; echo heard; exit 0' TERM
        exec 3>"$WITNESS"; echo ready >&3; while :; do sleep 3600 & wait; done"#;
    let executor = set(text(script).env("WITNESS", witness.path()).current_dir(directory.path()));

    let trial = trial();
    let mut ctx = trial.context();
    if let Some(grace) = grace.into() {
        ctx = ctx.with_grace(grace);
    }
    let stop = async {
        assert_eq!(witness.line().await, "ready");
        trial.cancel();
        // For the executor to ask, and to kill in time.
        settle().await;
        advance(time).await;
        settle().await;
        // For reading and writing, which waits for nobody.
        let mut go = OpenOptions::new().read(true).write(true).open(directory.path().join("go")).unwrap();
        writeln!(go, "go").unwrap();
        go
    };
    let (said, _go) = tokio::join!(executor.execute(TaskRequest::new("do it"), ctx), stop);
    witness.all_gone().await;
    said.is_ok_and(|outcome| outcome.output().text == "heard")
}

/// Lets everything run that can run without time passing.
async fn settle() {
    for _ in 0..10 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_has_half_of_the_grace_to_end() {
    assert!(is_heard_after(ms(24), None, |executor| executor).await);
    assert!(!is_heard_after(ms(25), None, |executor| executor).await);
    assert!(is_heard_after(ms(4), ms(10), |executor| executor).await);
    assert!(!is_heard_after(ms(5), ms(10), |executor| executor).await);
    assert!(is_heard_after(ms(499), ms(1000), |executor| executor).await);
    assert!(!is_heard_after(ms(500), ms(1000), |executor| executor).await);
}

#[tokio::test(start_paused = true)]
async fn a_grace_of_zero_kills_at_once() {
    assert!(!is_heard_after(ms(0), ms(0), |executor| executor).await);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_was_set_counts_whatever_the_grace() {
    for grace in [0, 10, 1000] {
        assert!(is_heard_after(ms(39), ms(grace), |executor| executor.with_kill_after(ms(40))).await);
        assert!(!is_heard_after(ms(40), ms(grace), |executor| executor.with_kill_after(ms(40))).await);
    }
}
