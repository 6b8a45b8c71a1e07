//! Scores by criteria.

use proptest::prelude::*;
use serde_json::{Value, json};

use convoke_consensus::{Decide, Resolver as _, Results, Rubric, Rules, Verdict};
use convoke_core::ErrorCode;

use super::{
    assert_fine, assert_refused, data, each, failed, gave, id,
    panel::{Panel, among, assert_none},
    said, verdict,
};

fn one() -> Rubric {
    Rubric::new([("q", 1)])
}

/// Ballots with one score.
fn scores(scores: &[f64]) -> Results {
    each(scores.iter().map(|score| data(&json!({ "q": score }))))
}

fn is_reached(verdict: &Verdict) -> bool {
    verdict.output().is_some()
}

#[tokio::test]
async fn criteria_weigh_what_they_are_given() {
    // clarity: (6 + 8) / 2 = 7 by 1; safety: (9 + 10) / 2 = 9.5 by 3; (7 + 28.5) / 4 = 8.875.
    let rubric = Rubric::new([("clarity", 1), ("safety", 3)]);
    let ballots = each([
        data(&json!({"clarity": 6, "safety": 9, "remark": "fine"})),
        data(&json!({"safety": 10.0, "clarity": 8})),
    ]);
    let verdict = verdict(&rubric, ballots).await;
    assert_eq!(said(&verdict), Ok(("8.875", vec!["a", "b"])));
    let expected = json!({"total": 8.875, "criteria": {"clarity": 7.0, "safety": 9.5}, "ballots": 2});
    assert_eq!(verdict.output().unwrap().data.as_ref(), Some(&expected));
    assert_eq!((&verdict.notes()["scores"], &verdict.notes()["bar"]), (&expected, &Value::Null));
}

#[tokio::test]
async fn a_criterion_that_weighs_nothing_is_reported_and_must_be_scored() {
    let rubric = Rubric::new([("q", 1), ("style", 0)]);
    let ballots = each([data(&json!({"q": 4, "style": 10})), data(&json!({"q": 10}))]);
    let verdict = verdict(&rubric, ballots).await;
    assert_eq!(said(&verdict), Ok(("4", vec!["a"])));
    assert_eq!(verdict.notes()["scores"]["criteria"]["style"], json!(10.0));
    assert_eq!(*verdict.spoilt(), [id("b")].into());
}

#[tokio::test]
async fn the_bar_itself_passes_and_what_is_just_below_does_not() {
    let passes = async |given: &[f64], bar| is_reached(&verdict(&one().with_bar(bar), scores(given)).await);
    assert!(passes(&[7.5], 7.5).await);
    assert!(!passes(&[7.499_999], 7.5).await);
    assert!(passes(&[0.0], 0.0).await);
    assert!(passes(&[10.0, 10.0], 10.0).await);
    assert!(!passes(&[10.0, 9.999_999], 10.0).await);
    // Sums of binary fractions are below these.
    assert!(passes(&[0.1; 6], 0.1).await);
    assert!(passes(&[6.0, 6.0, 7.2], 6.4).await);
    assert!(!passes(&[6.0, 6.0, 7.199_999], 6.4).await);
}

