//! An executor that runs a program.

mod answer;
mod error;
mod group;
mod pipes;
mod request;
mod run;

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use tokio::process::Command;

use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};

pub use answer::ProcessAnswer;
pub use error::ProcessError;
pub use request::ProcessRequest;

use self::{group::Group, pipes::Pipes, run::End};
use crate::{AgentExecutor, ExecutionContext, ExecutorCapabilities};

/// An executor that starts a program for each attempt: the only way to stop work that does not want to stop.
///
/// The child reads a [`ProcessRequest`] from its standard input, one line of JSON, and writes a [`ProcessAnswer`] to its
/// standard output, as JSON; after [`with_text_answer`](Self::with_text_answer) it writes a text. What it writes to its
/// standard error output is told where it fails, and dropped where it does not.
///
/// ```
/// use convoke_core::TaskRequest;
/// use convoke_registry::{AgentExecutor, ProcessExecutor};
/// # use convoke_core::{AgentId, SessionId, TaskId};
/// # use convoke_registry::ExecutionContext;
/// # use convoke_session::{Attempt, LateWriteHook, Session};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Session::new(SessionId::new("test")?);
/// # let attempt = Attempt::of_request(TaskId::new("draft")?, &TaskRequest::new("hi"));
/// # let mut admission = session.admit(attempt)?;
/// # let agent = AgentId::new("shell")?;
/// # let ctx = ExecutionContext::new(agent.clone(), admission.start(&agent, LateWriteHook::none()));
/// let script = r#"read -r request; echo '{"status":"completed","output":{"text":"done"}}'"#;
/// let shell = ProcessExecutor::new("/bin/sh").arg("-c").arg(script);
/// let outcome = shell.execute(TaskRequest::new("do it"), ctx).await;
/// assert_eq!(outcome.unwrap().output().text, "done");
/// # Ok(())
/// # }
/// ```
///
/// The child inherits the environment, but what [`env`](Self::env), [`env_remove`](Self::env_remove) and
/// [`env_clear`](Self::env_clear) change, and the current directory, unless [`current_dir`](Self::current_dir) sets
/// another. The session, the budget and the progress of the attempt stay with the parent.
///
/// # The end of a child
///
/// The child leads a process group of its own. Its answer is complete when it exits, be its output open in a process
/// that it has started: what was written until then counts. All that is left of the group is then killed, before the
/// child is reaped, so that the group's id is nobody else's.
///
/// A stop (see [`ExecutionContext::cancellation`]) asks the whole group to end, by `SIGTERM`, and kills it, by `SIGKILL`,
/// where the child has not ended after half of the [grace](ExecutionContext::grace), or after what
/// [`with_kill_after`](Self::with_kill_after) says. A child that uses that time to end with the exit code 0 and an answer
/// is heard; anything else is [`ExecutorError::cancelled`]. A stop before the start starts nothing.
///
/// The other half is for the system, to end and reap what was killed: with a grace of a few milliseconds, or on a machine
/// with much to do, that can take longer, and the work counts as detached until then. A grace of zero kills at once, and
/// leaves no time to see it.
///
/// What leaves the group (by `setsid`, `setpgid`, or as a job of a shell with job control) is outside all of this: it
/// is neither asked nor killed.
///
/// # Cancel safety
///
/// The future may be dropped at any await point: that kills the group at once, without `SIGTERM`, and tokio reaps the
/// child. Where no tokio runtime is left to do that, the dead child keeps its entry in the table of processes until the
/// next one in this process does, or until this process ends. A process that is killed itself drops nothing: its children
/// go on.
///
/// # Errors
///
/// A [`ProcessError`] is the cause of each but these: a stop; a request that is no JSON; the child's own
/// [`Failed`](ProcessAnswer::Failed). The exit code 0 promises an answer: empty output is an error, unless the answer is
/// a text, which may be empty.
///
/// # Panics
///
/// `execute` panics outside a tokio runtime, and in one without I/O or time.
///
/// # Platforms
///
/// Unix, but for systems without `waitid` (`OpenBSD`, say). Elsewhere the feature adds nothing. A host that is no Rust
/// program ignores `SIGPIPE`, as Rust programs do: a child may close its input while it is written.
#[derive(Clone, Debug)]
pub struct ProcessExecutor {
    program: OsString,
    args: Vec<OsString>,
    is_env_cleared: bool,
    /// In the order of the calls; `None` removes.
    env: Vec<(OsString, Option<OsString>)>,
    current_dir: Option<PathBuf>,
    output_limit: usize,
    stderr_limit: usize,
    /// `None` is half of the grace.
    kill_after: Option<Duration>,
    format: Format,
}

/// What an answer is written in.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json,
    Text,
}

impl ProcessExecutor {
    /// How much a child may write to its standard output unless set otherwise: 1 MiB.
    pub const OUTPUT_LIMIT: usize = 1 << 20;

