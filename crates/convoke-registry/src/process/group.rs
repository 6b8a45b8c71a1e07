//! A child process and its group, from its start to its end.

use std::{io, process::ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    signal::unix::{self, SignalKind},
};

/// A child that leads a process group of its own. Dropping it kills the group, and leaves the child to tokio to reap.
///
/// The group's id is the child's, and stays so as long as the child is not reaped, be it dead: only until then can a
/// signal to the group not hit strangers.
pub(super) struct Group {
    child: Child,
    leader: Pid,
    exits: unix::Signal,
    is_reaped: bool,
}

/// The parent's ends of a child's pipes.
pub(super) type Ends = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Group {
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        // Heard from before there is a child, so that its exit is not missed.
        let exits = unix::signal(SignalKind::child())?;
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = id.ok_or_else(|| io::Error::other("a child without an id"))?;
        Ok(Self { child, leader, exits, is_reaped: false })
    }

    pub(super) fn take_ends(&mut self) -> Ends {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// Resolves once the child has exited, and does not reap it. May be dropped and called again.
    pub(super) async fn exited(&mut self) -> io::Result<()> {
        while !self.has_exited()? {
            if self.exits.recv().await.is_none() {
                return Err(io::Error::other("tokio runtime tells of no signals any more"));
            }
        }
        Ok(())
    }

    fn has_exited(&mut self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::Pid(self.leader), options);
        // Somebody else has reaped it, so that its id may be a stranger's by now.
        self.is_reaped |= status.is_err();
        Ok(status?.is_some())
    }

    /// Asks all of the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of the group, and the child wherever it went.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
        if !self.is_reaped {
            let _ = kill_process(self.leader, Signal::KILL);
        }
    }

    /// Fails where nobody is left or nobody may be signalled, which is no reason to do anything else.
    fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Takes the status of a child that has exited.
    pub(super) fn reap(mut self) -> io::Result<ExitStatus> {
        let status = self.child.try_wait();
        self.is_reaped = !matches!(status, Ok(None));
        status?.ok_or_else(|| io::Error::other("a child that has exited has no status"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
