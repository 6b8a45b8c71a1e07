//! Programs as executors: what they are given, and what their answers become.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use convoke_core::{ErrorCode, ExecutorError, Message, ResumeToken, TaskOutcome, TaskRequest};
use convoke_registry::{AgentExecutor, ProcessAnswer, ProcessError, ProcessExecutor, ProcessRequest};
use convoke_testkit::{Trial, conformance};

mod grace;
mod stopping;
mod witness;

/// How long a test waits for what must come, lest it hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A child that runs a script of the shell.
fn sh(script: &str) -> ProcessExecutor {
    ProcessExecutor::new("/bin/sh").arg("-c").arg(script)
}

/// A child whose output is a text.
fn text(script: &str) -> ProcessExecutor {
    sh(script).with_text_answer()
}

fn trial() -> Trial {
    Trial::new(TaskRequest::new("do it").with_id("t").in_session("s")).unwrap()
}

async fn said(executor: &ProcessExecutor) -> Result<TaskOutcome, ExecutorError> {
    timeout(PATIENCE, trial().call(executor)).await.expect("the child goes on")
}

async fn text_of(executor: &ProcessExecutor) -> String {
    said(executor).await.unwrap().output().text.clone()
}

/// Code, what is public, and what is not.
async fn error_of(executor: &ProcessExecutor) -> (ErrorCode, String, String) {
    let error = said(executor).await.unwrap_err();
    let public = error.public().unwrap_or_default().to_owned();
    let code = error.code();
    (code, public, error.into_task_error().detail().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_child_gets_one_line_of_json_and_then_the_end_of_its_input() {
    let asked = TaskRequest::new("do it").with_json(&json!({"n": 1})).with_message(Message::user("soon"));
    let trial = Trial::new(asked.clone().with_id("t").in_session("s")).unwrap();
    let ctx = trial.context().with_deadline(Instant::now() + Duration::from_mins(1));
    let executor = text(r#"read -r line && printf '%s' "$line"; cat; echo end"#);
    let outcome = timeout(PATIENCE, executor.execute(asked.clone(), ctx)).await.unwrap().unwrap();

    let line = outcome.output().text.strip_suffix("end").unwrap();
    let request: ProcessRequest = serde_json::from_str(line).unwrap();
    assert_eq!((request.session.as_str(), request.task.as_str()), ("s", "t"));
    assert_eq!((request.attempt, request.agent.as_str()), (1, "agent"));
    assert!((1..=60_000).contains(&request.remaining_ms.unwrap()));
    assert_eq!(request.request, asked);
    let value: Value = serde_json::from_str(line).unwrap();
    assert_eq!(value["request"]["input"], "do it");
}

#[tokio::test]
async fn a_child_without_a_deadline_is_told_of_none() {
    let request: ProcessRequest = serde_json::from_str(&text_of(&text("cat")).await).unwrap();
    assert_eq!(request.remaining_ms, None);
}

#[tokio::test]
async fn each_outcome_can_be_said() {
    let asks = TaskOutcome::input_required("which?")
        .with_request(json!(["a", "b"]))
        .with_resume(ResumeToken::new(2, "half"))
        .with_output("so far");
    let outcomes = [
        TaskOutcome::completed("done"),
        asks,
        TaskOutcome::input_required("which?"),
        TaskOutcome::blocked("no key").with_output("a part"),
        TaskOutcome::cancelled(),
        TaskOutcome::TimedOut { output: "a part".into() },
    ];
    for outcome in outcomes {
        let answer = serde_json::to_string(&ProcessAnswer::from(outcome.clone())).unwrap();
        let executor = sh(r#"printf ' %s\n\n' "$ANSWER""#).env("ANSWER", answer);
        assert_eq!(said(&executor).await.unwrap(), outcome);
    }
    assert_eq!(said(&sh(r#"echo '{"status":"completed"}'"#)).await.unwrap(), "".into());
}

#[tokio::test]
async fn a_child_may_fail_in_its_own_words() {
    let executor = sh(r#"echo '{"status":"failed","detail":"no disk","public":"it did not work"}'"#);
    let expected = (ErrorCode::ExecutionFailed, "it did not work".to_owned(), "no disk".to_owned());
    assert_eq!(error_of(&executor).await, expected);
}

#[tokio::test]
async fn a_text_is_taken_without_the_line_breaks_at_its_end() {
    assert_eq!(text_of(&text(r"printf ' a\nb \r\n\n'")).await, " a\nb ");
    assert_eq!(text_of(&text("true")).await, "");
}

#[tokio::test]
async fn what_is_no_answer_violates_the_contract() {
    for (script, detail) in [
        ("true", "ended without an answer"),
        (r"printf ' \n'", "ended without an answer"),
        ("echo done", "answered with something else than a JSON answer: expected value"),
        (r#"echo '{"status":"working"}'"#, "answer: unknown variant `working`"),
        (r#"echo '{"status":"completed"} and more'"#, "answer: trailing characters"),
        (r#"echo '{"status":"completed","ouput":{}}'"#, "answer: unknown field `ouput`"),
        (r#"echo '{"status":"blocked"}'"#, "answer: missing field `reason`"),
        (r#"printf '{"status":"blocked","reason":"\377"}'"#, "answer: invalid unicode"),
    ] {
        let (code, public, private) = error_of(&sh(script)).await;
        assert_eq!((code, &*public), (ErrorCode::ContractViolation, "process gave no valid answer"));
        assert!(private.starts_with("program `/bin/sh` ") && private.contains(detail), "{script}: {private}");
    }
    let (code, _, detail) = error_of(&text(r"printf 'a\377'")).await;
    assert_eq!(code, ErrorCode::ContractViolation);
    assert!(detail.contains("something else than a UTF-8 text: invalid utf-8 sequence"), "{detail}");
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_failures_that_quote_the_error_output() {
    let (code, public, detail) = error_of(&sh("echo answer; echo 'no disk' >&2; exit 3")).await;
    assert_eq!((code, &*public), (ErrorCode::ExecutionFailed, "process ended with exit code 3"));
    assert_eq!(detail, "program `/bin/sh` ended with exit code 3: no disk");
    let (code, public, detail) = error_of(&sh("kill -9 $$")).await;
    assert_eq!((code, &*public), (ErrorCode::ExecutionFailed, "process was ended by signal 9"));
    assert_eq!(detail, "program `/bin/sh` was ended by signal 9");
}

#[tokio::test]
async fn the_cause_of_a_failure_can_be_taken_apart() {
    let error = said(&sh("printf '\\377' >&2; exit 3")).await.unwrap_err();
    let Some(ProcessError::Failed { program, status, stderr }) =
        error.as_error().and_then(|error| error.downcast_ref())
    else {
        panic!("{error:?}");
    };
    assert_eq!((&**program, status.code(), &**stderr), ("/bin/sh", Some(3), "\u{fffd}"));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let (code, public, detail) = error_of(&ProcessExecutor::new("/nowhere/at all")).await;
    assert_eq!((code, &*public), (ErrorCode::ExecutionFailed, "process could not be started"));
    assert!(
        detail.starts_with("could not start program `/nowhere/at all`; check that it is there"),
        "{detail}"
    );
    assert!(detail.contains("No such file"), "{detail}");
}

#[tokio::test]
async fn an_output_may_be_as_long_as_its_limit_and_no_longer() {
    let digits = |count| text(&format!("printf '%0{count}d' 0")).with_output_limit(1000);
    assert_eq!(text_of(&digits(1000)).await.len(), 1000);
    let (code, public, detail) = error_of(&digits(1001)).await;
    assert_eq!(
        (code, &*public),
        (ErrorCode::ContractViolation, "process answered with more than 1000 bytes")
    );
    assert!(detail.contains("program `/bin/sh` answered with more than 1000 bytes; raise"), "{detail}");

    let long = text("head -c 1048576 /dev/zero");
    assert_eq!(text_of(&long).await.len(), ProcessExecutor::OUTPUT_LIMIT);
    let (_, _, detail) = error_of(&text("head -c 1048577 /dev/zero")).await;
    assert!(detail.contains("more than 1048576 bytes"), "{detail}");
}

#[tokio::test]
async fn a_child_that_writes_without_end_is_stopped() {
    let (code, ..) = error_of(&text("trap '' TERM; while :; do echo more; done")).await;
    assert_eq!(code, ErrorCode::ContractViolation);
}

#[tokio::test]
async fn of_a_long_error_output_the_end_is_kept() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i + 1)); done >&2; exit 1";
    let (.., detail) = error_of(&sh(script).with_stderr_limit(14)).await;
    assert_eq!(detail, "program `/bin/sh` ended with exit code 1: [..] 998\nline 2999");
    let (.., detail) = error_of(&sh("echo line >&2; exit 1").with_stderr_limit(5)).await;
    assert_eq!(detail, "program `/bin/sh` ended with exit code 1: line");
    let (.., detail) = error_of(&sh("echo line >&2; exit 1").with_stderr_limit(4)).await;
    assert_eq!(detail, "program `/bin/sh` ended with exit code 1: [..] ine");
    let (.., detail) = error_of(&sh("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1")).await;
    assert_eq!(detail.len(), "program `/bin/sh` ended with exit code 1: [..] ".len() + (64 << 10));
    // A child that has nothing to complain about is not held up by what it complains.
    assert_eq!(text_of(&text("head -c 1000000 /dev/zero >&2; echo done")).await, "done");
}

#[tokio::test]
async fn the_environment_is_inherited_changed_or_cleared() {
    let script = r#"echo "${HOME-none} ${COLOUR-none} ${SIZE-none}""#;
    let home = std::env::var("HOME").unwrap_or_else(|_| "none".to_owned());
    let coloured = text(script).env("COLOUR", "blue").env("SIZE", "1");
    assert_eq!(text_of(&coloured).await, format!("{home} blue 1"));
    assert_eq!(
        text_of(&coloured.clone().env_remove("SIZE").env("COLOUR", "red")).await,
        format!("{home} red none")
    );
    assert_eq!(text_of(&coloured.clone().env_clear()).await, "none none none");
    assert_eq!(text_of(&coloured.env_clear().env("SIZE", "2")).await, "none none 2");
}

#[tokio::test]
async fn arguments_and_the_directory_reach_the_child_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let executor =
        text(r#"pwd -P; printf '%s|' "$@""#).args(["sh", "a b", "*"]).arg("$HOME").current_dir(&path);
    assert_eq!(text_of(&executor).await, format!("{}\na b|*|$HOME|", path.display()));
}

#[tokio::test]
async fn a_child_need_not_read_its_input() {
    let call = async |script: &str| {
        let request = TaskRequest::new("x".repeat(4 << 20));
        let executor = text(script);
        timeout(PATIENCE, executor.execute(request, trial().context()))
            .await
            .unwrap()
            .unwrap()
            .output()
            .text
            .clone()
    };
    for script in ["exec <&-; echo done", "echo done", "head -c 1 >/dev/null; echo done"] {
        assert_eq!(call(script).await, "done", "{script}");
    }
    assert!(call("wc -c").await.trim().parse::<usize>().unwrap() > 4 << 20);
}

#[tokio::test]
async fn input_and_output_flow_at_the_same_time() {
    let request = TaskRequest::new("x".repeat(1 << 20));
    let executor = text("cat").with_output_limit(2 << 20);
    let outcome = timeout(PATIENCE, executor.execute(request, trial().context())).await.unwrap().unwrap();
    assert!(outcome.output().text.len() > 1 << 20);
}

#[tokio::test]
async fn programs_conform() {
    let calls = AtomicUsize::new(0);
    // Ten calls are not stopped; the two that are would go on for long.
    let request = || {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        TaskRequest::new(if number < 10 { "0" } else { "60" })
    };
    let script = r#"sed 's/.*"input":"\([0-9]*\)".*/\1/' | { read -r time; sleep "$time"; }; echo done"#;
    conformance::agent_executor(&text(script), request).await;
    assert_eq!(calls.into_inner(), 12);
}
