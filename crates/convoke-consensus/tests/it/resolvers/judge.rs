//! One more agent decides.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use convoke_consensus::{ConsensusReport, ConsensusRequest, JudgeAgent, ReachConsensus as _, Results, Rules};
use convoke_core::{AgentDescriptor, AgentId, ErrorCode, ExecutorError, TaskOutput, TaskRequest, TaskStatus};
use convoke_observability::ObserverError;
use convoke_registry::{AgentRegistry, CancellationToken, RunOptions, TeamError};
use convoke_team::{TeamEvent, TeamEventKind, TeamObserver, TeamRuntime, TelemetryFailures};
use convoke_testkit::{ScriptedExecutor, Step};

use super::{
    assert_refused, data, failed,
    panel::{Panel, among, assert_none},
    public, said, tried, verdict,
};

const FOUR: [(&str, &str); 4] = [("ada", "red"), ("bob", "green"), ("cy", "blue"), ("dee", "red")];

/// A panel of four, and a judge of this script.
fn panel(judge: &ScriptedExecutor) -> Panel {
    let panel = Panel::saying(&FOUR);
    panel.add("judge", judge);
    panel
}

fn asked() -> ConsensusRequest {
    among(["ada", "bob", "cy", "dee"]).with_resolver(JudgeAgent::new("judge"))
}

/// A judge that gives this one answer.
fn saying(output: impl Into<TaskOutput>) -> ScriptedExecutor {
    ScriptedExecutor::new([Step::reply(output.into())])
}

/// A judge that chooses the answer with this text.
fn choosing(text: &'static str) -> ScriptedExecutor {
    ScriptedExecutor::answering(move |request| {
        let answers = request.data.as_ref().unwrap()["answers"].as_array().unwrap();
        let number = answers.iter().find(|answer| answer["text"] == text).map(|answer| &answer["number"]);
        Step::reply(TaskOutput::from_json(&json!({ "choice": number })).unwrap())
    })
}

fn shown(judge: &ScriptedExecutor) -> Vec<String> {
    let request = judge.requests().pop().unwrap();
    let answers = request.data.unwrap()["answers"].as_array().unwrap().clone();
    answers.iter().map(|answer| answer["text"].as_str().unwrap().to_owned()).collect()
}

