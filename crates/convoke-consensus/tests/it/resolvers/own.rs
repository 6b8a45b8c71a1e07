//! A resolver of a user.

use convoke_consensus::{Counting, ExactOutput, Resolver, ResolverContext, Results, Verdict};
use convoke_core::{ErrorCode, ExecutorError};

use super::{
    each,
    panel::{Panel, among, assert_none},
    said, verdict,
};

/// Counts, and where that decides nothing goes with the chair.
struct Chair(&'static str);

impl Resolver for Chair {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let counted =
            ExactOutput.counting().map_or_else(|| Verdict::not_reached(""), |by| results.count(&by));
        if counted.output().is_some() {
            return Ok(counted);
        }
        Ok(match results.successes().find(|(agent, _)| agent.as_str() == self.0) {
            Some((chair, output)) => {
                Verdict::agreed(output.clone()).by([chair.clone()]).with_note("tie", true)
            }
            None => Verdict::not_reached("no answer has the votes, and the chair did not answer"),
        })
    }
}

#[tokio::test]
async fn a_users_resolver_counts_first_and_breaks_ties_by_itself() {
    let chair = Chair("b");
    assert_eq!(said(&verdict(&chair, each(["x", "y", "x"])).await), Ok(("x", vec!["a", "c"])));
    assert_eq!(said(&verdict(&chair, each(["x", "y"])).await), Ok(("y", vec!["b"])));
}

#[tokio::test(start_paused = true)]
async fn a_users_resolver_decides_for_a_team() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "y")]);
    let report = panel.ask(among(["ada", "bob"]).with_resolver(Chair("cy"))).await;
    assert_none(&report, ErrorCode::ConsensusNotReached, "the chair did not answer: 2 eligible");

    let report = panel.ask(among(["ada", "bob"]).with_resolver(Chair("bob"))).await;
    assert_eq!((report.text(), report.report.attempt), ("y", 2));
    let summary = report.summary.unwrap();
    assert_eq!((summary.voters.len(), &summary.notes["tie"]), (1, &true.into()));
}

/// Reads votes, and panics at one.
struct Picky;

impl Resolver for Picky {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(self.counting().map_or_else(|| Verdict::not_reached(""), |by| results.count(&by)))
    }

    fn counting(&self) -> Option<Counting> {
        Some(Counting::new(|output| {
            assert!(output.text != "y", "an answer that nobody thought of");
            ExactOutput.counting()?.read(output)
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_panics_fails_the_consensus() {
    let panel = Panel::saying(&[("ada", "x"), ("bob", "y")]);
    let report = panel.ask(among(["ada", "bob"]).with_resolver(Picky)).await;
    assert_none(&report, ErrorCode::ExecutionFailed, "resolver panicked");
}
