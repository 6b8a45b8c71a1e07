//! The pipes between a child and its parent: what goes in, and bounded parts of what comes out.

use std::{future::pending, os::fd::AsFd};

use rustix::io::{ioctl_fionread, read};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use super::group::Ends;

/// How much is read at a time, in bytes.
const CHUNK: usize = 8 << 10;

/// All three, moved on together: a child that does not read its input must not keep its output from being read.
pub(super) struct Pipes {
    pub(super) stdin: Input,
    pub(super) stdout: Output<ChildStdout>,
    pub(super) stderr: Output<ChildStderr>,
}

impl Pipes {
    pub(super) fn new(ends: Ends, request: Vec<u8>, output_limit: usize, stderr_limit: usize) -> Self {
        let (stdin, stdout, stderr) = ends;
        Self {
            stdin: Input { pipe: stdin, request, written: 0 },
            stdout: Output::new(stdout, Kept::Start, output_limit),
            stderr: Output::new(stderr, Kept::End, stderr_limit),
        }
    }

    /// Moves on whichever pipe is ready; never ready once all are closed. May be dropped and called again.
    pub(super) async fn step(&mut self) {
        tokio::select! {
            () = self.stdin.step() => {}
            () = self.stdout.step() => {}
            () = self.stderr.step() => {}
        }
    }

    /// Takes what the child has written until now, and closes them all.
    pub(super) fn close(&mut self) {
        self.stdin.pipe = None;
        self.stdout.close();
        self.stderr.close();
    }
}

/// The child's input: a request, and then its end.
pub(super) struct Input {
    pipe: Option<ChildStdin>,
    request: Vec<u8>,
    written: usize,
}

impl Input {
    async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        let rest = self.request.get(self.written..).unwrap_or_default();
        // A child that does not care for its input closes it, which is no error.
        self.written += pipe.write(rest).await.unwrap_or(rest.len());
        if self.written >= self.request.len() {
            self.pipe = None;
        }
    }
}

/// Which part of an output is kept where it is longer than its limit.
#[derive(Clone, Copy)]
enum Kept {
    Start,
    End,
}

/// One of the child's outputs.
pub(super) struct Output<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
    kept: Kept,
    limit: usize,
    is_cut: bool,
}

impl<P: AsyncRead + AsFd + Unpin> Output<P> {
    fn new(pipe: Option<P>, kept: Kept, limit: usize) -> Self {
        Self { pipe, bytes: Vec::new(), kept, limit, is_cut: false }
    }

    async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        self.bytes.reserve(CHUNK);
        match pipe.read_buf(&mut self.bytes).await {
            Ok(0) | Err(_) => self.pipe = None,
            // The end is cut at twice its limit, so that no byte is moved more than once on average.
            Ok(_) => match self.kept {
                Kept::Start => self.cut(),
                Kept::End if self.bytes.len() / 2 > self.limit => self.cut(),
                Kept::End => {}
            },
        }
    }

    /// Takes what is in the pipe now, and closes it, whoever else holds its other end and goes on writing.
    fn close(&mut self) {
        // Asks the system rather than tokio, which has not heard yet of what was written a moment ago.
        if let Some(pipe) = self.pipe.take() {
            let mut left = ioctl_fionread(&pipe).unwrap_or(0);
            let mut chunk = [0; CHUNK];
            while left > 0 {
                // The pipe does not block; an error means that it is empty, against what it said.
                let Ok(count @ 1..) = read(&pipe, &mut chunk) else { break };
                self.bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
                left = left.saturating_sub(count as u64);
            }
        }
        self.cut();
    }

    fn cut(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.limit);
        if surplus > 0 {
            self.is_cut = true;
            match self.kept {
                Kept::Start => self.bytes.truncate(self.limit),
                Kept::End => drop(self.bytes.drain(..surplus)),
            }
        }
    }

    /// Whether there was more than the limit.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
