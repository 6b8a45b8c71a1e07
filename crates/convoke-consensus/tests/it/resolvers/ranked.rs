//! Rankings, against a plain count of points.

use proptest::{prelude::*, sample::SizeRange};
use serde_json::{Value, json};

use convoke_consensus::{Agreement, Ranked, Results, Rules};
use convoke_core::ErrorCode;

use super::{
    assert_fine, assert_refused, data, each, failed, gave, id,
    panel::{Panel, among, assert_none},
    said, verdict,
};

const TIE: Result<(&str, Vec<&str>), &str> = Err("tie: several candidates share the most points");

fn rankings(rankings: &[&[&str]]) -> Results {
    each(rankings.iter().map(|ranking| data(&json!(ranking))))
}

#[tokio::test]
async fn the_candidate_that_all_can_live_with_wins() {
    // x: 2 + 2 + 0 + 0 + 0 = 4, y: 1 + 1 + 2 + 1 + 1 = 6, z: 0 + 0 + 1 + 2 + 2 = 5.
    let ballots =
        rankings(&[&["x", "y", "z"], &["x", "y", "z"], &["y", "z", "x"], &["z", "y", "x"], &["z", "y", "x"]]);
    let verdict = verdict(&Ranked::new(), ballots).await;
    assert_eq!(said(&verdict), Ok(("y", vec!["c"])));
    let points = json!([
        {"candidate": "y", "points": 6}, {"candidate": "z", "points": 5}, {"candidate": "x", "points": 4},
    ]);
    assert_eq!((&verdict.notes()["points"], &verdict.notes()["candidates"]), (&points, &json!(3)));
}

#[tokio::test]
async fn everybodys_second_wins_with_no_voter() {
    let ballots = rankings(&[&["x", "m", "y", "z"], &["y", "m", "z", "x"], &["z", "m", "x", "y"]]);
    assert_eq!(said(&verdict(&Ranked::new(), ballots).await), Ok(("m", vec![])));
}

#[tokio::test]
async fn what_a_ranking_leaves_out_shares_what_is_left() {
    // Four candidates. The second ranking gives 3 to x, and 2, 1, 0 to the others: one each.
    let verdict = verdict(&Ranked::new(), rankings(&[&["w", "x", "y", "z"], &["x"]])).await;
    let points = json!([
        {"candidate": "x", "points": 5}, {"candidate": "w", "points": 4},
        {"candidate": "y", "points": 2}, {"candidate": "z", "points": 1},
    ]);
    assert_eq!((said(&verdict), &verdict.notes()["points"]), (Ok(("x", vec!["b"])), &points));
}

#[tokio::test]
async fn halves_are_told_as_halves() {
    // Three candidates: the ranking of x alone gives 2 to it, and the mean of 1 and 0 to each other.
    let verdict = verdict(&Ranked::new(), rankings(&[&["x"], &["x", "y", "z"]])).await;
    let points = json!([
        {"candidate": "x", "points": 4}, {"candidate": "y", "points": 1.5}, {"candidate": "z", "points": 0.5},
    ]);
    assert_eq!(&verdict.notes()["points"], &points);
}

#[tokio::test]
async fn a_tie_for_the_first_place_is_not_reached_and_one_below_is() {
    assert_eq!(said(&verdict(&Ranked::new(), rankings(&[&["x", "y"], &["y", "x"]])).await), TIE);
    let second = rankings(&[&["x", "y", "z"], &["x", "z", "y"]]);
    assert_eq!(said(&verdict(&Ranked::new(), second).await), Ok(("x", vec!["a", "b"])));
}

#[tokio::test]
async fn one_candidate_wins_without_a_point() {
    assert_eq!(said(&verdict(&Ranked::new(), rankings(&[&["x"]])).await), Ok(("x", vec!["a"])));
}

#[tokio::test]
async fn a_candidate_is_a_value() {
    // Three candidates whose texts are the same but for one: a string, a number, and the same number again.
    let ballots = each([data(&json!(["1", 1])), data(&json!([1.0, "1"])), data(&json!([1, "1"]))]);
    let verdict = verdict(&Ranked::new(), ballots).await;
    assert_eq!(verdict.output().unwrap().data, Some(json!(1)));
    assert_eq!(verdict.notes()["candidates"], json!(2));
}

