//! The one commit of an attempt: all of it is published, or nothing.

use serde_json::json;

use convoke_core::{Artifact, ErrorCode, Message, TaskOutcome, TaskOutput, TaskStatus};
use convoke_session::SessionLimits;
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, registry, task};

fn artifact(id: &str) -> Artifact {
    Artifact::text(id, format!("artifact {id}")).unwrap()
}

/// The texts of the messages of session `s`, and the ids of its artifacts.
fn published(house: &House) -> (Vec<String>, Vec<String>) {
    let snapshot = house.team.session("s").unwrap().snapshot();
    (
        snapshot.messages().map(|message| message.message.text.clone()).collect(),
        snapshot.artifacts().map(|artifact| artifact.artifact.id.to_string()).collect(),
    )
}

/// A house whose sessions take one message.
fn with_one_message(executor: ScriptedExecutor) -> House {
    let limits = SessionLimits::default().with_messages(1);
    House::built(registry([(agent("a"), executor)]), |builder| builder.session_limits(limits))
}

#[tokio::test(start_paused = true)]
async fn input_posts_answer_and_messages_stand_in_their_order() {
    let step = Step::call(|_, ctx| async move {
        ctx.session().post(Message::agent("posted"))?;
        ctx.session().publish(artifact("staged"))?;
        Ok(TaskOutput::text("answer").with_message(Message::agent("more")).with_artifact(artifact("given")))
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert!(house.run(task("t").with_message(Message::user("and this"))).await.is_success());
    let (messages, artifacts) = published(&house);
    assert_eq!(messages, ["do it", "and this", "posted", "answer", "more"]);
    assert_eq!(artifacts, ["given", "staged"]);
    let record = house.record("s", "t");
    assert_eq!((record.status, record.agent.unwrap().as_str()), (TaskStatus::Completed, "a"));
}

#[tokio::test(start_paused = true)]
async fn an_artifact_id_that_comes_twice_fails_the_whole_and_publishes_nothing() {
    let twice = TaskOutput::text("answer")
        .with_artifact(artifact("good"))
        .with_artifact(artifact("twice"))
        .with_artifact(artifact("twice"));
    let house = House::of(1, ScriptedExecutor::new([Step::reply(twice.clone())]));
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ContractViolation);
    assert_eq!(report.output, Some(twice), "the caller can still have it");
    assert_eq!(published(&house), (vec!["do it".to_owned()], vec![]));
    assert_eq!(house.events.names(), ["submitted", "selected", "started", "failed"]);
    assert_eq!(house.record("s", "t").status, TaskStatus::Failed);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_artifact_that_is_staged_and_returned_counts_as_two() {
    let step = Step::call(|_, ctx| async move {
        ctx.session().publish(artifact("twice"))?;
        Ok(TaskOutput::text("answer").with_artifact(artifact("twice")))
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert_end(&house.run(task("t")).await, TaskStatus::Failed, ErrorCode::ContractViolation);
    assert_eq!(published(&house).1, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_output_over_the_size_of_a_value_is_a_violation_and_stays_in_the_report() {
    let large = "x".repeat(2 << 20);
    let house = House::of(1, ScriptedExecutor::new([Step::reply(large.clone())]));
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ContractViolation);
    assert_eq!(report.text(), large);
    assert_eq!(published(&house).0, ["do it"]);
}

#[tokio::test(start_paused = true)]
async fn an_output_that_finds_no_room_fails_and_stays_in_the_report() {
    let house = with_one_message(ScriptedExecutor::new([Step::reply("answer")]));
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::SessionFull);
    assert_eq!((report.text(), report.attempt), ("answer", 1));
    assert_eq!(published(&house).0, ["do it"]);
    assert_eq!(house.record("s", "t").report.unwrap().text(), "answer");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_finds_no_room_is_no_pause() {
    let output = TaskOutput::text("so far");
    let pause = TaskOutcome::InputRequired {
        prompt: "which?".into(),
        request: None,
        resume: Some(convoke_core::ResumeToken::new(1, "x")),
        output,
    };
    let house = with_one_message(ScriptedExecutor::new([Step::reply(pause)]));
    let report = house.run(task("t")).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::SessionFull);
    assert_eq!((report.pause, house.record("s", "t").resume_token()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn only_a_completed_or_paused_attempt_publishes_and_state_survives_each() {
    let ends = [
        (Step::fail(convoke_core::ExecutorError::new("broken")), false),
        (Step::panic("broken"), false),
        (Step::reply(TaskOutcome::Blocked { reason: "no key".into(), output: "out".into() }), false),
        (Step::reply(TaskOutcome::Cancelled { output: "out".into() }), false),
        (Step::reply(TaskOutcome::TimedOut { output: "out".into() }), false),
        (Step::reply("out"), true),
        (Step::pause("which?"), true),
    ];
    for (end, publishes) in ends {
        // The step that ends the work is a call of its own, so that all stage the same before.
        let end = ScriptedExecutor::new([end]);
        let step = Step::call(move |request, ctx| async move {
            ctx.session().set("progress", json!(0.5)).await?;
            ctx.session().post(Message::agent("staged"))?;
            ctx.session().publish(artifact("staged"))?;
            convoke_registry::AgentExecutor::execute(&end, request, ctx).await
        });
        let house = House::of(1, ScriptedExecutor::new([step]));
        let report = house.run(task("t")).await;
        let (messages, artifacts) = published(&house);
        assert_eq!(messages.contains(&"staged".to_owned()), publishes, "{report:?}");
        assert_eq!(artifacts.len(), usize::from(publishes), "{report:?}");
        assert_eq!(messages.contains(&"out".to_owned()), report.status == TaskStatus::Completed);
        let state = house.team.session("s").unwrap().get("progress").unwrap();
        assert_eq!(state.value, json!(0.5));
    }
}

#[tokio::test(start_paused = true)]
async fn the_record_has_the_report_that_the_caller_got() {
    let step = Step::reply(TaskOutput::text("answer").with_metadata("cost", 3));
    let house = House::of(1, ScriptedExecutor::new([step]));
    let report = house.run(task("t").with_metadata("ticket", 7)).await;
    assert_eq!(report.metadata["ticket"], 7);
    assert_eq!(report.output.as_ref().unwrap().metadata["cost"], 3);
    assert_eq!(*house.record("s", "t").report.unwrap(), report);
}

#[tokio::test(start_paused = true)]
async fn the_agents_of_one_session_see_what_came_before() {
    let read = |_, ctx: convoke_registry::ExecutionContext| async move {
        let snapshot = ctx.session().snapshot();
        Ok(snapshot.messages().map(|message| message.message.text.clone()).collect::<Vec<_>>().join(","))
    };
    let house = House::of(1, ScriptedExecutor::new([Step::reply("one"), Step::call(read)]));
    house.run(task("t1")).await;
    assert_eq!(house.run(task("t2")).await.text(), "do it,one,do it");
}
