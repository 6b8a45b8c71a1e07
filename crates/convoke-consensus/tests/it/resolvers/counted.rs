//! Whole outputs and fields of them.

use serde_json::json;

use convoke_consensus::{Decide, ExactOutput, JsonField, Resolver as _, Results, Rules};
use convoke_core::{AgentId, ErrorCode, TaskOutput};
use convoke_testkit::{ScriptedExecutor, Step};

use super::{
    assert_fine, assert_refused, data, each, failed, gave,
    panel::{Panel, among, assert_none},
    said, verdict,
};

#[tokio::test]
async fn whole_outputs_agree_byte_for_byte() {
    let results = each(["yes", "no", "yes"]);
    assert_eq!(said(&verdict(&ExactOutput, results).await), Ok(("yes", vec!["a", "c"])));
    let results = each(["yes", "Yes", "yes "]);
    assert_eq!(said(&verdict(&ExactOutput, results).await), Err("no answer has the votes"));
}

#[tokio::test]
async fn a_tie_of_outputs_is_not_reached() {
    for outputs in [vec!["yes", "no"], vec!["yes", "yes", "no", "no"], vec!["no", "yes", "no", "yes"]] {
        assert_eq!(said(&verdict(&ExactOutput, each(outputs)).await), Err("no answer has the votes"));
    }
}

#[tokio::test]
async fn what_a_failed_participant_says_is_no_vote() {
    let given = [failed("a", "no"), failed("b", "no"), gave("c", "yes")];
    let results = Results::new(Rules::new(), given);
    assert_eq!(said(&verdict(&ExactOutput, results).await), Ok(("yes", vec!["c"])));
}

#[tokio::test]
async fn metadata_is_neither_compared_nor_part_of_the_verdict() {
    let costly = |cost: u64| TaskOutput::text("yes").with_metadata("cost", cost);
    let verdict = verdict(&ExactOutput, each([costly(1), costly(2)])).await;
    assert_eq!(verdict.output(), Some(&TaskOutput::text("yes")));
}

#[tokio::test]
async fn a_field_is_read_from_data_or_from_text() {
    let results = each([
        data(&json!({"checks": [{"result": "ship"}], "because": 1})),
        TaskOutput::text(r#"{"checks": [{"result": "ship"}], "because": 2}"#),
        data(&json!({"checks": [{"result": "wait"}]})),
    ]);
    let verdict = verdict(&JsonField::new("/checks/0/result"), results).await;
    assert_eq!(said(&verdict), Ok(("ship", vec!["a", "b"])));
    assert_eq!(verdict.output().unwrap().data, Some(json!("ship")));
}

#[tokio::test]
async fn data_comes_before_text() {
    let mut output = TaskOutput::text(r#"{"v": "text"}"#);
    output.data = Some(json!({"v": "data"}));
    assert_eq!(said(&verdict(&JsonField::new("/v"), each([output])).await), Ok(("data", vec!["a"])));
}

#[test]
fn what_has_no_such_field_holds_no_vote() {
    let counting = JsonField::new("/v").counting().unwrap();
    let spoilt = [
        TaskOutput::text(""),
        TaskOutput::text("ship it"),
        TaskOutput::text(r#""v""#),
        TaskOutput::text(r#"{"v": 1} and more"#),
        data(&json!({"w": 1})),
        data(&json!([1])),
        data(&json!(null)),
    ];
    for output in spoilt {
        assert_eq!(counting.read(&output), None, "{output:?}");
    }
    let whole = JsonField::new("").counting().unwrap();
    assert_eq!(whole.read(&TaskOutput::text("prose")), None);
    for value in [json!(null), json!(false), json!([]), json!({"v": 1})] {
        let answer = counting.read(&data(&json!({ "v": value }))).unwrap();
        assert_eq!(answer.data(), Some(&value));
    }
}

#[tokio::test]
async fn a_spoilt_ballot_counts_against_each_answer() {
    let field = JsonField::new("/v");
    let ship = || data(&json!({"v": "ship"}));
    assert_eq!(said(&verdict(&field, each([ship(), "?".into()])).await), Err("no answer has the votes"));
    assert_eq!(
        said(&verdict(&field, each([ship(), ship(), "?".into()])).await),
        Ok(("ship", vec!["a", "b"]))
    );
}

#[tokio::test]
async fn numbers_and_the_order_of_fields_are_compared_as_json_is() {
    let one = data(&json!({"v": {"a": 1, "b": [2.0]}}));
    let other = TaskOutput::text(r#"{"v": {"b": [2], "a": 1e0}}"#);
    let verdict = verdict(&JsonField::new("/v"), each([one, other])).await;
    assert_eq!(said(&verdict), Ok((r#"{"a":1,"b":[2]}"#, vec!["a", "b"])));
}

#[tokio::test]
async fn names_in_pointers_are_escaped() {
    let output = data(&json!({"a/b": {"m~n": "x"}}));
    let verdict = verdict(&JsonField::new("/a~1b/m~0n"), each([output])).await;
    assert_eq!(said(&verdict), Ok(("x", vec!["a"])));
}

#[test]
fn what_is_no_pointer_is_refused() {
    for pointer in ["", "/", "/a", "/a/0", "/a~0b~1c", "//", "/~01"] {
        assert_fine(&JsonField::new(pointer));
    }
    assert_refused(&JsonField::new("verdict"), "does not start with `/`; write `/verdict`");
    for pointer in ["/a~", "/a~2", "/~/b", "/a~~0"] {
        assert_refused(&JsonField::new(pointer), "has a `~` that says nothing; write `~0` for `~`");
    }
}

#[tokio::test(start_paused = true)]
async fn whole_outputs_are_counted_as_they_come_in() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "x")]);
    panel.add("cy", &ScriptedExecutor::new([Step::cancelled()]));
    let report = panel.ask(among(["ada", "bob", "cy"]).with_decide(Decide::Early)).await;
    assert_eq!(report.text(), "x");
    assert_eq!(report.summary.unwrap().signalled.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bad_pointer_refuses_the_consensus_before_anybody_is_asked() {
    let panel = Panel::saying(&[("ada", "{}")]);
    let report = panel.ask(among(["ada"]).with_resolver(JsonField::new("v"))).await;
    assert_none(&report, ErrorCode::InvalidRequest, "JSON pointer `v` does not start with `/`");
    assert!(report.summary.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_agreed_field_is_the_verdict_of_the_team() {
    let ship = r#"{"v": "ship", "because": "green"}"#;
    let panel = Panel::saying(&[("ada", ship), ("bob", r#"{"v": "ship"}"#), ("cy", "prose")]);
    let report = panel.ask(among(["ada", "bob", "cy"]).with_resolver(JsonField::new("/v"))).await;
    assert_eq!(report.text(), "ship");
    let summary = report.summary.unwrap();
    assert_eq!(summary.spoilt.iter().map(AgentId::as_str).collect::<Vec<_>>(), ["cy"]);
    assert_eq!((summary.votes[0].weight, summary.required), (2, Some(2)));
}
