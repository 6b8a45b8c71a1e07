//! Two processes and one session. The other one runs this very test, told by a variable of the environment where.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use convoke_core::{ErrorCode, TaskStatus};
use convoke_journal::FileJournal;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use super::{house, status};
use crate::house::{assert_end, task};

const FOLDER: &str = "CONVOKE_TEAM_TEST_JOURNAL";

#[tokio::test]
async fn the_other_process() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let gate = Gate::closed();
    let steps = [Step::reply("never").after(&gate)];
    let house = house(FileJournal::open(folder).await.unwrap(), ScriptedExecutor::new(steps));
    let run = house.team.spawn(task("t"));
    gate.arrived(1).await;
    println!("working");
    run.await.unwrap();
}

#[tokio::test]
async fn work_of_a_process_that_is_killed_is_interrupted_and_its_session_is_refused_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = Command::new(env::current_exe().unwrap())
        .args(["--exact", "recorded::processes::the_other_process", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    // The harness of the tests writes lines too, and ours may follow on the same line.
    lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("working"))).unwrap().unwrap();

    let journal = FileJournal::open(folder.path()).await.unwrap();
    let house = house(journal, ScriptedExecutor::new([Step::reply("done")]));
    assert_end(&house.run(task("t")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
    other.kill().unwrap();
    other.wait().unwrap();

    let loaded = house.team.open_session("s").await.unwrap().snapshot();
    assert_eq!(status(&loaded, "t"), (TaskStatus::Failed, 1, Some(ErrorCode::Interrupted)));
    let report = house.run(task("t")).await;
    assert_eq!((report.status, report.attempt, report.text()), (TaskStatus::Completed, 2, "done"));
}
