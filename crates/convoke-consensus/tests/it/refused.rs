//! What is refused before anybody is asked, and which reason comes first.

use std::borrow::Cow;

use convoke_consensus::{
    Agreement, Basis, ConsensusRequest, Counting, Decide, JsonField, JudgeAgent, Merge, Ranked,
    ReachConsensus as _, Resolver, ResolverContext, Results, Rubric, Verdict, Weighted,
};
use convoke_core::{AgentId, ErrorCode, ExecutorError, ResumeToken, TaskRequest, TaskStatus};
use convoke_registry::{AgentRegistry, Availability, CancellationToken, RunOptions, TeamHandle};
use convoke_testkit::ScriptedExecutor;

use crate::house::{Heard, House, assert_end, consensus, question, registry};

/// A house of three voters that nobody may ask.
fn house() -> (House, ScriptedExecutor) {
    let nobody = ScriptedExecutor::new([]);
    (House::built(registry([nobody.clone(), nobody.clone(), nobody.clone()]), |builder| builder), nobody)
}

async fn refused(house: &House, request: ConsensusRequest, code: ErrorCode, text: &str) {
    let report = house.reach(request).await;
    assert_end(&report, TaskStatus::Blocked, code);
    assert_eq!((report.report.attempt, &report.summary), (0, &None));
    assert_eq!(report.report.error.unwrap().message(), text);
    assert!(house.team.session("s").is_none(), "nothing is touched");
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_refused_with_the_way_out() {
    let (house, nobody) = house();
    let merge = || Merge::new(|_| Ok("x".into()));
    let cases = [
        (consensus().with_participants(["a", "b", "a"]), "participant `a` is named twice; it has one vote"),
        (
            consensus().with_minimum_successful_agents(0),
            "minimum of successful agents is 0; ask for 1 or more",
        ),
        (
            consensus().with_minimum_successful_agents(4),
            "minimum of successful agents is 4, and 3 can be asked; ask for fewer, or name more",
        ),
        (
            consensus().with_participants(["a", "b"]).with_minimum_successful_agents(3),
            "minimum of successful agents is 3, and 2 can be asked; ask for fewer, or name more",
        ),
        (
            consensus().with_agreement(Agreement::AtLeast(0)),
            "agreement of at least 0 is none; ask for 1 or more",
        ),
        (
            consensus().with_agreement(Agreement::AtLeast(4)),
            "agreement asks for 4 votes, but all participants have 3; ask for fewer",
        ),
        (
            consensus()
                .with_agreement(Agreement::AtLeast(6))
                .with_resolver(Weighted::new([("a", 3)]).with_default_weight(1)),
            "agreement asks for 6 votes, but all participants have 5; ask for fewer",
        ),
        (
            consensus().with_decide(Decide::Early).with_resolver(merge()),
            "resolver cannot decide early; decide after all, or use one that counts",
        ),
        (
            consensus().with_agreement(Agreement::AtLeast(1)).with_resolver(merge()),
            "resolver decides by a rule of its own; leave agreement and basis as they are, or use one that counts",
        ),
        (
            consensus().with_basis(Basis::Participants).with_resolver(Ranked::new()),
            "resolver decides by a rule of its own; leave agreement and basis as they are, or use one that counts",
        ),
        (
            ConsensusRequest::new(question().preferring("a")),
            "task prefers agent `a`, but each participant is asked; name the participants",
        ),
        (
            ConsensusRequest::new(question().resuming(ResumeToken::empty(), "yes")),
            "task answers a pause, but a consensus never pauses; leave the answer out",
        ),
        (
            consensus().with_resolver(JsonField::new("verdict")),
            "JSON pointer `verdict` does not start with `/`; write `/verdict`, or nothing for the whole",
        ),
        (
            consensus().with_resolver(Weighted::new([("a", 1)])),
            "participant `b` has no weight; give it one, or set a default weight",
        ),
        (
            consensus().with_resolver(Rubric::new([("clarity", 1)]).with_bar(11.0)),
            "bar 11 is off the scale of the rubric, 0 to 10; set it within",
        ),
    ];
    for (request, text) in cases {
        refused(&house, request, ErrorCode::InvalidRequest, text).await;
    }
    assert_eq!(nobody.calls(), 0);
    assert_eq!(house.told(), ["failed"; 15], "one event each");
    assert!(house.tasks.names().is_empty());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn bad_ids_are_refused_and_never_mean_everybody() {
    let (house, nobody) = house();
    let report = house.reach(consensus().with_participants(["a\n"])).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert!(report.report.error.unwrap().message().starts_with("participant: "));
    let judge = house.reach(consensus().with_resolver(JudgeAgent::new(" "))).await;
    assert!(judge.report.error.unwrap().message().starts_with("judge: "));
    let weights = house.reach(consensus().with_resolver(Weighted::new([("", 1)]))).await;
    assert!(weights.report.error.unwrap().message().starts_with("weights: "));
    let task = house.reach(ConsensusRequest::new(question().with_id("bad\n"))).await;
    assert_end(&task, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    let empty = house.reach(ConsensusRequest::new(TaskRequest::new(""))).await;
    assert_end(&empty, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(nobody.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_takes_part_the_reason_says_why() {
    let (house, _) = house();
    refused(
        &house,
        ConsensusRequest::new(question().requiring("sing")),
        ErrorCode::CapabilityNotFound,
        "no agent has `vote` and `sing`; register one, or require less",
    )
    .await;
    for agent in ["a", "b", "c"] {
        house.registry.set_availability(agent, Availability::Draining).unwrap();
    }
    // Before what is wrong with the numbers.
    let request = consensus().with_minimum_successful_agents(0);
    let text = "no agent that could take part is available, of 3; wait for one";
    refused(&house, request, ErrorCode::AgentUnavailable, text).await;
    let empty = House::built(AgentRegistry::new(), |builder| builder);
    let text = "no agent is registered; add the participants first";
    refused(&empty, consensus(), ErrorCode::AgentNotFound, text).await;
    // Who is named takes part, there or not.
    let report = house.reach(consensus().with_participants(["a"])).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert!(report.to_string().contains("1 failed (`a` agent_unavailable)"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn those_that_are_not_available_are_left_out_unless_named() {
    let house = House::answering(&["ship", "ship", "ship"]);
    house.registry.set_availability("b", Availability::Offline).unwrap();
    let report = house.reach(consensus()).await;
    assert_eq!(report.summary.unwrap().eligible, 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_before_is_cancelled_whatever_else_is_wrong() {
    let (house, nobody) = house();
    let heard = Heard::default();
    let token = CancellationToken::new();
    token.cancel();
    let request = heard.listen(consensus().with_minimum_successful_agents(0).with_participants(["a", "a"]));
    let report = house.reach_with(request, RunOptions::new().with_cancellation(token)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(heard.names(), ["cancelled"]);
    assert_eq!(house.told(), ["cancelled"]);
    assert_eq!((house.sink.events().len(), nobody.calls()), (1, 0), "and nothing else is told");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_team_that_is_gone_is_said() {
    let report = TeamHandle::closed().reach_consensus(consensus()).await.unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::ShuttingDown);
}

/// A resolver whose every word is a panic.
struct Panics(fn() -> bool);

impl Resolver for Panics {
    async fn resolve(&self, _results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        panic!("not to be called")
    }

    fn counting(&self) -> Option<Counting> {
        assert!((self.0)(), "secret");
        Some(Counting::new(|_| panic!("secret")).weighing(|_| 1))
    }

    fn check(&self, _participants: &[AgentId], _team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_panics_before_or_while_it_counts_fails_the_consensus_alone() {
    let house = House::answering(&["ship", "ship"]);
    let report = house.reach(consensus().with_resolver(Panics(|| false))).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::ExecutionFailed);
    assert_eq!(report.report.attempt, 0);
    let report = house.reach(consensus().with_resolver(Panics(|| true))).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
    let error = report.report.error.as_ref().unwrap();
    assert_eq!((error.message(), error.detail()), ("resolver panicked", Some("secret")));
    assert!(house.reach(consensus()).await.is_success(), "and its id is free");
    house.assert_rest();
}
