//! Votes that do not weigh the same.

use serde_json::json;

use convoke_consensus::{Agreement, Decide, Results, Rules, Weighted};
use convoke_core::{ErrorCode, TaskStatus};
use convoke_testkit::{ScriptedExecutor, Step};

use super::{
    assert_fine, assert_refused, data, each, gave,
    panel::{Panel, among, assert_none},
    said, verdict,
};

const NONE: Result<(&str, Vec<&str>), &str> = Err("no answer has the votes");

#[tokio::test]
async fn weight_decides_and_not_heads() {
    let resolver = Weighted::new([("a", 3), ("b", 1), ("c", 1)]);
    assert_eq!(said(&verdict(&resolver, each(["x", "y", "y"])).await), Ok(("x", vec!["a"])));
}

#[tokio::test]
async fn answers_of_the_same_weight_are_a_tie() {
    let resolver = Weighted::new([("a", 2), ("b", 1), ("c", 1)]);
    assert_eq!(said(&verdict(&resolver, each(["x", "y", "y"])).await), NONE);
    assert_eq!(said(&verdict(&resolver, each(["x", "y", "x"])).await), Ok(("x", vec!["a", "c"])));
}

#[tokio::test]
async fn who_weighs_nothing_changes_nothing() {
    let resolver = Weighted::new([("a", 0), ("b", 0), ("c", 1)]);
    assert_eq!(said(&verdict(&resolver, each(["x", "x", "y"])).await), Ok(("y", vec!["c"])));
    let only_the_weightless = Results::new(Rules::new(), [gave("a", "x"), gave("b", "x")]);
    assert_eq!(said(&verdict(&resolver, only_the_weightless).await), NONE);
}

#[tokio::test]
async fn others_weigh_what_is_said_of_them() {
    let resolver = Weighted::new([("a", 1)]).with_default_weight(2);
    assert_eq!(said(&verdict(&resolver, each(["x", "y"])).await), Ok(("y", vec!["b"])));
}

#[tokio::test]
async fn the_largest_weights_add_up() {
    let resolver = Weighted::new([("a", u32::MAX), ("b", u32::MAX), ("c", u32::MAX)]);
    assert_eq!(said(&verdict(&resolver, each(["x", "y", "y"])).await), Ok(("y", vec!["b", "c"])));
}

#[tokio::test]
async fn a_field_can_be_weighed() {
    let resolver = Weighted::new([("a", 2), ("b", 1)]).with_field("/v");
    let results = each([data(&json!({"v": 1, "why": "x"})), data(&json!({"v": 2}))]);
    assert_eq!(said(&verdict(&resolver, results).await), Ok(("1", vec!["a"])));
}

#[tokio::test]
async fn at_least_is_a_weight() {
    let resolver = Weighted::new([("a", 3), ("b", 2), ("c", 2)]);
    let results = |least, c| {
        let rules = Rules::new().with_agreement(Agreement::AtLeast(least));
        Results::new(rules, [gave("a", "x"), gave("b", "y"), gave("c", c)])
    };
    assert_eq!(said(&verdict(&resolver, results(3, "z")).await), Ok(("x", vec!["a"])));
    assert_eq!(said(&verdict(&resolver, results(4, "z")).await), NONE);
    assert_eq!(said(&verdict(&resolver, results(3, "y")).await), Ok(("y", vec!["b", "c"])));
}

#[test]
fn what_cannot_be_weighed_is_refused() {
    assert_fine(&Weighted::new([("a", 0), ("b", 1), ("stranger", 1)]));
    assert_fine(&Weighted::new([("a", 0)]).with_default_weight(1));
    let missing = "participant `b` has no weight; give it one, or set a default weight";
    assert_refused(&Weighted::new([("a", 1)]), missing);
    assert_refused(&Weighted::new([("a", 0), ("b", 0)]), "no participant weighs anything");
    assert_refused(&Weighted::new([("a", 0)]).with_default_weight(0), "no participant weighs anything");
    assert_refused(&Weighted::new([("a", 1), ("", 1)]).with_default_weight(1), "weights: agent id is empty");
    assert_refused(&Weighted::new([("a", 1), ("b", 1)]).with_field("v"), "JSON pointer `v`");
}

#[tokio::test(start_paused = true)]
async fn a_missing_weight_refuses_the_consensus() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "x")]);
    let report = panel.ask(among(["ada", "bob"]).with_resolver(Weighted::new([("ada", 1)]))).await;
    assert_none(&report, ErrorCode::InvalidRequest, "participant `bob` has no weight");
}

#[tokio::test(start_paused = true)]
async fn more_weight_than_there_is_refuses_the_consensus() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "x")]);
    let asked = |least| {
        let resolver = Weighted::new([("ada", 3), ("bob", 1)]);
        among(["ada", "bob"]).with_resolver(resolver).with_agreement(Agreement::AtLeast(least))
    };
    let report = panel.ask(asked(5)).await;
    assert_none(&report, ErrorCode::InvalidRequest, "asks for 5 votes, but all participants have 4");
    assert_eq!(panel.ask(asked(4)).await.text(), "x");
}

#[tokio::test(start_paused = true)]
async fn the_weightiest_can_decide_before_the_others_answer() {
    let panel = Panel::saying(&[("ada", "x")]);
    let slow = ScriptedExecutor::answering(|_| Step::cancelled());
    panel.add("bob", &slow);
    panel.add("cy", &slow);
    let resolver = Weighted::new([("ada", 3)]).with_default_weight(1);
    let request = among(["ada", "bob", "cy"]).with_resolver(resolver).with_decide(Decide::Early);
    let report = panel.ask(request).await;
    assert_eq!((report.report.status, report.text()), (TaskStatus::Completed, "x"));
    let summary = report.summary.unwrap();
    assert_eq!((summary.succeeded, summary.signalled.len(), summary.votes[0].weight), (1, 2, 3));
}
