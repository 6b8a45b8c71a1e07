//! The end of a child and of its group, in every way that there is.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use futures_util::future::join_all;
use tokio::time::timeout;

use convoke_core::{ErrorCode, ExecutorError, TaskOutcome};
use convoke_registry::{AgentExecutor as _, ProcessExecutor};
use convoke_testkit::{Trial, dropped_after};

use super::{
    PATIENCE, sh, text, text_of, trial,
    witness::{Witness, is_reaped, is_there},
};

/// Long enough that nothing ever waits for it.
const NEVER: Duration = Duration::from_hours(1);

/// Opens the witness in the child and in all that it starts.
fn seen_by(witness: &Witness, script: &str) -> ProcessExecutor {
    sh(&format!("exec 3>\"$WITNESS\"; {script}")).env("WITNESS", witness.path())
}

fn is_cancelled(said: &Result<TaskOutcome, ExecutorError>) -> bool {
    matches!(said, Err(error) if error.code() == ErrorCode::Cancelled)
}

/// Calls the executor, and stops it once `ready` is through.
async fn stopped_when(
    trial: &Trial,
    executor: &ProcessExecutor,
    ready: impl Future<Output = ()>,
) -> Result<TaskOutcome, ExecutorError> {
    let stop = async {
        ready.await;
        trial.cancel();
    };
    timeout(PATIENCE, async { tokio::join!(trial.call(executor), stop).0 }).await.unwrap()
}

#[tokio::test]
async fn it_says_that_it_heeds_a_stop_and_is_not_to_be_dropped() {
    let capabilities = sh("true").capabilities();
    assert!(capabilities.cooperative_cancellation && capabilities.concurrent_execution);
    assert!(!capabilities.abort_on_cancel);
}

#[tokio::test]
async fn a_child_ends_when_it_is_asked_to() {
    let mut witness = Witness::new();
    let executor = seen_by(&witness, "echo ready >&3; sleep 3600 & wait").with_kill_after(NEVER);
    let ready = async { assert_eq!(witness.line().await, "ready") };
    assert!(is_cancelled(&stopped_when(&trial(), &executor, ready).await));
    timeout(PATIENCE, witness.all_gone()).await.unwrap();
}

#[tokio::test]
async fn a_group_that_ignores_termination_is_killed_and_leaves_no_zombie() {
    let mut witness = Witness::new();
    let script = "trap '' TERM; echo $$ >&3; sh -c 'sleep 3600 & echo $$ >&3; wait' & wait";
    let executor = seen_by(&witness, script);
    let mut leader = None;
    let ready = async {
        leader = Some(witness.process().await);
        witness.process().await;
    };
    assert!(is_cancelled(&stopped_when(&trial(), &executor, ready).await));
    assert!(!is_there(leader.unwrap()), "a zombie is left");
    timeout(PATIENCE, witness.all_gone()).await.unwrap();
}

#[tokio::test]
async fn a_stop_before_the_start_starts_nothing() {
    let trial = trial();
    trial.cancel();
    // To start it would be an error.
    assert!(is_cancelled(&trial.call(&ProcessExecutor::new("/nowhere/at all")).await));
}

