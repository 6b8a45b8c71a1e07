//! Pauses, and how they go on.

use serde_json::json;

use convoke_core::{AgentId, ErrorCode, ResumeToken, TaskOutcome, TaskOutput, TaskRequest, TaskStatus};
use convoke_registry::{AgentRegistry, Availability, Coordination, LeaseRequest, RunOptions};
use convoke_testkit::{Gate, ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

fn token() -> ResumeToken {
    ResumeToken::new(1, "page 3")
}

/// Two agents who can do it; the one that is not preferred by load has paused.
fn two(paused: &ScriptedExecutor, other: &ScriptedExecutor) -> AgentRegistry {
    registry([
        (agent("a").with_skill("x"), other.clone()),
        (agent("b").with_skill("x").with_skill("y"), paused.clone()),
    ])
}

#[tokio::test(start_paused = true)]
async fn an_answer_goes_to_the_agent_that_asked_and_the_attempt_goes_on() {
    let paused = ScriptedExecutor::new([
        Step::reply(TaskOutcome::InputRequired {
            prompt: "which?".into(),
            request: Some(json!(["this", "that"])),
            resume: Some(token()),
            output: TaskOutput::text("so far"),
        }),
        Step::call(|request, ctx| async move {
            let resume = request.resume.unwrap();
            let previous = ctx.previous().unwrap();
            assert_eq!((previous.attempt, previous.status), (1, TaskStatus::InputRequired));
            Ok(format!("{} from {}", resume.answer, resume.token.state()))
        }),
    ]);
    let other = ScriptedExecutor::new([]);
    let house = House::new(two(&paused, &other));
    let first = house.run(task("t").requiring("y")).await;
    assert_end(&first, TaskStatus::InputRequired, None);
    let pause = first.pause.unwrap();
    assert_eq!((pause.prompt.as_str(), pause.request), ("which?", Some(json!(["this", "that"]))));

    // Asks for less than before; the agent is the same one.
    let answer = task("t").requiring("x").resuming(pause.resume.unwrap(), "this");
    let second = house.run(answer).await;
    assert_end(&second, TaskStatus::Completed, None);
    assert_eq!((second.attempt, second.agent.as_ref().unwrap().as_str()), (2, "b"));
    assert_eq!(second.text(), "\"this\" from \"page 3\"");
    let names = house.events.names_of("t");
    assert_eq!(names[3], "input_required");
    assert_eq!(names[4..], ["submitted", "selected", "started", "completed"]);
    let snapshot = house.team.session("s").unwrap().snapshot();
    assert!(snapshot.messages().any(|message| message.message.data == Some(json!("this"))), "it is input");
    paused.assert_done();
    other.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_answer_among_many_goes_to_the_agent_that_asked() {
    let paused = ScriptedExecutor::new([Step::pause_with("which?", token()), Step::reply("done")]);
    let other = ScriptedExecutor::new([]);
    let house = House::new(two(&paused, &other));
    house.run(task("t").requiring("y")).await;
    let answers = house.team.run_parallel([task("t").requiring("x").resuming(token(), 1)]).await;
    assert_end(answers[0].as_ref().unwrap(), TaskStatus::Completed, None);
    other.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stood_in_line_before_the_pause_goes_to_the_agent_that_asked() {
    let gate = Gate::closed();
    let steps = [Step::pause_with("which?", token()).after(&gate), Step::reply("done")];
    let (paused, other) = (ScriptedExecutor::new(steps), ScriptedExecutor::new([]));
    let house = House::new(two(&paused, &other));
    let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
    let busy_a = house.registry.acquire(LeaseRequest::new(&[]).preferring(&a)).await.unwrap();
    let busy_b = house.registry.acquire(LeaseRequest::new(&[]).preferring(&b)).await.unwrap();
    // In line: the task itself, somebody else for the same agent, and the answer to a pause that is still to come.
    let first = house.team.spawn(task("t").requiring("y"));
    settle().await;
    let mut next = Box::pin(house.registry.acquire(LeaseRequest::new(&[]).preferring(&b)));
    assert!(dropped_after(1, &mut next).await.is_none());
    let answers = tokio::spawn(house.team.run_parallel([task("t").requiring("x").resuming(token(), 1)]));
    settle().await;

    drop(busy_b);
    gate.open();
    assert_end(&first.await.unwrap(), TaskStatus::InputRequired, None);
    drop(busy_a);
    settle().await;
    assert_eq!(house.record("s", "t").status, TaskStatus::Submitted);
    assert_eq!(house.load("a").0, 0, "it is not the one that asked");
    drop(next);
    let report = answers.await.unwrap().pop().unwrap().unwrap();
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!(report.agent.unwrap().as_str(), "b");
    other.assert_done();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_wrong_used_or_missing_token_is_refused_and_the_pause_stands() {
    let steps = [Step::pause_with("which?", token()), Step::reply("done")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    house.run(task("t")).await;
    let paused = house.record("s", "t");
    for request in [
        task("t"),
        task("t").resuming(ResumeToken::new(2, "page 3"), "this"),
        task("t").resuming(ResumeToken::new(1, "page 4"), "this"),
    ] {
        for report in [
            house.run(request.clone()).await,
            house.team.run_parallel([request]).await.pop().unwrap().unwrap(),
        ] {
            assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
            assert_eq!((report.attempt, &house.record("s", "t")), (0, &paused));
        }
    }
    let answer = || task("t").resuming(token(), "this");
    assert!(house.run(answer()).await.is_success());
    assert_end(&house.run(answer()).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn a_coordinated_task_answers_for_no_agent() {
    for pause in [Step::pause_with("which?", token()), Step::pause("which?")] {
        let house = House::of(1, ScriptedExecutor::new([pause, Step::reply("done")]));
        let paused = house.run(task("t")).await;
        let record = house.record("s", "t");
        let answer = || paused.answering("this").unwrap();
        let body = |_| async { Ok(TaskOutcome::completed("for the agent")) };
        let refused =
            house.team.coordinate(answer(), RunOptions::new(), Coordination::new(body)).await.unwrap();
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!((refused.attempt, &house.record("s", "t")), (0, &record));
        assert_eq!(
            refused.error.unwrap().message(),
            "task `t` paused in attempt 1 at agent `a`, which alone takes its answer; \
             run the request, do not coordinate it"
        );
        let report = house.run(answer()).await;
        assert_eq!((report.text(), report.attempt), ("done", 2));
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_before_the_work_puts_the_pause_back() {
    let steps = [Step::pause_with("which?", token()), Step::reply("done")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    house.run(task("t")).await;
    let answer = || task("t").resuming(token(), "this");

    house.registry.set_availability("a", Availability::Draining).unwrap();
    let refused = house.run(answer()).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::AgentUnavailable);
    house.registry.set_availability("a", Availability::Available).unwrap();
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let timed_out = house.run(answer().with_timeout(ms(20))).await;
    assert_end(&timed_out, TaskStatus::TimedOut, ErrorCode::TimedOut);
    drop(busy);

    let record = house.record("s", "t");
    assert_eq!((record.status, record.attempt), (TaskStatus::InputRequired, 3));
    assert_eq!(record.resume_token(), Some(&token()));
    let report = house.run(answer()).await;
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!(report.attempt, 4);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_an_agent_that_is_gone_is_refused_and_the_pause_stands() {
    let paused = ScriptedExecutor::new([Step::pause_with("which?", token())]);
    let house = House::new(two(&paused, &ScriptedExecutor::new([])));
    let first = house.run(task("t").requiring("y")).await;
    house.registry.remove("b").unwrap();
    let report = house.run(first.answering("this").unwrap()).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::AgentNotFound);
    let answers = house.team.run_parallel([first.answering("this").unwrap()]).await;
    assert_end(answers[0].as_ref().unwrap(), TaskStatus::Blocked, ErrorCode::AgentNotFound);
    let record = house.record("s", "t");
    assert_eq!((record.status, record.resume_token()), (TaskStatus::InputRequired, Some(&token())));
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_the_empty_token_goes_back_to_the_agent_that_gave_none() {
    let paused = ScriptedExecutor::new([Step::pause("which?"), Step::reply("done")]);
    let other = ScriptedExecutor::new([]);
    let house = House::new(two(&paused, &other));
    let first = house.run(task("t").requiring("y")).await;
    let report = house.run(first.answering("this").unwrap()).await;
    assert_end(&report, TaskStatus::Completed, None);
    paused.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_pause_without_a_token_goes_on_with_a_plain_request_at_any_agent() {
    let paused = ScriptedExecutor::new([Step::pause("which?")]);
    let other = ScriptedExecutor::new([Step::reply("done"), Step::reply("done")]);
    let house = House::new(two(&paused, &other));
    house.run(task("t").requiring("y")).await;
    let report = house.run(task("t").requiring("x")).await;
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!((report.attempt, report.agent.unwrap().as_str()), (2, "a"));

    let paused = ScriptedExecutor::new([Step::pause("which?")]);
    let house = House::new(two(&paused, &other));
    house.run(task("t").requiring("y")).await;
    let report = house.team.run_parallel([task("t").requiring("x")]).await.pop().unwrap().unwrap();
    assert_eq!((report.attempt, report.agent.unwrap().as_str()), (2, "a"), "one among many as well");
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_run_that_pauses_keeps_its_session_until_it_is_over() {
    let steps =
        [Step::pause_with("which?", token()), Step::pause_with("really?", token()), Step::reply("done")];
    let house = House::of(1, ScriptedExecutor::new(steps));
    let first = house.run(TaskRequest::new("x")).await;
    assert_eq!(house.team.stats().sessions, 1);
    let answer = || {
        TaskRequest::new("")
            .with_id(first.task.clone())
            .in_session(first.session.clone())
            .resuming(token(), 1)
    };
    assert_end(&house.run(answer()).await, TaskStatus::InputRequired, None);
    assert_eq!(house.team.stats().sessions, 1);
    assert_end(&house.run(answer()).await, TaskStatus::Completed, None);
    assert_eq!(house.team.stats().sessions, 0, "it ends with its last work");
}