    /// How much is kept of a child's standard error output unless set otherwise: 64 KiB.
    pub const STDERR_LIMIT: usize = 64 << 10;

    /// Runs `program`: a path, or a name that is looked up in `PATH`. It gets no arguments unless
    /// [`arg`](Self::arg) adds some, and no shell reads them.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            is_env_cleared: false,
            env: Vec::new(),
            current_dir: None,
            output_limit: Self::OUTPUT_LIMIT,
            stderr_limit: Self::STDERR_LIMIT,
            kill_after: None,
            format: Format::Json,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), Some(value.into())));
        self
    }

    /// Leaves a variable of the environment out.
    #[must_use]
    pub fn env_remove(mut self, key: impl Into<OsString>) -> Self {
        self.env.push((key.into(), None));
        self
    }

    /// Inherits nothing of the environment, and forgets what was set before; what is set afterwards counts.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.is_env_cleared = true;
        self.env.clear();
        self
    }

    /// Sets the current directory. Give the program as an absolute path then: whether a relative one starts here or
    /// there depends on the platform.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// Sets how many bytes the child may write to its standard output; [`OUTPUT_LIMIT`](Self::OUTPUT_LIMIT) unless set.
    /// A child that writes more is stopped, and has failed with [`ProcessError::TooLong`].
    #[must_use]
    pub fn with_output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Sets how many bytes are kept of the child's standard error output, from its end;
    /// [`STDERR_LIMIT`](Self::STDERR_LIMIT) unless set. A child may write more.
    #[must_use]
    pub fn with_stderr_limit(mut self, bytes: usize) -> Self {
        self.stderr_limit = bytes;
        self
    }

    /// Sets how long a child that is asked to end has until it is killed; half of the [grace](ExecutionContext::grace)
    /// unless set, 25 ms of the usual 50. Where it is not clearly shorter than the grace, stopped work counts as detached
    /// until it is dead.
    #[must_use]
    pub fn with_kill_after(mut self, time: Duration) -> Self {
        self.kill_after = Some(time);
        self
    }

    /// Takes what the child writes as the text of a completed output, without line breaks at its end. It has to be
    /// UTF-8, and may be empty.
    #[must_use]
    pub fn with_text_answer(mut self) -> Self {
        self.format = Format::Text;
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if self.is_env_cleared {
            command.env_clear();
        }
        for (key, value) in &self.env {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        if let Some(directory) = &self.current_dir {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// What the child said, if it is an answer.
    fn answer(&self, end: &End) -> Result<Result<TaskOutcome, ExecutorError>, ProcessError> {
        let program = self.program();
        if end.is_stdout_cut {
            return Err(ProcessError::TooLong { program, limit: self.output_limit });
        }
        if !end.status.success() {
            let cut = if end.is_stderr_cut { "[..] " } else { "" };
            let stderr = format!("{cut}{}", String::from_utf8_lossy(&end.stderr).trim());
            return Err(ProcessError::Failed { program, status: end.status, stderr });
        }
        match self.format {
            Format::Json if end.stdout.trim_ascii().is_empty() => Err(ProcessError::Silent { program }),
            Format::Json => match serde_json::from_slice::<ProcessAnswer>(&end.stdout) {
                Ok(answer) => Ok(answer.into_result()),
                Err(source) => Err(ProcessError::NoAnswer { program, source }),
            },
            Format::Text => match str::from_utf8(&end.stdout) {
                Ok(text) => Ok(Ok(text.trim_end_matches(['\r', '\n']).into())),
                Err(source) => Err(ProcessError::NoText { program, source }),
            },
        }
    }
}

impl AgentExecutor for ProcessExecutor {
    /// `cooperative_cancellation`, whatever the program is like.
    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities::default().with_cooperative_cancellation()
    }

    async fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> Result<TaskOutcome, ExecutorError> {
        if ctx.is_cancelled() {
            return Err(ExecutorError::cancelled());
        }
        let mut line = serde_json::to_vec(&ProcessRequest::new(request, &ctx))?;
        line.push(b'\n');
        let mut group = Group::spawn(&mut self.command()).map_err(|source| {
            ProcessError::NotStarted { program: self.program(), source }.into_executor_error()
        })?;
        let pipes = Pipes::new(group.take_ends(), line, self.output_limit, self.stderr_limit);
        let kill_after = self.kill_after.unwrap_or_else(|| ctx.grace() / 2);
        let end = run::run(group, pipes, ctx.cancellation(), kill_after)
            .await
            .map_err(|source| ProcessError::Lost { program: self.program(), source }.into_executor_error())?;
        match self.answer(&end) {
            // Of a child that was asked to end, an empty text is no answer.
            Ok(said) if !end.is_cancelled || !end.stdout.is_empty() => said,
            Err(error) if !end.is_cancelled => Err(error.into_executor_error()),
            Ok(_) | Err(_) => Err(ExecutorError::cancelled()),
        }
    }
}
