//! Why a child gave no answer.

use std::{borrow::Cow, fmt, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use convoke_core::{ErrorCode, ExecutorError};

/// Why the child of a [`ProcessExecutor`](crate::ProcessExecutor) gave no answer; the cause of the executor's error.
///
/// Its texts are private to the caller: they name the program, and quote it. The executor's error says in public only
/// which kind it is, and the exit code or the signal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The program did not start. The code is `execution_failed`.
    #[error("could not start program `{program}`; check that it is there and may be executed")]
    NotStarted {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The child cannot be waited for: something else in this process reaps children that it did not start, say. Its id
    /// may be a stranger's then, so that nothing is killed, and what is left of its group goes on. The code is
    /// `execution_failed`.
    #[error("could not wait for program `{program}`")]
    Lost {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The child ended with an exit code other than 0, or by a signal. The code is `execution_failed`.
    #[error("program `{program}` {}{}", Ended(*.status), Quoted(stderr))]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote to its standard error output, as text.
        stderr: String,
    },
    /// The child wrote more to its standard output than it may. The code is `contract_violation`.
    #[error(
        "program `{program}` answered with more than {limit} bytes; raise the limit, or let it write less"
    )]
    TooLong {
        /// The program.
        program: String,
        /// How many bytes it may write.
        limit: usize,
    },
    /// The child ended well and wrote nothing where an answer is due. The code is `contract_violation`.
    #[error("program `{program}` ended without an answer")]
    Silent {
        /// The program.
        program: String,
    },
    /// What the child wrote is no answer. The code is `contract_violation`.
    #[error("program `{program}` answered with something else than a JSON answer")]
    NoAnswer {
        /// The program.
        program: String,
        /// Where it is wrong.
        source: serde_json::Error,
    },
    /// What the child wrote is no UTF-8, where a text is due. The code is `contract_violation`.
    #[error("program `{program}` answered with something else than a UTF-8 text")]
    NoText {
        /// The program.
        program: String,
        /// Where it is wrong.
        source: std::str::Utf8Error,
    },
}

impl ProcessError {
    pub(super) fn into_executor_error(self) -> ExecutorError {
        let (code, public): (_, Cow<'static, str>) = match &self {
            Self::NotStarted { .. } => (ErrorCode::ExecutionFailed, "process could not be started".into()),
            Self::Lost { .. } => (ErrorCode::ExecutionFailed, "process could not be waited for".into()),
            Self::Failed { status, .. } => {
                (ErrorCode::ExecutionFailed, format!("process {}", Ended(*status)).into())
            }
            Self::TooLong { limit, .. } => (
                ErrorCode::ContractViolation,
                format!("process answered with more than {limit} bytes").into(),
            ),
            Self::Silent { .. } | Self::NoAnswer { .. } | Self::NoText { .. } => {
                (ErrorCode::ContractViolation, "process gave no valid answer".into())
            }
        };
        ExecutorError::from(self).with_code(code).with_public(public)
    }
}

/// How a process ended, as the rest of a sentence about it.
struct Ended(ExitStatus);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "ended with exit code {code}"),
            (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (None, None) => f.write_str("ended in an unknown way"),
        }
    }
}

/// What a process said, after a colon, if it said anything.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}
