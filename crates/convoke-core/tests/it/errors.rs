//! Error codes, what an executor returns, and what a report says about it.

use std::{error::Error, fmt, io};

use convoke_core::{Budget, BudgetError, ErrorCode, ExecutorError, TaskError, TaskStatus, Units};

#[test]
fn every_code_has_its_name_its_status_and_its_word_on_trying_again() {
    use TaskStatus::{Blocked, Cancelled, Failed, TimedOut};
    let table = [
        ("invalid_request", Blocked, false),
        ("agent_not_found", Blocked, false),
        ("capability_not_found", Blocked, false),
        ("agent_unavailable", Blocked, true),
        ("capacity_exhausted", Blocked, true),
        ("wait_cycle", Blocked, false),
        ("depth_exceeded", Blocked, false),
        ("agent_blocked", Blocked, false),
        ("execution_failed", Failed, true),
        ("executor_panicked", Failed, true),
        ("contract_violation", Failed, false),
        ("store_failed", Failed, true),
        ("budget_exhausted", Failed, false),
        ("session_full", Blocked, false),
        ("interrupted", Failed, true),
        ("cancelled", Cancelled, false),
        ("timed_out", TimedOut, false),
        ("still_detached", Blocked, true),
        ("shutting_down", Blocked, false),
        ("consensus_not_reached", Failed, true),
    ];
    let found: Vec<_> =
        ErrorCode::ALL.iter().map(|code| (code.as_str(), code.status(), code.is_retryable())).collect();
    assert_eq!(found, table);
    for code in ErrorCode::ALL {
        let json = format!("\"{code}\"");
        assert_eq!(serde_json::to_string(code).unwrap(), json);
        assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
        assert_eq!(TaskError::new(*code, "x").is_retryable(), code.is_retryable());
    }
}

/// An error with a text and a source.
#[derive(Debug)]
struct Layer<E>(&'static str, E);

impl<E> fmt::Display for Layer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<E: Error + 'static> Error for Layer<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.1)
    }
}

fn by_question_mark<E: Error + Send + Sync + 'static>(error: E) -> ExecutorError {
    fn run<E: Error + Send + Sync + 'static>(error: E) -> Result<(), ExecutorError> {
        Err(error)?;
        Ok(())
    }
    run(error).unwrap_err()
}

fn exhausted() -> BudgetError {
    Budget::builder().limit("calls", 0).build().reserve(Units::calls(1)).unwrap_err()
}

#[test]
fn any_error_becomes_one_by_question_mark() {
    for error in [
        by_question_mark("x".parse::<u32>().unwrap_err()),
        by_question_mark(io::Error::from(io::ErrorKind::NotFound)),
        by_question_mark(Layer("outer", fmt::Error)),
        by_question_mark(TaskError::new(ErrorCode::Cancelled, "of another task")),
        ExecutorError::new("a text"),
    ] {
        assert_eq!((error.code(), error.public()), (ErrorCode::ExecutionFailed, None), "{error:?}");
        assert!(error.as_error().is_some());
    }
    let error = by_question_mark(io::Error::from(io::ErrorKind::NotFound));
    let source = error.as_error().unwrap().downcast_ref::<io::Error>();
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::NotFound), "the source can be had back");
}

#[test]
fn an_empty_budget_anywhere_below_is_budget_exhausted() {
    for error in [
        by_question_mark(exhausted()),
        by_question_mark(Layer("model refused", exhausted())),
        by_question_mark(Layer("step ended", Layer("model refused", exhausted()))),
        by_question_mark(io::Error::other(exhausted())),
        by_question_mark(Layer("stream ended", io::Error::other(Layer("model refused", exhausted())))),
    ] {
        assert_eq!(error.code(), ErrorCode::BudgetExhausted, "{error:?}");
        let error = error.into_task_error();
        assert_eq!(error.message(), "budget has nothing left");
    }
    let error = by_question_mark(exhausted()).with_code(ErrorCode::StoreFailed);
    assert_eq!(error.code(), ErrorCode::StoreFailed);
}

#[test]
fn an_executor_may_give_the_codes_of_a_failure_and_of_a_stop() {
    for code in ErrorCode::ALL {
        let is_its_to_give = matches!(code.status(), TaskStatus::Failed | TaskStatus::Cancelled);
        let expected = if is_its_to_give { *code } else { ErrorCode::ContractViolation };
        assert_eq!(ExecutorError::new("x").with_code(*code).code(), expected, "{code}");
    }
    assert_eq!(ExecutorError::cancelled().code(), ErrorCode::Cancelled);
    assert_eq!(ExecutorError::contract_violation("x").code(), ErrorCode::ContractViolation);
}

#[test]
fn what_it_said_is_private_and_what_it_declared_is_public() {
    fn check(error: ExecutorError, message: &str, detail: Option<&str>) {
        let error = error.into_task_error();
        assert_eq!((error.message(), error.detail()), (message, detail));
        assert_eq!(error.to_string(), format!("{message} ({})", error.code()));
        let source = Error::source(&error).map(ToString::to_string);
        assert_eq!(source, None, "a report's error has no source that would say it");
    }
    check(ExecutorError::new("key sk-123"), "executor returned an error", Some("key sk-123"));
    check(ExecutorError::contract_violation("key sk-123"), "executor returned an error", Some("key sk-123"));
    check(
        ExecutorError::new("key sk-123").with_public("the provider refused"),
        "the provider refused",
        Some("key sk-123"),
    );
    check(ExecutorError::cancelled(), "executor says that it was cancelled", None);
    check(
        by_question_mark(exhausted()),
        "budget has nothing left",
        Some("budget has 0 `calls` left of 0; 1 were asked for"),
    );
}

#[test]
fn the_detail_says_every_source_once() {
    fn check(error: impl Error + Send + Sync + 'static, expected: &str) {
        assert_eq!(by_question_mark(error).into_task_error().detail(), Some(expected));
    }
    check(Layer("a", Layer("b", Layer("c", fmt::Error))), &format!("a: b: c: {}", fmt::Error));
    check(Layer("reading: not found", Layer("not found", Layer("disk", fmt::Error))), &{
        format!("reading: not found: disk: {}", fmt::Error)
    });
    check(Layer("a", Layer("a", fmt::Error)), &format!("a: {}", fmt::Error));
}
