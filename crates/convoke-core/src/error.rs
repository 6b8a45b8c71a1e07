//! Errors: what an executor returns, and what a report says about it.

use std::{borrow::Cow, error::Error, fmt, io};

use serde::{Deserialize, Serialize};

use crate::{BudgetError, ErrorCode};

type Source = Box<dyn Error + Send + Sync + 'static>;

/// What an executor returns where it has no outcome.
///
/// Any error becomes one by `?`. Its text may quote what a provider or a file said, so it stays private: reports keep
/// it as [`TaskError::detail`], events never carry it. What is said by [`with_public`](Self::with_public) is shown.
///
/// So does a [`TaskError`] of nested work: it is an [`execution_failed`](ErrorCode::ExecutionFailed) then, whatever its own
/// code was (`wait_cycle`, say), and its text is the detail. Look at the report's code before `?` to treat it.
///
/// Like `anyhow::Error` it does not implement [`Error`] itself, which leaves `?` free for all that do;
/// [`as_error`](Self::as_error) gives the source.
///
/// ```
/// use convoke_core::{ErrorCode, ExecutorError};
///
/// fn read() -> Result<String, ExecutorError> {
///     Ok(std::fs::read_to_string("/nowhere")?)
/// }
/// let error = read().unwrap_err().with_public("the draft cannot be read");
/// assert_eq!(error.code(), ErrorCode::ExecutionFailed);
/// assert_eq!(error.public(), Some("the draft cannot be read"));
/// ```
pub struct ExecutorError {
    code: ErrorCode,
    public: Option<Cow<'static, str>>,
    source: Option<Source>,
}

impl ExecutorError {
    /// An error with a private text.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { code: ErrorCode::ExecutionFailed, public: None, source: Some(detail.into().into()) }
    }

    /// The work stopped because it was asked to.
    pub fn cancelled() -> Self {
        Self { code: ErrorCode::Cancelled, public: None, source: None }
    }

    /// Something that the contract between the runtime and the work forbids.
    pub fn contract_violation(detail: impl Into<String>) -> Self {
        Self::new(detail).with_code(ErrorCode::ContractViolation)
    }

    /// Says what every observer may read.
    #[must_use]
    pub fn with_public(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.public = Some(text.into());
        self
    }

    /// Sets the code; [`execution_failed`](ErrorCode::ExecutionFailed) unless set, or
    /// [`budget_exhausted`](ErrorCode::BudgetExhausted) where a [`BudgetError`] is the error or one of its sources. An
    /// error that shows another's text and sources as its own (`#[error(transparent)]`) hides it: there it is set here.
    ///
    /// A code whose status is not [`Failed`](crate::TaskStatus::Failed) or
    /// [`Cancelled`](crate::TaskStatus::Cancelled) is not an executor's to give and becomes `contract_violation`.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        use crate::TaskStatus::{Cancelled, Failed};
        self.code =
            if matches!(code.status(), Failed | Cancelled) { code } else { ErrorCode::ContractViolation };
        self
    }

    /// The machine-readable reason.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// What every observer may read.
    pub fn public(&self) -> Option<&str> {
        self.public.as_deref()
    }

    /// The cause, with its own sources.
    pub fn as_error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// The error as a report carries it.
    pub fn into_task_error(self) -> TaskError {
        let message = self.public.unwrap_or(match self.code {
            ErrorCode::Cancelled => Cow::Borrowed("executor says that it was cancelled"),
            ErrorCode::BudgetExhausted => Cow::Borrowed("budget has nothing left"),
            _ => Cow::Borrowed("executor returned an error"),
        });
        let mut error = TaskError::new(self.code, message);
        if let Some(source) = self.source {
            error = error.with_detail(error_chain(&*source));
        }
        error
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ExecutorError {
    fn from(error: E) -> Self {
        let code =
            if mentions_budget(&error) { ErrorCode::BudgetExhausted } else { ErrorCode::ExecutionFailed };
        Self { code, public: None, source: Some(Box::new(error)) }
    }
}

impl fmt::Debug for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorError")
            .field("code", &self.code)
            .field("public", &self.public)
            .field("source", &self.source)
            .finish()
    }
}

fn mentions_budget(error: &(dyn Error + 'static)) -> bool {
    // An I/O error hides the error that it was made from: its source is that one's source.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<BudgetError>()
        || inner.is_some_and(|inner| mentions_budget(inner))
        || error.source().is_some_and(mentions_budget)
}

/// An error and its sources in one line, joined by `: `; a source whose text its parent already ends with is left out.
///
/// ```
/// let error = std::io::Error::other("disk is full");
/// assert_eq!(convoke_core::error_chain(&error), "disk is full");
/// ```
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let said = source.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = source.source();
    }
    text
}

/// Why a task did not complete, as its report says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message} ({code})")]
#[serde(deny_unknown_fields)]
pub struct TaskError {
    code: ErrorCode,
    message: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl TaskError {
    /// A code and a text that every observer may read.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), detail: None }
    }

    /// Adds what only the caller may read: the text of an executor's error, of a panic, of a provider.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The machine-readable reason.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// What happened, to which id, and what to do next; holds nothing that an executor did not declare public.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What an executor, a panic or a provider said. Private to the caller: no event carries it.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Whether the same request may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        self.code.is_retryable()
    }
}
