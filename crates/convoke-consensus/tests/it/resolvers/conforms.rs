//! Each resolver that ships holds what the suite asks of any.

use convoke_consensus::{
    AnyResolver, ExactOutput, JsonField, JudgeAgent, Merge, Ranked, Resolver, Results, Rubric, Weighted,
};
use convoke_core::{AgentId, TaskOutput};
use convoke_registry::TeamHandle;
use convoke_testkit::{ScriptedExecutor, Step, conformance};

use super::{id, panel::Panel};

fn answers(answers: [&str; 4]) -> Vec<(AgentId, TaskOutput)> {
    ["a", "b", "c", "d"].into_iter().map(id).zip(answers.map(TaskOutput::text)).collect()
}

async fn check(resolver: impl Resolver, given: [&str; 4]) {
    conformance::resolver(&resolver, &TeamHandle::closed(), answers(given)).await;
}

#[tokio::test]
async fn those_that_count_conform() {
    let words = ["ship", "wait", "ship", "ship"];
    check(ExactOutput, words).await;
    check(AnyResolver::new(ExactOutput), words).await;
    check(Weighted::new([("a", 0), ("b", 3)]).with_default_weight(1), words).await;
    let objects = [r#"{"v": 1}"#, r#"{"v": 2}"#, r#"{"v": 1.0}"#, r#"{"v": 1, "w": 3}"#];
    check(JsonField::new("/v"), objects).await;
    check(JsonField::new(""), objects).await;
    check(Weighted::new([("a", 2)]).with_default_weight(1).with_field("/v"), objects).await;
}

#[tokio::test]
async fn those_that_decide_by_a_rule_of_their_own_conform() {
    check(Ranked::new(), [r#"["x", "y"]"#, r#"["y", "z", "x"]"#, r#"["x"]"#, r#"["z", "x"]"#]).await;
    let scores =
        [r#"{"q": 1, "r": 2.5}"#, r#"{"q": 9, "r": 0.1}"#, r#"{"q": 10, "r": 7}"#, r#"{"q": 3, "r": 3}"#];
    check(Rubric::new([("q", 1), ("r", 2)]).with_bar(3.0), scores).await;
    check(
        Merge::new(|results: &Results| Ok(format!("{} answered", results.successes().count()).into())),
        scores,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_judge_conforms() {
    let panel = Panel::saying(&[]);
    // The choice depends on the text of the answers, and on nothing else.
    let judge = ScriptedExecutor::answering(|request| {
        let answers = request.data.as_ref().and_then(|data| data["answers"].as_array()).unwrap();
        let longest = answers.iter().max_by_key(|answer| answer["text"].as_str().unwrap().len()).unwrap();
        Step::reply(longest["number"].to_string())
    });
    panel.add("judge", &judge);
    let given = answers(["red", "green", "blue", "red"]);
    conformance::resolver(&JudgeAgent::new("judge"), &panel.team.handle(), given).await;
    assert!(judge.calls() > 0);
}