#[tokio::test]
async fn what_a_child_answers_to_a_stop_is_heard() {
    let check = async |script: &str, is_text: bool, expected: Option<&str>| {
        let mut witness = Witness::new();
        let script = format!("stop() {{ {script}; }}; trap stop TERM; echo ready >&3; sleep 3600 & wait");
        let mut executor = seen_by(&witness, &script).with_kill_after(NEVER);
        if is_text {
            executor = executor.with_text_answer();
        }
        let ready = async { assert_eq!(witness.line().await, "ready") };
        let said = stopped_when(&trial(), &executor, ready).await;
        match expected {
            Some(text) => assert_eq!(said.unwrap().output().text, text),
            None => assert!(is_cancelled(&said), "{script}: {said:?}"),
        }
    };
    check(r#"echo '{"status":"cancelled","output":{"text":"half"}}'; exit 0"#, false, Some("half")).await;
    check(r#"echo '{"status":"completed","output":{"text":"all"}}'; exit 0"#, false, Some("all")).await;
    check(r#"echo '{"status":"completed"}'; exit 1"#, false, None).await;
    check("echo nonsense; exit 0", false, None).await;
    check("exit 0", false, None).await;
    check("echo half; exit 0", true, Some("half")).await;
    check("echo half; exit 143", true, None).await;
    check("exit 0", true, None).await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_open_does_not_hold_up_the_answer_and_is_killed() {
    let mut witness = Witness::new();
    let executor = seen_by(&witness, "trap '' TERM; sleep 3600 & echo done").with_text_answer();
    assert_eq!(timeout(PATIENCE, text_of(&executor)).await.unwrap(), "done");
    timeout(PATIENCE, witness.all_gone()).await.unwrap();
}

#[tokio::test]
async fn all_that_was_written_before_the_exit_counts() {
    // As much as a pipe holds, so that the child exits before anybody has read.
    let executor = text("sleep 3600 & printf '%065536d' 0");
    for _ in 0..20 {
        assert_eq!(timeout(PATIENCE, text_of(&executor)).await.unwrap().len(), 65536);
    }
}

#[tokio::test]
async fn what_leaves_the_group_is_left_alone_and_holds_nothing_up() {
    let mut witness = Witness::new();
    let directory = tempfile::tempdir().unwrap();
    let stranger = "trap 'echo alone >&3; exit' PIPE; echo >up; while :; do echo more; echo more >&2; done";
    let script = format!("mkfifo up; setsid sh -c \"{stranger}\" & read -r up <up; echo done");
    let executor = seen_by(&witness, &script)
        .with_text_answer()
        .with_output_limit(usize::MAX)
        .current_dir(directory.path());
    let answer = timeout(PATIENCE, text_of(&executor)).await.unwrap();
    assert!(answer.contains("done"), "{answer}");
    // What ends it is that nobody reads any more.
    assert_eq!(timeout(PATIENCE, witness.line()).await.unwrap(), "alone");
    timeout(PATIENCE, witness.all_gone()).await.unwrap();
}

#[tokio::test]
async fn a_dropped_future_kills_the_group() {
    let mut witness = Witness::new();
    let executor = seen_by(&witness, "trap '' TERM; sleep 3600 & echo $$ >&3; wait");
    let trial = trial();
    let mut call = Box::pin(trial.call(&executor));
    let leader = tokio::select! {
        said = &mut call => panic!("it has ended: {said:?}"),
        leader = timeout(PATIENCE, witness.process()) => leader.unwrap(),
    };
    drop(call);
    timeout(PATIENCE, witness.all_gone()).await.unwrap();
    timeout(PATIENCE, is_reaped(leader)).await.unwrap();
}

#[tokio::test]
async fn a_future_can_be_dropped_at_any_await_point() {
    // Something to wake up for, without end.
    let script = "trap '' TERM; sleep 3600 & echo $$ >&3; while :; do echo more >&2; done";
    for polls in 1..=20 {
        for is_stopped in [false, true] {
            let witness = Witness::new();
            let executor = seen_by(&witness, script).with_kill_after(NEVER);
            let trial = trial();
            let mut call = Box::pin(trial.call(&executor));
            let said = dropped_after(polls, &mut call).await;
            assert!(said.is_none(), "{said:?}");
            if is_stopped {
                trial.cancel();
                let said = dropped_after(1, &mut call).await;
                assert!(said.is_none() || is_cancelled(&said.unwrap()));
            }
            drop(call);
            if let Some(leader) = timeout(PATIENCE, witness.last_word()).await.unwrap() {
                timeout(PATIENCE, is_reaped(leader)).await.unwrap();
            }
        }
    }
}

#[test]
fn the_end_of_the_tokio_runtime_kills_the_group() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut witness = Witness::new();
    let executor = seen_by(&witness, "trap '' TERM; echo $$ >&3; sleep 3600 & wait");
    let ended = runtime();
    ended.spawn(async move { trial().call(&executor).await });
    let other = runtime();
    let leader = other.block_on(async { timeout(PATIENCE, witness.process()).await.unwrap() });
    drop(ended);
    other.block_on(async {
        timeout(PATIENCE, witness.all_gone()).await.unwrap();
        timeout(PATIENCE, is_reaped(leader)).await.unwrap();
    });
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_hundred_children_at_once_leave_no_zombie_and_no_open_pipe() {
    let script = "echo $$; for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done; sleep 3600 &";
    let executor = text(script);
    let all = join_all((0..100).map(|_| text_of(&executor)));
    let answers = timeout(PATIENCE, all).await.unwrap();

    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open: BTreeSet<_> = links.filter_map(|link| fs::read_link(link.path()).ok()).collect();
    let mut pipes = BTreeSet::new();
    for answer in answers {
        let (process, its_pipes) = answer.split_once('\n').unwrap();
        let process = rustix::process::Pid::from_raw(process.parse().unwrap()).unwrap();
        assert!(!is_there(process), "a zombie is left");
        for pipe in its_pipes.lines() {
            assert!(pipe.starts_with("pipe:"), "{pipe}");
            assert!(!open.contains(Path::new(pipe)), "{pipe} is open");
            pipes.insert(pipe.to_owned());
        }
    }
    assert_eq!(pipes.len(), 300);
}
