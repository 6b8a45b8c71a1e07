//! Rounds that end by themselves: what they agree on, and what they leave in the session.

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use convoke_consensus::{
    Agreement, Basis, ConsensusReport, ConsensusRequest, ConsensusSummary, Decide, JsonField, Resolver,
    ResolverContext, Results, Verdict,
};
use convoke_core::{
    Artifact, CapacityPolicy, ErrorCode, ExecutorError, TaskId, TaskOutput, TaskRequest, TaskStatus,
};
use convoke_registry::{ExecutionContext, FunctionExecutor, RunOptions};
use convoke_session::{Author, IfCompleted};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{
    House, agent, assert_end, consensus, ms, question, registry, settle, summary, with_artifact,
};

#[tokio::test(start_paused = true)]
async fn what_two_of_three_say_is_the_verdict() {
    let house = House::answering(&["ship", "wait", "ship"]);
    let report = house.reach(consensus().with_agreement(Agreement::AtLeast(2))).await;
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!(report.text(), "ship");
    assert_eq!(report.report.agent, None);
    let output = report.report.output.as_ref().unwrap();
    assert_eq!(output.metadata["matching_votes"], json!(2));
    assert!(output.artifacts.is_empty() && output.messages.is_empty());
    let summary = summary(&report);
    assert_eq!(summary.voters, [agent("a"), agent("c")].into());
    assert_eq!(
        report.to_string(),
        "task `c` completed, attempt 1; 3 eligible, 3 asked, 3 succeeded, 0 failed; 2 votes required; \
         votes 2 (`a`, `c`), 1 (`b`)"
    );

    let snapshot = house.snapshot();
    let messages: Vec<_> = snapshot.messages().map(|one| (one.id.as_str(), &one.author)).collect();
    let (a, b, c) = (Author::Agent(agent("a")), Author::Agent(agent("b")), Author::Agent(agent("c")));
    assert_eq!(messages.len(), 7, "{messages:?}");
    assert_eq!(messages[6], ("c/1/output", &Author::Team));
    for (voter, author) in [("a", &a), ("b", &b), ("c", &c)] {
        let task = format!("c%2F1%2F{voter}/1");
        assert!(messages.contains(&(format!("{task}/input").as_str(), &Author::Team)), "{messages:?}");
        assert!(messages.contains(&(format!("{task}/output").as_str(), author)), "{messages:?}");
    }
    assert_eq!(snapshot.artifacts().len(), 3);
    assert_eq!(snapshot.tasks().len(), 4);
    assert_eq!(house.told(), ["started", "completed"]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn three_that_differ_agree_on_nothing() {
    let house = House::answering(&["one", "two", "three"]);
    let report = house.reach(consensus()).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!(report.text(), "");
    assert_eq!(
        report.report.error.as_ref().unwrap().message(),
        "consensus was not reached, the votes are level: 3 eligible, 3 asked, 3 succeeded, 0 failed; 2 votes required; \
         votes 1 (`a`), 1 (`b`), 1 (`c`)"
    );
    assert!(!report.to_string().contains("; 3 eligible"), "said once");
    let votes: Vec<_> = summary(&report).votes.iter().map(|votes| votes.text.as_str()).collect();
    assert_eq!(votes, ["one", "two", "three"], "with the answers, by their first voter");
    let snapshot = house.snapshot();
    assert_eq!((snapshot.messages().len(), snapshot.artifacts().len()), (6, 3), "no verdict");
    assert_eq!(house.told(), ["started", "failed"]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_tie_never_agrees_even_where_one_vote_is_enough() {
    let house = House::answering(&["b", "a", "c"]);
    let report = house.reach(consensus().with_agreement(Agreement::AtLeast(1))).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    let house = House::answering(&["b", "a", "a", "b"]);
    assert_end(&house.reach(consensus()).await, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
}

fn fails() -> Step {
    Step::fail(ExecutorError::new("broken"))
}

fn ships() -> Step {
    Step::reply(with_artifact("ship"))
}

fn waits() -> Step {
    Step::reply("wait")
}

#[tokio::test(start_paused = true)]
async fn one_success_of_five_is_enough_or_not_by_the_basis() {
    let house = House::of([ships, fails, fails, fails, fails]);
    let report = house.reach(consensus()).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"));
    assert_eq!(
        summary(&report).to_string(),
        "5 eligible, 5 asked, 1 succeeded, 4 failed (`b` execution_failed, `c` execution_failed, `d` execution_failed, `e` \
         execution_failed); 1 vote required; votes 1 (`a`)"
    );
    let request = consensus().with_basis(Basis::Participants);
    let report = house.reach_with(request, RunOptions::new().with_if_completed(IfCompleted::Again)).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!(summary(&report).required, Some(3));
    assert!(report.to_string().contains("no answer has the votes"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn two_failures_count_or_not_by_the_basis() {
    // Five are asked, two fail, two agree, one differs.
    let house = House::of([ships, fails, ships, fails, waits]);
    let report = house.reach(consensus()).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"), "2 of 3");
    let request = consensus().with_basis(Basis::Participants);
    let again = || RunOptions::new().with_if_completed(IfCompleted::Again);
    let report = house.reach_with(request, again()).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!(summary(&report).votes[0].weight, 2, "2 of 5");
    let report = house.reach_with(consensus().with_minimum_successful_agents(4), again()).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert!(report.to_string().contains("too few participants succeeded"), "{report}");
    assert!(report.to_string().contains("; 4 must succeed"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_has_failed_and_is_named() {
    let house = House::answering(&["ship", "ship"]);
    let report = house.reach(consensus().with_participants(["b", "nobody", "a"])).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"));
    let summary = summary(&report);
    assert_eq!((summary.eligible, summary.asked, summary.succeeded), (3, 2, 2));
    assert_eq!(
        (&summary.failed[0].agent, summary.failed[0].code),
        (&agent("nobody"), Some(ErrorCode::AgentNotFound))
    );
    assert!(report.to_string().contains("1 failed (`nobody` agent_not_found)"), "{report}");
}

/// Fails until it is told better.
struct FailsOnce;

impl Resolver for FailsOnce {
    async fn resolve(&self, _results: Results, ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        match ctx.round() {
            1 => Err(ExecutorError::new("secret")),
            2 => panic!("secret"),
            3 => Err(ExecutorError::new("secret").with_public("no quorum table")),
            4 => Err(ExecutorError::cancelled()),
            _ => Ok(Verdict::agreed("done").by([agent("a")])),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_fails_or_panics_is_tried_again_under_the_same_id() {
    let house = House::answering(&["one", "two"]);
    let texts =
        ["resolver returned an error", "resolver panicked", "no quorum table", "resolver returned an error"];
    for (round, text) in (1..).zip(texts) {
        let report = house.reach(consensus().with_resolver(FailsOnce)).await;
        assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
        let error = report.report.error.as_ref().unwrap();
        assert_eq!((report.report.attempt, error.message()), (round, text));
        assert_eq!(error.detail(), (round < 4).then_some("secret"));
        assert_eq!(summary(&report).succeeded, 2, "what there is, is kept");
    }
    let report = house.reach(consensus().with_resolver(FailsOnce)).await;
    assert_eq!((report.text(), report.report.attempt), ("done", 5));
    assert_eq!(summary(&report).round, 5);
    assert_eq!(house.snapshot().messages().len(), 5 * 4 + 1, "each round has participants of its own");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_verdict_with_a_refused_artifact_is_none() {
    struct Twice;
    impl Resolver for Twice {
        async fn resolve(&self, _results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
            let artifact = || Artifact::text("twice", "x").unwrap();
            Ok(Verdict::agreed(TaskOutput::text("x").with_artifact(artifact()).with_artifact(artifact())))
        }
    }
    let house = House::answering(&["one", "two"]);
    let report = house.reach(consensus().with_resolver(Twice)).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ContractViolation);
    assert_eq!(house.snapshot().messages().len(), 4, "nothing of it is published");
}

#[tokio::test(start_paused = true)]
async fn two_equal_answers_decide_early_and_stop_the_third() {
    let votes: [fn() -> Step; 3] =
        [|| Step::reply("ship"), || Step::reply("ship"), || Step::cancelled().after_delay(ms(400))];
    let house = House::of(votes);
    let start = Instant::now();
    let report = house.reach(consensus().with_decide(Decide::Early)).await;
    assert_eq!((report.text(), start.elapsed()), ("ship", ms(0)));
    let summary = summary(&report);
    assert_eq!((summary.signalled.clone(), summary.asked), ([agent("c")].into(), 3));
    assert_eq!(house.team.stats().detached, 0, "it is within its grace");

    // After all takes as long as the last.
    let house = House::of([
        || Step::reply("ship"),
        || Step::reply("ship"),
        || Step::reply("ship").after_delay(ms(400)),
    ]);
    let start = Instant::now();
    assert!(house.reach(consensus()).await.is_success());
    assert_eq!(start.elapsed(), ms(400));
}

#[tokio::test(start_paused = true)]
async fn at_least_two_of_five_is_not_decided_by_two() {
    let votes: [fn() -> Step; 5] = [
        || Step::reply("A"),
        || Step::reply("A"),
        || Step::reply("B").after_delay(ms(10)),
        || Step::reply("B").after_delay(ms(20)),
        || Step::reply("B").after_delay(ms(30)),
    ];
    let house = House::of(votes);
    let start = Instant::now();
    let request = consensus().with_agreement(Agreement::AtLeast(2)).with_decide(Decide::Early);
    let report = house.reach(request).await;
    assert_eq!((report.text(), start.elapsed()), ("B", ms(30)));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_reached_any_more_ends_early_too() {
    let votes: [fn() -> Step; 4] =
        [|| Step::reply("A"), || Step::reply("B"), || Step::fail(ExecutorError::new("x")), Step::never];
    let house = House::of(votes);
    let start = Instant::now();
    let request = consensus().with_basis(Basis::Participants).with_decide(Decide::Early);
    let report = house.reach(request).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!(start.elapsed(), ms(0));
    assert_eq!(summary(&report).signalled, [agent("d")].into());
}

#[tokio::test(start_paused = true)]
async fn what_is_decided_after_all_hears_all_even_where_nothing_can_be_reached() {
    let votes: [fn() -> Step; 4] = [fails, fails, waits, || Step::reply("ship").after_delay(ms(100))];
    let house = House::of(votes);
    let start = Instant::now();
    let report = house.reach(consensus().with_basis(Basis::Participants)).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!((start.elapsed(), summary(&report).succeeded), (ms(100), 2));
}

#[tokio::test(start_paused = true)]
async fn participants_wait_for_capacity_whatever_the_task_says() {
    let slow: fn() -> Step = || Step::reply("ship").after_delay(ms(10));
    let house = House::of([slow]);
    let busy = house.team.spawn(TaskRequest::new("x").preferring("a"));
    settle().await;
    let task = question().with_capacity(CapacityPolicy::Reject);
    assert!(house.reach(ConsensusRequest::new(task)).await.is_success());
    assert!(busy.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_completed_consensus_is_recorded_as_any_task_is() {
    let house = House::answering(&["ship"]);
    let first = house.reach(consensus()).await;
    let refused = house.reach(consensus()).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(refused.summary, None);
    let recorded =
        house.reach_with(consensus(), RunOptions::new().with_if_completed(IfCompleted::Return)).await;
    assert_eq!(recorded, first, "summary and all");
    assert_eq!(house.told(), ["started", "completed", "failed"]);
    let record = house.snapshot();
    assert_eq!(record.task(&TaskId::new("c").unwrap()).unwrap().attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_recorded_verdict_is_given_whoever_is_left_but_only_to_the_same_question() {
    let house = House::answering(&["ship", "wait", "ship"]);
    let first = house.reach(consensus()).await;
    let again = || RunOptions::new().with_if_completed(IfCompleted::Return);
    for other in [
        consensus().with_participants(["b"]),
        consensus().with_agreement(Agreement::AtLeast(1)),
        consensus().with_basis(Basis::Participants),
        consensus().with_minimum_successful_agents(2),
    ] {
        assert_end(&house.reach_with(other, again()).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    }
    for agent in ["a", "b", "c"] {
        house.registry.remove(agent).unwrap();
    }
    assert_eq!(house.reach_with(consensus(), again()).await, first);
    assert_end(&house.reach(consensus()).await, TaskStatus::Blocked, ErrorCode::AgentNotFound);
    assert_end(
        &house.reach_with(ConsensusRequest::new(question().with_id("new")), again()).await,
        TaskStatus::Blocked,
        ErrorCode::AgentNotFound,
    );
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_one_agent_is_no_verdict() {
    let house = House::answering(&["ship"]);
    let report = house.team.run(question()).await.unwrap();
    assert!(report.is_success());
    let report = ConsensusReport::of(report);
    assert_eq!((report.is_success(), report.text(), &report.summary), (false, "", &None));
}

#[tokio::test(start_paused = true)]
async fn those_that_are_named_are_asked_by_id() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let voter = || {
        let asked = Arc::clone(&asked);
        FunctionExecutor::new(move |_: TaskRequest, ctx: ExecutionContext| {
            asked.lock().push(ctx.agent().to_string());
            async { Ok("ship") }
        })
    };
    let house = House::built(registry([voter(), voter(), voter()]), |builder| builder.max_parallel_tasks(1));
    assert!(house.reach(consensus().with_participants(["c", "a", "b"])).await.is_success());
    assert_eq!(*asked.lock(), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_line_names_five_and_counts_the_rest() {
    let answers = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let house = House::answering(&answers);
    let report = house.reach(consensus()).await;
    assert!(
        report.to_string().ends_with(
            "votes 1 (`a`), 1 (`b`), 1 (`c`), 1 (`d`), 1 (`e`) and 3 more answers (consensus_not_reached)"
        ),
        "{report}"
    );
    let house = House::answering(&["prose"; 8]);
    let report = house.reach(consensus().with_resolver(JsonField::new("/verdict"))).await;
    assert!(report.to_string().contains("not reached, no participant voted: "), "{report}");
    assert!(report.to_string().contains("8 without a vote (`a`, `b`, `c`, `d`, `e` and 3 more)"), "{report}");
    assert!(report.to_string().contains("; votes none"), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn early_says_what_after_all_says(
        // What each answers, nothing where it fails, and after how long.
        voters in prop::collection::vec((prop::option::weighted(0.8, 0..3_u8), 0..6_u64), 1..7),
        minimum in 1..4_usize, least in prop::option::of(1..4_u64), basis in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (minimum, least) = (minimum.min(voters.len()), least.map(|least| least.min(voters.len() as u64)));
        runtime.block_on(async {
            let steps = voters.iter().map(|&(answer, after)| {
                ScriptedExecutor::answering(move |_| match answer {
                    Some(answer) => Step::reply(answer.to_string()).after_delay(ms(after)),
                    None => Step::fail(ExecutorError::new("x")).after_delay(ms(after)),
                })
            });
            let house = House::built(registry(steps), |builder| builder);
            let agreement = least.map_or(Agreement::StrictMajority, Agreement::AtLeast);
            let basis = if basis { Basis::Participants } else { Basis::Successful };
            let ask = |id: &str, decide| {
                ConsensusRequest::new(question().with_id(id)).with_minimum_successful_agents(minimum)
                    .with_agreement(agreement).with_basis(basis).with_decide(decide)
            };
            let (start, early) = (Instant::now(), house.reach(ask("early", Decide::Early)).await);
            let took = start.elapsed();
            tokio::time::sleep(ms(10)).await;
            let (start, after_all) = (Instant::now(), house.reach(ask("all", Decide::AfterAll)).await);
            assert_eq!((early.status(), early.text()), (after_all.status(), after_all.text()));
            assert!(took <= start.elapsed());
        });
    }
}

#[tokio::test(start_paused = true)]
async fn participants_get_the_task_and_know_what_for() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let voter = || {
        let asked = Arc::clone(&asked);
        FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
            let consensus = ctx.scope().lineage().nth(1).cloned().unwrap();
            asked.lock().push((request, consensus.task, consensus.attempt));
            async { Ok("ship") }
        })
    };
    let house = House::built(registry([voter(), voter()]), |builder| builder);
    let task =
        question().with_json(&json!({"release": "1.4"})).with_metadata("team", "core").with_trace_id("t-1");
    let report = house.reach(ConsensusRequest::new(task)).await;
    assert!(report.is_success());
    assert_eq!(asked.lock().len(), 2);
    for (request, consensus, round) in asked.lock().iter() {
        assert_eq!((request.input.as_str(), &request.data), ("ship?", &Some(json!({"release": "1.4"}))));
        assert_eq!((&request.metadata["team"], consensus.as_str(), *round), (&json!("core"), "c", 1));
    }
    let traces: Vec<_> = house.sink.events().iter().filter_map(|event| event.trace_id.clone()).collect();
    assert_eq!(traces.len(), house.sink.events().len(), "the trace is in each event");
    assert_eq!(report.report.metadata["team"], json!("core"));
}

#[tokio::test(start_paused = true)]
async fn participants_wait_in_the_teams_one_line() {
    let voter = || ScriptedExecutor::answering(|_| Step::reply("ship").after_delay(ms(10)));
    let voters = std::iter::repeat_with(voter).take(6);
    let house = House::built(registry(voters), |builder| builder.max_parallel_tasks(2));
    let start = Instant::now();
    let report = house.reach(consensus()).await;
    assert!(report.is_success(), "{report}");
    assert_eq!(start.elapsed(), ms(30), "three times two, the slot of the consensus among them");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_spoilt_ballot_is_a_success_without_a_vote() {
    let json = |text: &'static str| ScriptedExecutor::answering(move |_| Step::reply(text));
    let voters =
        [json(r#"{"verdict": "ship"}"#), json("prose"), json(r#"{"verdict": "ship", "because": "tests"}"#)];
    let house = House::built(registry(voters), |builder| builder);
    let report = house.reach(consensus().with_resolver(JsonField::new("/verdict"))).await;
    assert_eq!(report.text(), "ship");
    assert_eq!(report.report.output.as_ref().unwrap().data, Some(json!("ship")));
    assert_eq!((summary(&report).succeeded, summary(&report).spoilt.clone()), (3, [agent("b")].into()));
    assert!(report.to_string().contains("1 without a vote (`b`)"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn the_record_has_no_empty_lists_and_gives_the_whole_summary() {
    let house = House::answering(&["ship", "wait", "ship"]);
    let report = house.reach(consensus()).await;
    let record = report.report.output.as_ref().unwrap().metadata["consensus"].clone();
    assert_eq!(
        record,
        json!({
            "round": 1,
            "eligible": 3,
            "asked": 3,
            "succeeded": 3,
            "minimum_successful_agents": 1,
            "required": 2,
            "votes": [
                { "text": "ship", "voters": ["a", "c"], "weight": 2 },
                { "text": "wait", "voters": ["b"], "weight": 1 },
            ],
            "voters": ["a", "c"],
        })
    );
    assert_eq!(ConsensusSummary::of(&report.report).as_ref(), report.summary.as_ref());
}

#[tokio::test(start_paused = true)]
async fn what_tells_two_consensuses_apart_is_noted_where_there_is_an_id_to_ask_for_again() {
    let house = House::answering(&["ship"]);
    let rules = |report: ConsensusReport| report.report.metadata.get("consensus_rules").is_some();
    assert!(rules(house.reach(consensus()).await));
    let unnamed = ConsensusRequest::new(TaskRequest::new("ship?").requiring("vote"));
    assert!(!rules(house.reach(unnamed).await));
}
