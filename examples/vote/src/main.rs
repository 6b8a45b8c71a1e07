//! Five reviewers vote on three releases: one vote has a verdict, one has none and says why, and one is decided before the
//! slow ones have answered.

use std::error::Error;

use convoke::{
    SessionSnapshot,
    consensus::{Decide, JsonField},
    prelude::*,
};

/// What a reviewer thinks of a release, and why.
fn opinion(reviewer: &str, release: &str) -> (&'static str, &'static str) {
    match (reviewer, release) {
        ("ada" | "bob", "1.4") | ("ada", "1.5") => ("ship", "the tests are green"),
        ("cy", "1.4") => ("wait", "nobody is on call"),
        ("bob", "1.5") => ("wait", "one defect is open"),
        ("cy", "1.5") => ("stop", "it loses data"),
        _ => ("ship", "nothing speaks against it"),
    }
}

/// Answers with a vote and a reason. The slow ones read until they are asked to stop.
async fn review(request: TaskRequest, ctx: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
    let reviewer = ctx.agent().as_str();
    if reviewer.starts_with("slow") {
        ctx.cancellation().cancelled().await;
        return Ok(TaskOutcome::Cancelled { output: TaskOutput::default() });
    }
    let (verdict, because) = opinion(reviewer, &request.input);
    Ok(TaskOutput::from_json(&json!({ "verdict": verdict, "because": because }))?.into())
}

/// Each vote with its reason, how the vote ended, and why.
fn show(team: &TeamRuntime, report: &ConsensusReport) {
    // A consensus counts the field alone; the reasons are in the session, in what each reviewer answered.
    let snapshot = team.session(&report.report.session).map(|session| session.snapshot());
    let messages = snapshot.iter().flat_map(SessionSnapshot::messages);
    let mut votes: Vec<_> = messages
        .filter_map(|said| {
            let field = |name| said.message.data.as_ref()?.get(name)?.as_str();
            Some(format!("{}: {}, since {}", said.author, field("verdict")?, field("because")?))
        })
        .collect();
    votes.sort();
    for vote in votes {
        println!("{vote}");
    }
    println!("{report}");
    match &report.summary {
        Some(summary) if report.is_success() => {
            println!("verdict: {}, by {} votes\n", report.text(), summary.voters.len());
        }
        _ => println!("no verdict\n"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = AgentRegistry::new();
    for agent in ["ada", "bob", "cy", "slow-dee", "slow-eve"] {
        registry.add(AgentDescriptor::new(agent).with_skill("review"), FunctionExecutor::new(review))?;
    }
    let team = TeamRuntime::builder(registry).max_parallel_tasks(5).build()?;
    let ask = |release: &str| {
        let task = TaskRequest::new(release).with_id(format!("ship {release}?")).in_session(release);
        ConsensusRequest::new(task.requiring("review")).with_resolver(JsonField::new("/verdict"))
    };
    let three = ["ada", "bob", "cy"];

    // Two of three are more than half.
    let report = team.handle().reach_consensus(ask("1.4").with_participants(three)).await?;
    show(&team, &report);

    // Three opinions, none of which has more than half.
    let report = team.handle().reach_consensus(ask("1.5").with_participants(three)).await?;
    show(&team, &report);

    // Nobody is named: all five. Three that agree are more than half of five, so that the other two are stopped.
    let report = team.handle().reach_consensus(ask("1.6").with_decide(Decide::Early)).await?;
    show(&team, &report);
    Ok(())
}
