//! A verdict that is made of all answers.

use convoke_consensus::{Merge, Results, Rules};
use convoke_core::{ErrorCode, ExecutorError, TaskOutput};

use super::{
    failed, gave,
    panel::{Panel, among, assert_none},
    said, verdict,
};

/// Texts with their authors, failures as such.
#[expect(clippy::unnecessary_wraps, reason = "it is what a merge gives")]
fn joined(results: &Results) -> Result<TaskOutput, ExecutorError> {
    let line = |(agent, report): (&_, &convoke_core::TaskReport)| {
        if report.is_success() { format!("{agent}: {}", report.text()) } else { format!("{agent} failed") }
    };
    Ok(results.iter().map(line).collect::<Vec<_>>().join(", ").into())
}

#[tokio::test]
async fn a_merge_sees_all_by_id_and_rests_on_those_that_succeeded() {
    let given = [gave("c", "3"), failed("b", "2"), gave("a", "1")];
    let verdict = verdict(&Merge::new(joined), Results::new(Rules::new(), given)).await;
    assert_eq!(said(&verdict), Ok(("a: 1, b failed, c: 3", vec!["a", "c"])));
}

#[tokio::test]
async fn nothing_is_not_merged() {
    let results = Results::new(Rules::new(), [failed("a", "1")]);
    assert_eq!(said(&verdict(&Merge::new(joined), results).await), Err("nobody answered"));
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_fails_or_panics_fails_the_consensus_which_can_be_tried_again() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "y")]);
    let asked = || among(["ada", "bob"]);

    let failing = Merge::new(|_: &Results| Err(ExecutorError::new("secret")));
    let report = panel.ask(asked().with_resolver(failing)).await;
    assert_none(&report, ErrorCode::ExecutionFailed, "resolver returned an error");
    assert_eq!(report.report.error.unwrap().detail(), Some("secret"));

    let panicking = Merge::new(|_: &Results| panic!("on purpose"));
    assert_none(&panel.ask(asked().with_resolver(panicking)).await, ErrorCode::ExecutionFailed, "panicked");

    let report = panel.ask(asked().with_resolver(Merge::new(joined))).await;
    assert_eq!((report.text(), report.report.attempt), ("ada: x, bob: y", 3));
}
