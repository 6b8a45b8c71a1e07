//! The other process.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

pub(super) const ROLE: &str = "CONVOKE_PLANNING_TEST_ROLE";
pub(super) const FOLDER: &str = "CONVOKE_PLANNING_TEST_FOLDER";

/// Another process, which is killed when this is dropped.
pub(super) struct Other {
    pub(super) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    pub(super) fn start(role: &str, folder: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "run::kills::the_other_process", "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What the line says that begins with `here`; `None` where the process has done all it had to.
    pub(super) fn here(&mut self) -> Option<u64> {
        loop {
            let line = self.lines.next().expect("the other process goes on").unwrap();
            // The harness of the tests writes lines too, and one of ours may follow on the same line.
            if let Some((_, number)) = line.split_once("here ") {
                return Some(number.trim().parse().unwrap());
            }
            if line.contains("done ") {
                return None;
            }
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

pub(super) fn say(word: &str, number: u64) {
    println!("{word} {number}");
    std::io::stdout().flush().unwrap();
}
