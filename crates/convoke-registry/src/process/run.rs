//! One child, from its start to the moment at which its group is gone.

use std::{future::pending, io, process::ExitStatus, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{group::Group, pipes::Pipes};

/// How a child ended, and what it wrote.
pub(super) struct End {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) is_stdout_cut: bool,
    pub(super) stderr: Vec<u8>,
    pub(super) is_stderr_cut: bool,
    /// Whether it was asked to end before it did, by the token.
    pub(super) is_cancelled: bool,
}

/// Waits for the child; asks it to end where the token says so or where it writes too much, and kills its group where it
/// has not ended `kill_after` later.
///
/// Whatever of the group outlives the child is killed before the child is reaped.
pub(super) async fn run(
    mut group: Group,
    mut pipes: Pipes,
    token: &CancellationToken,
    kill_after: Duration,
) -> io::Result<End> {
    let (mut is_asked, mut is_cancelled, mut kill_at) = (false, false, None);
    loop {
        tokio::select! {
            biased;
            exited = group.exited() => {
                exited?;
                break;
            }
            () = token.cancelled(), if !is_asked => is_cancelled = true,
            () = at(kill_at) => {
                kill_at = None;
                group.kill();
            }
            () = pipes.step() => {}
        }
        if !is_asked && (is_cancelled || pipes.stdout.is_cut()) {
            is_asked = true;
            kill_at = Instant::now().checked_add(kill_after);
            group.terminate();
        }
    }
    group.kill();
    pipes.close();
    let status = group.reap()?;
    Ok(End {
        status,
        is_stdout_cut: pipes.stdout.is_cut(),
        stdout: pipes.stdout.into_bytes(),
        is_stderr_cut: pipes.stderr.is_cut(),
        stderr: pipes.stderr.into_bytes(),
        is_cancelled,
    })
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
