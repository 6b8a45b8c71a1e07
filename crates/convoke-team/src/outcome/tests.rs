//! Each word of an executor, without a stop and after one of either cause.

use serde_json::Value;

use convoke_core::{ExecutorError, ResumeToken};
use convoke_registry::CoordinationError;

use super::*;

fn check(
    said: Result<TaskOutcome, ExecutorError>,
    asked: Option<StopCause>,
    expected: (TaskStatus, Option<ErrorCode>),
) {
    let said = said.map_err(|error| CoordinationError::new(error.into_task_error()));
    let concluded = Conclusion::of_work(Worker(Some(&AgentId::new("a").unwrap())), said.clone(), asked);
    let code = concluded.error.as_ref().map(TaskError::code);
    assert_eq!((concluded.status, code), expected, "{said:?} after {asked:?}");
}

#[test]
fn only_a_word_that_says_stopped_is_read_by_the_cause() {
    use ErrorCode as Code;
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, TimedOut};
    let causes = [None, Some(StopCause::Cancelled), Some(StopCause::Deadline)];
    for asked in causes {
        check(Ok(TaskOutcome::completed("done")), asked, (Completed, None));
        check(Ok(TaskOutcome::input_required("which?")), asked, (InputRequired, None));
        check(Ok(TaskOutcome::blocked("no key")), asked, (Blocked, Some(Code::AgentBlocked)));
        check(Ok(TaskOutcome::TimedOut { output: "part".into() }), asked, (TimedOut, Some(Code::TimedOut)));
        check(Err(ExecutorError::new("broken")), asked, (Failed, Some(Code::ExecutionFailed)));
        let violation = ExecutorError::contract_violation("working is no last word");
        check(Err(violation), asked, (Failed, Some(Code::ContractViolation)));

        let by_cause = match asked {
            Some(StopCause::Deadline) => (TimedOut, Some(Code::TimedOut)),
            _ => (Cancelled, Some(Code::Cancelled)),
        };
        check(Ok(TaskOutcome::cancelled()), asked, by_cause);
        check(Err(ExecutorError::cancelled()), asked, by_cause);
    }
}

#[test]
fn what_a_stopped_executor_had_so_far_stays_in_the_report() {
    let said = Ok(TaskOutcome::Cancelled { output: "half".into() });
    let concluded =
        Conclusion::of_work(Worker(Some(&AgentId::new("a").unwrap())), said, Some(StopCause::Deadline));
    assert_eq!(concluded.output.map(|output| output.text).as_deref(), Some("half"));
}

#[test]
fn data_that_nests_too_deep_is_kept_nowhere_and_fails_what_would_be_published() {
    use ErrorCode::{AgentBlocked, ContractViolation, ExecutionFailed, TimedOut};
    let nested = |levels| (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]));
    let output = |levels| TaskOutput::text("half").with_metadata("m", nested(levels));
    let check = |said: fn(TaskOutput, Value) -> Said, shallow: Option<ErrorCode>, deep: ErrorCode| {
        let levels = [(MAX_JSON_DEPTH, shallow), (MAX_JSON_DEPTH + 1, Some(deep)), (2_000, Some(deep))];
        for (levels, expected) in levels {
            let agent = AgentId::new("a").unwrap();
            let said = said(output(levels), nested(levels));
            let ended = Conclusion::of_work(Worker(Some(&agent)), said, Some(StopCause::Deadline));
            assert_eq!(ended.error.as_ref().map(TaskError::code), expected);
            assert_eq!(ended.output.as_ref().map(|output| output.text.as_str()), Some("half"));
            let is_kept =
                !ended.output.is_some_and(|output| output.metadata.is_empty()) || ended.pause.is_some();
            assert_eq!(is_kept, levels == MAX_JSON_DEPTH);
        }
    };
    check(|output, _| Ok(TaskOutcome::completed(output)), None, ContractViolation);
    check(
        |_, deep| Ok(TaskOutcome::input_required("which?").with_output("half").with_request(deep)),
        None,
        ContractViolation,
    );
    check(
        |_, deep| {
            let token = ResumeToken::new(1, deep);
            Ok(TaskOutcome::input_required("which?").with_output("half").with_resume(token))
        },
        None,
        ContractViolation,
    );
    check(
        |output, _| Ok(TaskOutcome::blocked("no key").with_output(output)),
        Some(AgentBlocked),
        AgentBlocked,
    );
    check(|output, _| Ok(TaskOutcome::cancelled().with_output(output)), Some(TimedOut), TimedOut);
    check(
        |output, _| {
            let error = TaskError::new(ExecutionFailed, "broken");
            Err(CoordinationError::new(error).with_output(output))
        },
        Some(ExecutionFailed),
        ExecutionFailed,
    );
}
