//! Seeing from outside when the last of a group of processes is gone.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader},
    path::PathBuf,
    thread,
};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use tempfile::TempDir;
use tokio::sync::{
    mpsc::{UnboundedReceiver, unbounded_channel},
    oneshot,
};

/// A named pipe that a child opens, and all that it starts inherit: at its end nobody of them is alive.
pub(super) struct Witness {
    directory: TempDir,
    lines: UnboundedReceiver<String>,
    opened: oneshot::Receiver<()>,
}

impl Witness {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let (sender, lines) = unbounded_channel();
        let (is_open, opened) = oneshot::channel();
        // A thread of its own, which nothing waits for: opening the pipe blocks until a child does.
        thread::spawn(move || {
            let pipe = BufReader::new(File::open(path).unwrap());
            let _ = is_open.send(());
            for line in pipe.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { directory, lines, opened }
    }

    /// What the child opens for writing.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("witness")
    }

    /// The next line that somebody wrote.
    pub(super) async fn line(&mut self) -> String {
        self.lines.recv().await.expect("nobody is there any more")
    }

    /// A line that is the id of a process.
    pub(super) async fn process(&mut self) -> Pid {
        Pid::from_raw(self.line().await.parse().unwrap()).unwrap()
    }

    /// The process that wrote its id, if one did before it was gone with all the others, or before it opened the pipe.
    pub(super) async fn last_word(mut self) -> Option<Pid> {
        // For reading and writing, which waits for nobody, and lets the reader begin where no child does.
        let pipe = OpenOptions::new().read(true).write(true).open(self.path()).unwrap();
        self.opened.await.unwrap();
        drop(pipe);
        let mut last = None;
        while let Some(line) = self.lines.recv().await {
            last = Pid::from_raw(line.parse().unwrap());
        }
        last
    }

    /// Waits until nobody holds the pipe any more.
    pub(super) async fn all_gone(&mut self) {
        assert_eq!(self.lines.recv().await, None, "somebody is there");
    }
}

/// Whether a process is there, be it dead and not reaped.
pub(super) fn is_there(process: Pid) -> bool {
    test_kill_process(process) != Err(Errno::SRCH)
}

/// Waits until somebody has reaped a process.
pub(super) async fn is_reaped(process: Pid) {
    while is_there(process) {
        tokio::task::yield_now().await;
    }
}
