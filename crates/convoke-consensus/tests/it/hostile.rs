//! Resolvers that do not keep to their contract: the consensus fails, and says which part.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use convoke_consensus::{ConsensusRequest, Resolver, ResolverContext, Results, Verdict};
use convoke_core::{AgentDescriptor, ErrorCode, ExecutorError, TaskRequest, TaskStatus};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, consensus, ms, question, summary};

/// What is wrong with a resolver.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Stranger,
    FailedVoter,
    PanicsAtOnce,
    ErrorPanics,
    FailsInTheGrace,
    FutureCannotBeDropped,
    CannotBeDropped,
    TalksTooMuch,
    AsksInVain,
}

struct Bad(Wrong);

/// An error that has no text.
#[derive(Debug)]
struct Untold;

impl fmt::Display for Untold {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("secret")
    }
}

impl std::error::Error for Untold {}

/// A future that never ends, and panics when it is dropped.
struct Stuck;

impl Future for Stuck {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        panic!("secret");
    }
}

impl Resolver for Bad {
    fn resolve(
        &self,
        _results: Results,
        ctx: ResolverContext,
    ) -> impl Future<Output = Result<Verdict, ExecutorError>> + Send {
        let wrong = self.0;
        assert!(wrong != Wrong::PanicsAtOnce, "secret");
        async move {
            match wrong {
                Wrong::Stranger => Ok(Verdict::agreed("x").by([agent("a"), agent("stranger")])),
                Wrong::FailedVoter => Ok(Verdict::agreed("x").by([agent("c")])),
                Wrong::ErrorPanics => Err(Untold.into()),
                Wrong::FailsInTheGrace => Err(ExecutorError::new("table is broken")),
                Wrong::TalksTooMuch => Ok(Verdict::not_reached("ä".repeat(5_000))),
                Wrong::AsksInVain => {
                    let report = ctx.team().run(TaskRequest::new("x").preferring("slow")).await?;
                    Ok(Verdict::agreed(report.into_result()?))
                }
                Wrong::FutureCannotBeDropped => {
                    Stuck.await;
                    Ok(Verdict::agreed("x"))
                }
                Wrong::CannotBeDropped | Wrong::PanicsAtOnce => Ok(Verdict::agreed("x").by([agent("a")])),
            }
        }
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(self.0 != Wrong::CannotBeDropped, "secret");
    }
}

/// Two that answer, one that fails, and one that nobody asks for a vote, which stops when it is asked to.
fn house() -> House {
    let steps: [fn() -> Step; 3] =
        [|| Step::reply("one"), || Step::reply("two"), || Step::fail(ExecutorError::new("broken"))];
    let house = House::of(steps);
    let slow = ScriptedExecutor::answering(|_| Step::cancelled());
    house.registry.add(AgentDescriptor::new("slow"), slow).unwrap();
    house
}

async fn with(wrong: Wrong) -> convoke_consensus::ConsensusReport {
    let house = house();
    let request = ConsensusRequest::new(question().with_timeout(ms(400))).with_resolver(Bad(wrong));
    let report = house.reach(request).await;
    house.assert_rest();
    assert_eq!(summary(&report).succeeded, 2, "what there is, is kept");
    report
}

#[tokio::test(start_paused = true)]
async fn a_verdict_rests_on_participants_that_succeeded() {
    for (wrong, who) in [(Wrong::Stranger, "stranger"), (Wrong::FailedVoter, "c")] {
        let report = with(wrong).await;
        assert_end(&report, TaskStatus::Failed, ErrorCode::ContractViolation);
        let text = format!("resolver rests its verdict on `{who}`, which did not succeed");
        assert_eq!(report.error().unwrap().message(), text);
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_panics_is_the_resolvers_failure() {
    for wrong in [Wrong::PanicsAtOnce, Wrong::ErrorPanics] {
        let report = with(wrong).await;
        assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
        let error = report.error().unwrap();
        assert_eq!((error.message(), error.detail()), ("resolver panicked", Some("secret")));
    }
}

#[tokio::test(start_paused = true)]
async fn what_panics_when_it_is_dropped_changes_nothing() {
    let report = with(Wrong::FutureCannotBeDropped).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    let report = with(Wrong::CannotBeDropped).await;
    assert_eq!((report.is_success(), report.text()), (true, "x"));
}

#[tokio::test(start_paused = true)]
async fn a_reason_is_cut_where_it_is_long() {
    let report = with(Wrong::TalksTooMuch).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    let text = report.error().unwrap().message();
    assert_eq!(text.matches('ä').count(), 500, "two bytes each");
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_in_vain_at_the_deadline_has_timed_out_and_an_error_of_its_own_has_not() {
    let report = with(Wrong::AsksInVain).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(report.error().unwrap().message().starts_with("deadline passed"), "{report}");

    // The last vote comes in the grace, and then the resolver fails by itself.
    let steps: [fn() -> Step; 2] = [|| Step::reply("one"), || Step::reply("two").after_delay(ms(360))];
    let house = House::of(steps);
    let request =
        ConsensusRequest::new(question().with_timeout(ms(400))).with_resolver(Bad(Wrong::FailsInTheGrace));
    let report = house.reach(request).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
    assert_eq!(report.error().unwrap().detail(), Some("table is broken"));
    assert_eq!(house.reach(consensus()).await.report.attempt, 2, "its id is free");
}
