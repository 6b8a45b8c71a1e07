//! Each word of an executor, without a stop and after one of either cause.

use serde_json::Value;

use convoke_core::ExecutorError;
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
fn data_that_nests_too_deep_fails_whatever_was_said_and_the_text_stays() {
    let nested = |levels| (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]));
    let output = |levels| TaskOutput::text("half").with_metadata("m", nested(levels));
    let question = |levels| TaskOutcome::input_required("which?").with_request(nested(levels));
    let words = |levels| {
        [
            Ok(TaskOutcome::completed(output(levels))),
            Ok(TaskOutcome::blocked("no key").with_output(output(levels))),
            Ok(TaskOutcome::cancelled().with_output(output(levels))),
            Ok(question(levels).with_output("half")),
            Err(CoordinationError::new(TaskError::new(ErrorCode::ExecutionFailed, "broken"))
                .with_output(output(levels))),
        ]
    };
    for (levels, is_refused) in [(MAX_JSON_DEPTH, false), (MAX_JSON_DEPTH + 1, true), (2_000, true)] {
        for said in words(levels) {
            let agent = AgentId::new("a").unwrap();
            let ended = Conclusion::of_work(Worker(Some(&agent)), said, Some(StopCause::Cancelled));
            let code = ended.error.as_ref().map(TaskError::code);
            assert_eq!(code == Some(ErrorCode::ContractViolation), is_refused, "{levels}");
            let kept = ended.output.unwrap();
            assert_eq!(
                (kept.text.as_str(), kept.metadata.is_empty() && ended.pause.is_none()),
                ("half", is_refused)
            );
        }
    }
}