fn voters(report: &ConsensusReport) -> Vec<&str> {
    report.summary.as_ref().unwrap().voters.iter().map(AgentId::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn the_verdict_is_the_answer_that_the_judge_chose() {
    let judge = choosing("red");
    let panel = panel(&judge);
    let report = panel.ask(asked()).await;
    assert_eq!(report.text(), "red");
    assert_eq!(voters(&report), ["ada", "dee"]);
    assert_eq!(report.report.output.as_ref().unwrap().metadata["matching_votes"], json!(2));
    assert_eq!(report.summary.unwrap().notes["judge"], json!("judge"));
    assert_eq!(judge.calls(), 1);
    assert_eq!(panel.status("c/1/judge/judge"), TaskStatus::Completed);
    // Two of each participant, two of the judge, one verdict.
    assert_eq!(panel.snapshot().messages().len(), 2 * 4 + 2 + 1);
}

#[tokio::test(start_paused = true)]
async fn the_judge_is_given_the_task_and_numbered_answers_and_no_name() {
    let judge = choosing("blue");
    let panel = Panel::saying(&[("quill", "green"), ("zephyr", "blue")]);
    panel.add("judge", &judge);
    let mut request = among(["quill", "zephyr"]).with_resolver(JudgeAgent::new("judge"));
    let door = json!({"for": "the door"});
    request.task = TaskRequest::new("which colour?").with_json(&door).with_id("c").in_session("s");
    let report = panel.ask(request).await;
    assert_eq!((report.text(), voters(&report)), ("blue", vec!["zephyr"]));

    let given = judge.requests().pop().unwrap();
    assert!(given.input.contains(r#"{"choice": 2}"#), "{}", given.input);
    let data = given.data.clone().unwrap();
    assert_eq!(data["task"], json!({"input": "which colour?", "data": door}));
    let mut texts = shown(&judge);
    texts.sort();
    assert_eq!(texts, ["blue", "green"]);
    for (answer, number) in data["answers"].as_array().unwrap().iter().zip(1..) {
        assert_eq!(*answer, json!({"number": number, "text": answer["text"], "data": null}));
    }
    let all = serde_json::to_string(&given).unwrap();
    assert!(!all.contains("quill") && !all.contains("zephyr"), "{all}");
}

#[tokio::test(start_paused = true)]
async fn the_order_is_that_of_the_digests_of_seed_and_agent() {
    // `printf '%s%s' "$seed" "$agent" | sha256sum`, sorted.
    let orders = [
        (None, "c/1", ["bob", "cy", "ada", "dee"]),
        (Some("2026"), "2026", ["bob", "dee", "cy", "ada"]),
        (Some("c/2"), "c/2", ["dee", "bob", "cy", "ada"]),
    ];
    for (set, seed, order) in orders {
        let judge = choosing("green");
        let panel = panel(&judge);
        let resolver = set.iter().fold(JudgeAgent::new("judge"), |judge, seed| judge.with_seed(*seed));
        let report = panel.ask(asked().with_resolver(resolver)).await;
        let notes = report.summary.unwrap().notes;
        assert_eq!((&notes["seed"], &notes["order"]), (&json!(seed), &json!(order)));
        let said = |agent: &str| FOUR.iter().find(|(one, _)| *one == agent).unwrap().1;
        assert_eq!(shown(&judge), order.map(said));
    }
}

#[tokio::test(start_paused = true)]
async fn every_seed_shuffles_and_loses_nobody() {
    let mut orders = BTreeSet::new();
    for seed in 0..64 {
        let resolver = JudgeAgent::new("judge").with_seed(seed.to_string());
        let report = panel(&choosing("red")).ask(asked().with_resolver(resolver)).await;
        let order = report.summary.unwrap().notes["order"].clone();
        let mut agents: Vec<String> = serde_json::from_value(order).unwrap();
        orders.insert(agents.clone());
        agents.sort();
        assert_eq!(agents, ["ada", "bob", "cy", "dee"]);
    }
    // Of 24 orders, each as likely, 64 draws miss 12 with a chance below one in a million.
    assert!(orders.len() > 12, "{orders:?}");
}

#[tokio::test(start_paused = true)]
async fn instructions_can_be_ones_own() {
    let judge = choosing("red");
    let resolver = JudgeAgent::new("judge").with_instructions("the boldest, please");
    panel(&judge).ask(asked().with_resolver(resolver)).await;
    assert_eq!(judge.inputs(), ["the boldest, please"]);
}

#[tokio::test(start_paused = true)]
async fn a_choice_is_a_number_in_text_or_data() {
    // With seed `c/1` the second is that of `cy`.
    let said: [TaskOutput; 6] = [
        r#"{"choice": 2}"#.into(),
        r#" {"why": "bold", "choice": 2} "#.into(),
        "2".into(),
        data(&json!({"choice": 2})),
        data(&json!(2)),
        data(&json!({"choice": 2.0})),
    ];
    for output in said {
        let report = panel(&saying(output.clone())).ask(asked()).await;
        assert_eq!((report.text(), voters(&report)), ("blue", vec!["cy"]), "{output:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_may_choose_none() {
    let report = panel(&saying(r#"{"choice": null}"#)).ask(asked()).await;
    assert_none(
        &report,
        ErrorCode::ConsensusNotReached,
        "judge `judge` chose none of the answers: 4 eligible",
    );
    let notes = report.summary.unwrap().notes;
    assert_eq!((&notes["seed"], notes["order"].as_array().unwrap().len()), (&json!("c/1"), 4));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_choice_fails_the_consensus() {
    let (no_choice, no_such) =
        ("judge `judge` gave no choice", "judge `judge` chose an answer that there is not");
    let cases = [
        ("the second is best", no_choice),
        ("", no_choice),
        ("null", no_choice),
        (r#"{"choice": "2"}"#, no_choice),
        (r#"{"choice": -1}"#, no_choice),
        (r#"{"choice": 1.5}"#, no_choice),
        (r#"{"choice": [2]}"#, no_choice),
        (r#"{"choise": 2}"#, no_choice),
        ("[2]", no_choice),
        (r#"{"choice": 0}"#, no_such),
        (r#"{"choice": 5}"#, no_such),
        (r#"{"choice": 18446744073709551615}"#, no_such),
    ];
    for (text, expected) in cases {
        let report = panel(&saying(text)).ask(asked()).await;
        assert_none(&report, ErrorCode::ExecutionFailed, expected);
        // What the judge said is the caller's alone.
        let detail = report.report.error.unwrap();
        assert!(text.is_empty() || !detail.message().contains(text), "{detail:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_does_not_complete_fails_the_consensus() {
    let steps = [
        (Step::fail(ExecutorError::new("secret")), "judge `judge` did not decide: execution_failed"),
        (Step::panic("secret"), "judge `judge` did not decide: executor_panicked"),
        (Step::pause("which one?"), "judge `judge` did not decide: input_required"),
    ];
    for (step, expected) in steps {
        let panel = panel(&ScriptedExecutor::new([step]));
        let report = panel.ask(asked()).await;
        assert_none(&report, ErrorCode::ExecutionFailed, expected);
        assert!(!report.to_string().contains("secret"), "{report}");
        // The participants' work is not lost.
        assert_eq!(report.summary.unwrap().succeeded, 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_nobody_knows_is_refused_before_anybody_is_asked() {
    let panel = Panel::saying(&FOUR);
    let report = panel.ask(asked()).await;
    assert_none(&report, ErrorCode::InvalidRequest, "judge `judge` is not registered; add it first");
    assert_eq!((report.report.attempt, report.summary), (0, None));
}

#[tokio::test(start_paused = true)]
async fn a_slow_judge_ends_with_the_deadline_of_the_consensus() {
    let judge = ScriptedExecutor::new([Step::cancelled()]);
    let panel = panel(&judge);
    let mut request = asked();
    request.task = request.task.with_timeout(Duration::from_secs(8));
    let report = panel.ask(request).await;
    assert_eq!(report.report.status, TaskStatus::TimedOut, "{report}");
    assert_eq!(report.summary.unwrap().succeeded, 4);
    judge.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_judge_is_stopped_with_its_consensus() {
    let judge = ScriptedExecutor::new([Step::cancelled()]);
    let panel = panel(&judge);
    let token = CancellationToken::new();
    let handle = panel.team.handle();
    let asking = handle.reach_consensus_with(asked(), RunOptions::new().with_cancellation(token.clone()));
    let stopping = async {
        judge.called(1).await;
        token.cancel();
    };
    let report = tokio::join!(asking, stopping).0.unwrap();
    assert_eq!(report.report.status, TaskStatus::Cancelled, "{report}");
    judge.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_judge_is_no_participant() {
    let panel = Panel::saying(&FOUR[..2]);
    let judge = ScriptedExecutor::new([]);
    panel.add("judge", &judge);
    let report = panel.ask(among(["ada", "bob", "judge"]).with_resolver(JudgeAgent::new("judge"))).await;
    let text = "judge `judge` is a participant; name the participants without it";
    assert_none(&report, ErrorCode::InvalidRequest, text);
}

#[tokio::test(start_paused = true)]
async fn only_successes_are_judged() {
    let panel = Panel::saying(&[("ada", "red")]);
    panel.add("bob", &ScriptedExecutor::answering(|_| Step::fail(ExecutorError::new("no"))));
    let judge = saying("1");
    panel.add("judge", &judge);
    let report = panel.ask(among(["ada", "bob"]).with_resolver(JudgeAgent::new("judge"))).await;
    assert_eq!((report.text(), shown(&judge).len()), ("red", 1));
}

#[tokio::test(start_paused = true)]
async fn a_consensus_whose_judge_failed_is_tried_again_with_another_judgement() {
    let judge = ScriptedExecutor::new([Step::reply("prose"), Step::reply(r#"{"choice": 1}"#)]);
    let panel = panel(&judge);
    assert_none(&panel.ask(asked()).await, ErrorCode::ExecutionFailed, "gave no choice");
    let report = panel.ask(asked()).await;
    // By seed `c/2`, `dee` comes first.
    assert_eq!((report.text(), report.report.attempt), ("red", 2));
    let notes = report.summary.unwrap().notes;
    assert_eq!((&notes["seed"], &notes["order"]), (&json!("c/2"), &json!(["dee", "bob", "cy", "ada"])));
    assert_eq!(panel.status("c/1/judge/judge"), TaskStatus::Completed);
    assert_eq!(panel.status("c/2/judge/judge"), TaskStatus::Completed);
    judge.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_verdict_has_the_data_of_the_answer() {
    let panel = Panel::saying(&[]);
    let value = json!({"colour": "red", "shade": 1});
    let answer: Value = value.clone();
    panel.add("ada", &ScriptedExecutor::answering(move |_| Step::reply(data(&answer))));
    let judge = saying("1");
    panel.add("judge", &judge);
    let report = panel.ask(among(["ada"]).with_resolver(JudgeAgent::new("judge"))).await;
    assert_eq!(report.report.output.unwrap().data, Some(value.clone()));
    assert_eq!(judge.requests()[0].data.as_ref().unwrap()["answers"][0]["data"], value);
}

/// Fails where a judge completes.
struct DeafToTheJudge;

impl TeamObserver for DeafToTheJudge {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        if event.task.as_str() == "c/1/judge/judge" && event.kind == TeamEventKind::Completed {
            return Err(ObserverError::new("deaf"));
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_whose_telemetry_failed_has_decided_all_the_same() {
    let registry = AgentRegistry::new();
    for (agent, executor) in [("ada", ScriptedExecutor::echo()), ("judge", saying("1"))] {
        registry.add(AgentDescriptor::new(agent), executor).unwrap();
    }
    let team = TeamRuntime::builder(registry)
        .observer(DeafToTheJudge)
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap();
    let request = among(["ada"]).with_resolver(JudgeAgent::new("judge"));
    let report = match team.handle().reach_consensus(request).await {
        Ok(answer) => answer.report,
        Err(TeamError::Telemetry { report }) => *report,
        Err(error) => panic!("{error}"),
    };
    assert_eq!((report.status, report.text()), (TaskStatus::Completed, "ship it?"), "{report}");
}

#[tokio::test]
async fn nobody_is_not_judged() {
    let results = Results::new(Rules::new(), [failed("a", "x")]);
    // Without a team a judge that is asked would be an error.
    assert_eq!(said(&verdict(&JudgeAgent::new("judge"), results).await), Err("nobody answered"));
}

#[tokio::test]
async fn a_judge_without_a_team_is_an_error() {
    let error = tried(&JudgeAgent::new("judge"), super::each(["x"])).await.unwrap_err();
    assert_eq!(public(&error), (ErrorCode::ExecutionFailed, "judge `judge` did not decide: shutting_down"));
}

#[tokio::test]
async fn a_judge_that_is_no_id_is_refused() {
    assert_refused(&JudgeAgent::new(""), "judge: agent id is empty");
    assert!(tried(&JudgeAgent::new(""), super::each(["x"])).await.is_err());
}