#[tokio::test]
async fn level_candidates_of_one_text_are_listed_in_one_order() {
    let listed = json!([{"candidate": 1, "points": 1}, {"candidate": "1", "points": 1}]);
    for _ in 0..64 {
        let ballots = each([data(&json!(["1", 1])), data(&json!([1, "1"]))]);
        assert_eq!(verdict(&Ranked::new(), ballots).await.notes()["points"], listed);
    }
}

#[tokio::test]
async fn what_is_no_ranking_is_spoilt() {
    let spoilt =
        [json!([]), json!(["x", "y", "x"]), json!([1, "x", 1.0]), json!({"x": 1}), json!("x"), json!(null)];
    for ballot in spoilt {
        let verdict = verdict(&Ranked::new(), each([data(&ballot), data(&json!(["y", "x"]))])).await;
        assert_eq!(said(&verdict), Ok(("y", vec!["b"])), "{ballot}");
        assert_eq!(*verdict.spoilt(), [id("a")].into(), "{ballot}");
    }
    let none = verdict(&Ranked::new(), each(["prose", ""])).await;
    assert_eq!(said(&none), Err("no participant gave a ranking"));
    assert_eq!(*none.spoilt(), [id("a"), id("b")].into());
}

#[tokio::test]
async fn who_failed_ranks_nothing() {
    let given = [gave("a", r#"["x", "y"]"#), failed("b", r#"["y", "x"]"#)];
    let verdict = verdict(&Ranked::new(), Results::new(Rules::new(), given)).await;
    assert_eq!(said(&verdict), Ok(("x", vec!["a"])));
}

#[tokio::test]
async fn a_ranking_can_be_a_field() {
    let ranked = Ranked::new().with_field("/order");
    assert_eq!(said(&verdict(&ranked, each([r#"{"order": ["x", "y"]}"#])).await), Ok(("x", vec!["a"])));
    assert_fine(&ranked);
    assert_refused(&Ranked::new().with_field("order"), "JSON pointer `order`");
}

#[tokio::test]
async fn a_hostile_ranking_neither_wins_nor_fills_the_summary() {
    let many: Vec<_> = (0..50_000).map(|number| format!("candidate {number}")).collect();
    let honest = || data(&json!(["x", "y"]));
    let verdict = verdict(&Ranked::new(), each([data(&json!(many)), honest(), honest()])).await;
    assert_eq!(said(&verdict), Ok(("x", vec!["b", "c"])));
    let notes = verdict.notes();
    assert_eq!((notes["points"].as_array().unwrap().len(), &notes["candidates"]), (100, &json!(50_002)));
    assert_eq!(notes["points"][0], json!({"candidate": "x", "points": 100_002.5}));
}

#[tokio::test]
async fn long_candidates_do_not_fill_the_summary() {
    let long: Vec<_> = (0..9).map(|number| format!("{number}{}", "x".repeat(10_000))).collect();
    let verdict = verdict(&Ranked::new(), each([data(&json!(long))])).await;
    let notes = verdict.notes();
    assert_eq!((notes["points"].as_array().unwrap().len(), &notes["candidates"]), (6, &json!(9)));
}

#[tokio::test(start_paused = true)]
async fn rankings_decide_for_a_team() {
    let panel = Panel::saying(&[("ada", r#"["x", "y"]"#), ("bob", r#"["y", "x"]"#), ("cy", "?")]);
    let report = panel.ask(among(["ada", "bob", "cy"]).with_resolver(Ranked::new())).await;
    assert_none(&report, ErrorCode::ConsensusNotReached, "share the most points: 3 eligible");
    assert_eq!(report.summary.unwrap().spoilt, [id("cy")].into());

    let report = panel.ask(among(["ada"]).with_resolver(Ranked::new())).await;
    assert_eq!((report.text(), report.summary.as_ref().unwrap().required), ("x", None));
}

#[tokio::test(start_paused = true)]
async fn an_agreement_means_nothing_to_rankings() {
    let panel = Panel::saying(&[("ada", r#"["x"]"#)]);
    let request = among(["ada"]).with_resolver(Ranked::new()).with_agreement(Agreement::AtLeast(1));
    let report = panel.ask(request).await;
    assert_none(&report, ErrorCode::InvalidRequest, "resolver decides by a rule of its own");
}

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(u64, u64);

impl Ratio {
    fn plus(self, other: Self) -> Self {
        Self(self.0 * other.1 + other.0 * self.1, self.1 * other.1).reduced()
    }

    fn reduced(self) -> Self {
        let (mut one, mut other) = (self.0, self.1);
        while other != 0 {
            (one, other) = (other, one % other);
        }
        Self(self.0 / one, self.1 / one)
    }

    fn is_above(self, other: Self) -> bool {
        self.0 * other.1 > other.0 * self.1
    }
}

/// The points of each candidate, by looking at each place of each ranking for each candidate.
fn plain(ballots: &[Vec<u8>]) -> Vec<(u8, Ratio)> {
    let mut candidates: Vec<u8> = ballots.concat();
    candidates.sort_unstable();
    candidates.dedup();
    let all = candidates.len() as u64;
    let points = |candidate: &u8| {
        let given = ballots.iter().map(|ballot| {
            if let Some(place) = ballot.iter().position(|ranked| ranked == candidate) {
                return Ratio(all - 1 - place as u64, 1);
            }
            let left_out = all - ballot.len() as u64;
            Ratio((0..left_out).sum(), left_out).reduced()
        });
        (*candidate, given.fold(Ratio(0, 1), Ratio::plus))
    };
    candidates.iter().map(points).collect()
}

fn winner(ballots: &[Vec<u8>]) -> Option<u8> {
    let points = plain(ballots);
    let beats =
        |mine: Ratio, but: u8| points.iter().all(|(one, theirs)| *one == but || mine.is_above(*theirs));
    points.iter().find(|(candidate, mine)| beats(*mine, *candidate)).map(|(candidate, _)| *candidate)
}

/// Ballots that rank some of up to seven candidates.
fn any_ballots(count: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let ballot = prop::sample::subsequence((0..7_u8).collect::<Vec<_>>(), 1..=7).prop_shuffle();
    prop::collection::vec(ballot, count)
}

fn cast(ballots: &[Vec<u8>]) -> Results {
    each(ballots.iter().map(|ballot| data(&json!(ballot))))
}

/// The verdict of a resolver that awaits nothing.
fn at_once(results: Results) -> convoke_consensus::Verdict {
    futures_util::FutureExt::now_or_never(verdict(&Ranked::new(), results)).unwrap()
}

fn won(ballots: &[Vec<u8>]) -> Option<Value> {
    at_once(cast(ballots)).output().map(|output| output.data.clone().unwrap())
}

proptest! {
    #[test]
    fn points_are_those_of_a_plain_count(ballots in any_ballots(1..8)) {
        let verdict = at_once(cast(&ballots));
        let mut listed: Vec<_> = verdict.notes()["points"].as_array().unwrap().clone();
        listed.sort_by_key(|one| one["candidate"].as_u64());
        let expected: Vec<_> = plain(&ballots).into_iter().collect();
        prop_assert_eq!(listed.len(), expected.len());
        for (listed, (candidate, Ratio(points, of))) in listed.iter().zip(expected) {
            prop_assert_eq!(&listed["candidate"], &json!(candidate));
            // Halves at most, so that the quotient is exact.
            prop_assert!(of <= 2);
            #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
            let points = points as f64 / of as f64;
            prop_assert_eq!(listed["points"].as_f64(), Some(points));
        }
        prop_assert_eq!(verdict.output().map(|output| output.data.clone().unwrap()), winner(&ballots).map(Value::from));
    }

    #[test]
    fn who_ranks_what_plays_no_part((ballots, shuffled) in any_ballots(1..8).prop_flat_map(|ballots| {
        (Just(ballots.clone()), Just(ballots).prop_shuffle())
    })) {
        let (one, other) = (at_once(cast(&ballots)), at_once(cast(&shuffled)));
        prop_assert_eq!(one.output(), other.output());
        prop_assert_eq!(&one.notes()["points"], &other.notes()["points"]);
    }

    #[test]
    fn one_more_that_ranks_the_winner_first_never_dethrones_it(
        ballots in any_ballots(1..8),
        more in prop::sample::subsequence((0..7_u8).collect::<Vec<_>>(), 0..=7).prop_shuffle(),
    ) {
        let Some(winner) = winner(&ballots) else { return Ok(()) };
        let known = ballots.concat();
        let rest = more.into_iter().filter(|candidate| *candidate != winner && known.contains(candidate));
        let added = std::iter::once(winner).chain(rest).collect();
        let ballots: Vec<_> = ballots.into_iter().chain([added]).collect();
        prop_assert_eq!(won(&ballots), Some(winner.into()));
    }
}