#[tokio::test]
async fn every_unanimous_score_is_at_its_own_bar() {
    for tenths in 0..=100 {
        let score = f64::from(tenths) / 10.0;
        for count in 1..=12 {
            let verdict = verdict(&one().with_bar(score), scores(&vec![score; count])).await;
            assert_eq!(
                verdict.output().map(|output| output.text.clone()),
                Some(score.to_string()),
                "{count}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_below_the_bar_says_how_far() {
    let verdict = verdict(&one().with_bar(8.0), scores(&[7.0])).await;
    assert_eq!(said(&verdict), Err("total is below the bar"));
    let expected = json!({"total": 7.0, "criteria": {"q": 7.0}, "ballots": 1});
    assert_eq!((&verdict.notes()["scores"], &verdict.notes()["bar"]), (&expected, &json!(8.0)));
    assert_eq!(verdict.voters().len(), 1);
}

#[tokio::test]
async fn a_ballot_that_is_not_whole_is_spoilt_as_a_whole() {
    let rubric = Rubric::new([("q", 1), ("r", 1)]);
    let spoilt = [
        r#"{"q": 5}"#,
        r#"{"q": 5, "r": "5"}"#,
        r#"{"q": 5, "r": "NaN"}"#,
        r#"{"q": 5, "r": null}"#,
        r#"{"q": 5, "r": -0.1}"#,
        r#"{"q": 5, "r": 10.0000001}"#,
        r#"{"q": 5, "r": 1e400}"#,
        r#"{"q": 5, "r": 18446744073709551615}"#,
        "[5, 5]",
        "5",
        "prose",
        "",
    ];
    for ballot in spoilt {
        let verdict = verdict(&rubric, each([ballot, r#"{"q": 2, "r": 4}"#])).await;
        assert_eq!(said(&verdict), Ok(("3", vec!["b"])), "{ballot}");
        assert_eq!(*verdict.spoilt(), [id("a")].into(), "{ballot}");
    }
    let none = verdict(&rubric, each(spoilt)).await;
    assert_eq!(said(&none), Err("no ballot has a score for each criterion"));
    assert_eq!(none.spoilt().len(), spoilt.len());
}

#[tokio::test]
async fn who_failed_scores_nothing() {
    let given = [gave("a", r#"{"q": 4}"#), failed("b", r#"{"q": 10}"#)];
    let verdict = verdict(&one(), Results::new(Rules::new(), given)).await;
    assert_eq!(said(&verdict), Ok(("4", vec!["a"])));
}

#[tokio::test]
async fn a_scale_is_from_nothing_to_its_end() {
    let hundred = one().with_scale(100.0).with_bar(80.0);
    assert_eq!(said(&verdict(&hundred, scores(&[100.0, 60.0])).await), Ok(("80", vec!["a", "b"])));
    let unit = one().with_scale(1.0);
    assert_eq!(said(&verdict(&unit, scores(&[1.0, 1.5])).await), Ok(("1", vec!["a"])));
    let widest = one().with_scale(1e6).with_bar(999_999.999_999);
    assert!(is_reached(&verdict(&widest, scores(&[999_999.999_999; 7])).await));
}

#[tokio::test]
async fn scores_can_stand_in_a_field() {
    let verdict = verdict(&one().with_field("/scores"), each([r#"{"scores": {"q": 3}}"#])).await;
    assert_eq!(said(&verdict), Ok(("3", vec!["a"])));
}

#[test]
fn a_rubric_that_makes_no_sense_is_refused() {
    assert_fine(&Rubric::new([("q", 1), ("r", 0)]).with_scale(1.0).with_bar(1.0));
    assert_fine(&one().with_scale(1e6).with_bar(0.0));
    assert_refused(&Rubric::new::<&str>([]), "no criterion with a weight above 0");
    assert_refused(&Rubric::new([("q", 0)]), "no criterion with a weight above 0");
    assert_refused(&Rubric::new([("q", 1), ("r", 1), ("q", 2)]), "names criterion `q` twice");
    for scale in [0.0, 0.5, -1.0, 1e7, f64::NAN, f64::INFINITY] {
        assert_refused(&one().with_scale(scale), "let it end between 1 and 1000000");
    }
    for bar in [-0.1, 10.1, f64::NAN, f64::INFINITY] {
        assert_refused(&one().with_bar(bar), "is off the scale of the rubric, 0 to 10");
    }
    assert_refused(&one().with_field("scores"), "JSON pointer `scores`");
}

#[tokio::test]
async fn a_rubric_without_weights_decides_nothing() {
    for rubric in [Rubric::new::<&str>([]), Rubric::new([("q", 0)])] {
        assert!(!is_reached(&verdict(&rubric, scores(&[5.0])).await));
    }
}

#[tokio::test(start_paused = true)]
async fn scores_decide_for_a_team() {
    let panel = Panel::saying(&[("ada", r#"{"q": 8}"#), ("bob", r#"{"q": 7}"#)]);
    let asked = |bar| among(["ada", "bob"]).with_resolver(one().with_bar(bar));
    let report = panel.ask(asked(7.6)).await;
    assert_none(&report, ErrorCode::ConsensusNotReached, "total is below the bar: 2 eligible");
    assert_eq!(report.summary.unwrap().notes["scores"]["total"], json!(7.5));
    assert_eq!(panel.ask(asked(7.5)).await.text(), "7.5");
    let early = among(["ada"]).with_resolver(one()).with_decide(Decide::Early);
    assert_none(&panel.ask(early).await, ErrorCode::InvalidRequest, "cannot decide early");
}

proptest! {
    #[test]
    fn who_gives_which_score_plays_no_part(
        (ballots, shuffled) in prop::collection::vec((0.0..=10.0_f64, 0.0..=10.0_f64), 1..9)
            .prop_flat_map(|ballots| (Just(ballots.clone()), Just(ballots).prop_shuffle())),
        weights in (1..1000_u32, 1..1000_u32),
    ) {
        let rubric = Rubric::new([("q", weights.0), ("r", weights.1)]);
        let total = |ballots: &[(f64, f64)]| {
            let results = each(ballots.iter().map(|(q, r)| data(&json!({"q": q, "r": r}))));
            futures_util::FutureExt::now_or_never(verdict(&rubric, results)).unwrap()
        };
        let (one, other) = (total(&ballots), total(&shuffled));
        prop_assert_eq!(rubric.check(&[id("a")], &convoke_registry::TeamHandle::closed()), Ok(()));
        prop_assert_eq!(one.output().unwrap(), other.output().unwrap());
        let bits = |verdict: &Verdict| verdict.notes()["scores"]["total"].as_f64().unwrap().to_bits();
        prop_assert_eq!(bits(&one), bits(&other));
    }
}
