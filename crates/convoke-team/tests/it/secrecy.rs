//! No event carries content, whatever happens to whom.

use proptest::prelude::*;
use serde_json::json;

use convoke_core::{Artifact, ExecutorError, Message, ResumeToken, TaskOutcome, TaskOutput, TaskRequest};
use convoke_observability::MemorySink;
use convoke_testkit::{ScriptedExecutor, Step};

use crate::{
    house::{House, agent, ms, registry},
    spans::Spans,
};

/// Long enough to meet nothing else by chance.
fn secret() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 äöü\"\\\\]{0,8}".prop_map(|noise| format!("s3cr3t{noise}"))
}

#[derive(Clone, Copy, Debug)]
enum Ends {
    Completes,
    Pauses,
    Blocks,
    Stops,
    TimesOut,
    Fails,
    FailsWithSource,
    Panics,
    RepeatsAnArtifact,
    OverflowsTheSession,
    IsDetached,
    WritesLate,
    IsRefused,
}

fn ends() -> impl Strategy<Value = Ends> {
    use Ends::*;
    prop::sample::select(vec![
        Completes,
        Pauses,
        Blocks,
        Stops,
        TimesOut,
        Fails,
        FailsWithSource,
        Panics,
        RepeatsAnArtifact,
        OverflowsTheSession,
        IsDetached,
        WritesLate,
        IsRefused,
    ])
}

/// An id that is content too: the executor chose it.
fn artifact(secret: &str) -> String {
    format!("{secret}.md")
}

fn output(secret: &str) -> TaskOutput {
    let mut output = TaskOutput::text(secret)
        .with_artifact(Artifact::text(artifact(secret), secret).unwrap())
        .with_artifact(Artifact::data("b", json!({ secret: secret })).unwrap())
        .with_message(Message::agent(secret).with_data(json!([secret])))
        .with_metadata(secret, secret);
    output.data = Some(json!({ secret: secret }));
    output
}

fn step(ends: Ends, secret: String) -> Step {
    let late = secret.clone();
    Step::call(move |_, ctx| async move {
        let session = ctx.session();
        session.set(&secret, json!(secret)).await?;
        session.post(Message::agent(secret.clone()))?;
        session.publish(Artifact::text("staged", secret.clone())?)?;
        ctx.emit(secret.clone());
        let output = output(&secret);
        match ends {
            Ends::Completes | Ends::IsRefused => Ok(TaskOutcome::Completed(output)),
            Ends::Pauses => Ok(TaskOutcome::InputRequired {
                prompt: secret.clone(),
                request: Some(json!(secret)),
                resume: Some(ResumeToken::new(1, secret)),
                output,
            }),
            Ends::Blocks => Ok(TaskOutcome::Blocked { reason: secret, output }),
            Ends::Stops => Ok(TaskOutcome::Cancelled { output }),
            Ends::TimesOut => Ok(TaskOutcome::TimedOut { output }),
            Ends::Fails => Err(ExecutorError::new(secret)),
            Ends::FailsWithSource => Err(std::io::Error::other(secret).into()),
            Ends::Panics => panic!("{secret}"),
            Ends::RepeatsAnArtifact => {
                let again = Artifact::text(artifact(&secret), secret).unwrap();
                Ok(output.with_artifact(again).into())
            }
            Ends::OverflowsTheSession => {
                Ok(output.with_message(Message::agent(secret.repeat(1 << 18))).into())
            }
            Ends::IsDetached | Ends::WritesLate => {
                tokio::time::sleep(ms(500)).await;
                if matches!(ends, Ends::WritesLate) {
                    session.post(Message::agent(late.clone())).unwrap_err();
                    session.set(&late, json!(late)).await.unwrap_err();
                }
                Err(ExecutorError::new(secret))
            }
        }
    })
}

/// Everything that was told, as text.
async fn told(ends: Ends, secret: String) -> (Vec<String>, usize) {
    let memory = MemorySink::new();
    let executor = ScriptedExecutor::new([step(ends, secret.clone())]);
    let house =
        House::built(registry([(agent("a"), executor)]), |builder| builder.event_sink(memory.clone()));
    let mut request = TaskRequest::new(secret.clone())
        .with_json(&json!({ secret.as_str(): secret }))
        .with_message(Message::user(secret.clone()).with_data(json!(secret)))
        .with_metadata(secret.clone(), secret.clone())
        .with_timeout(ms(20))
        .with_trace_id("trace-1");
    if matches!(ends, Ends::IsRefused) {
        request = request.resuming(ResumeToken::new(1, secret.clone()), secret.clone());
    }
    house.run(request).await;
    tokio::time::sleep(ms(1_000)).await;

    let typed = house.events.events();
    let mut texts: Vec<_> = typed.iter().map(|event| format!("{event:?}")).collect();
    for event in memory.events() {
        texts.push(format!("{event:?}"));
        texts.push(serde_json::to_string(&event).unwrap());
    }
    (texts, typed.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_a_task_is_about_appears_in_no_event_and_no_span_and_the_trace_id_in_each_event(
        ends in ends(), secret in secret(),
    ) {
        let spans = Spans::default();
        let (texts, events) = spans.around(told(ends, secret));
        for text in spans.texts() {
            prop_assert!(!text.contains("s3cr3t"), "{text}");
        }
        prop_assert!(events >= 1);
        for text in &texts {
            prop_assert!(!text.contains("s3cr3t"), "{text}");
            prop_assert!(text.contains("trace-1"), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_executor_declares_public_is_told() {
    let step = Step::fail(ExecutorError::new("private").with_public("the draft cannot be read"));
    let house = House::of(1, ScriptedExecutor::new([step]));
    house.run(TaskRequest::new("x")).await;
    let last = house.events.events().pop().unwrap();
    assert_eq!(last.text.as_deref(), Some("the draft cannot be read"));
}
