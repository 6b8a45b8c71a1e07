//! The suite for resolvers: who breaks a rule is found. Those that ship run it in their own tests.

use std::sync::atomic::{AtomicUsize, Ordering};

use convoke_consensus::{Answer, Counting, Resolver, ResolverContext, Results, Verdict};
use convoke_core::{AgentId, ExecutorError, TaskOutput};
use convoke_registry::TeamHandle;
use convoke_testkit::conformance;

fn answers() -> [(AgentId, TaskOutput); 3] {
    ["a", "b", "c"].map(|agent| (AgentId::new(agent).unwrap(), TaskOutput::text("ship")))
}

async fn check(resolver: impl Resolver) {
    conformance::resolver(&resolver, &TeamHandle::closed(), answers()).await;
}

/// Decides by a function of the results and of how often it was asked.
struct Odd<F>(AtomicUsize, F);

impl<F> Odd<F> {
    fn new(decide: F) -> Self {
        Self(AtomicUsize::new(0), decide)
    }
}

impl<F> Resolver for Odd<F>
where
    F: Fn(&Results, usize) -> Result<Verdict, ExecutorError> + Send + Sync + 'static,
{
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        (self.1)(&results, self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn first(results: &Results) -> Verdict {
    match results.successes().next() {
        Some((agent, output)) => Verdict::agreed(output.clone()).by([agent.clone()]),
        None => Verdict::not_reached("nobody answered"),
    }
}

#[tokio::test]
async fn one_that_holds_it_all_passes() {
    check(Odd::new(|results: &Results, _| Ok(first(results)))).await;
    // An error each time is no verdict, and the same each time.
    check(Odd::new(|_: &Results, _| Err(ExecutorError::new("no")))).await;
}

#[tokio::test]
#[should_panic(expected = "the same results give another verdict")]
async fn one_that_decides_by_chance_is_found() {
    check(Odd::new(|results: &Results, call: usize| Ok(first(results).with_note("call", call.to_string()))))
        .await;
}

#[tokio::test]
#[should_panic(expected = "the same results give another verdict")]
async fn one_that_fails_at_times_is_found() {
    check(Odd::new(
        |results: &Results, call| {
            if call == 5 { Err(ExecutorError::new("five")) } else { Ok(first(results)) }
        },
    ))
    .await;
}

#[tokio::test]
#[should_panic(expected = "is no participant that succeeded")]
async fn one_that_lists_who_failed_is_found() {
    check(Odd::new(|results: &Results, _| {
        Ok(first(results).by(results.iter().map(|(agent, _)| agent.clone())))
    }))
    .await;
}

#[tokio::test]
#[should_panic(expected = "all failed, and there is a verdict")]
async fn one_that_decides_on_nothing_is_found() {
    check(Odd::new(|_: &Results, _| Ok(Verdict::agreed("ship")))).await;
}

#[tokio::test]
#[should_panic(expected = "an output that is no JSON")]
async fn one_that_stumbles_over_an_output_is_found() {
    check(Odd::new(|results: &Results, _| {
        let is_empty = results.successes().any(|(_, output)| output.text.is_empty());
        assert!(!is_empty, "an output that is no JSON");
        Ok(first(results))
    }))
    .await;
}

/// Counts by one rule, and decides by another.
struct TwoMinds<F>(F);

impl<F: Fn() -> Option<Counting> + Send + Sync + 'static> Resolver for TwoMinds<F> {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(first(&results))
    }

    fn counting(&self) -> Option<Counting> {
        (self.0)()
    }
}

#[tokio::test]
#[should_panic(expected = "and the count gives")]
async fn one_that_resolves_otherwise_than_it_counts_is_found() {
    check(TwoMinds(|| Some(Counting::new(|output| Some(Answer::of(output)))))).await;
}

#[tokio::test]
#[should_panic(expected = "is not read the same each time")]
async fn one_that_reads_by_chance_is_found() {
    let calls = AtomicUsize::new(0);
    check(TwoMinds(move || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        Some(Counting::new(move |_| Some(Answer::text(call.to_string()))))
    }))
    .await;
}

#[tokio::test]
#[should_panic(expected = "`a` does not weigh the same each time")]
async fn one_that_weighs_by_chance_is_found() {
    let calls = AtomicUsize::new(0);
    check(TwoMinds(move || {
        let call = u32::try_from(calls.fetch_add(1, Ordering::Relaxed)).unwrap();
        Some(Counting::new(|output| Some(Answer::of(output))).weighing(move |_| call))
    }))
    .await;
}

#[tokio::test]
#[should_panic(expected = "it counts at times")]
async fn one_that_counts_at_times_is_found() {
    let calls = AtomicUsize::new(0);
    check(TwoMinds(move || {
        let is_odd = calls.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        is_odd.then(|| Counting::new(|output| Some(Answer::of(output))))
    }))
    .await;
}

/// Takes nobody.
struct Closed;

impl Resolver for Closed {
    async fn resolve(&self, _results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(Verdict::not_reached("closed"))
    }

    fn check(
        &self,
        _participants: &[AgentId],
        _team: &TeamHandle,
    ) -> Result<(), std::borrow::Cow<'static, str>> {
        Err("closed".into())
    }
}

#[tokio::test]
#[should_panic(expected = "are refused: Err(\"closed\")")]
async fn participants_that_are_refused_are_told() {
    check(Closed).await;
}

#[tokio::test]
#[should_panic(expected = "was given 0 answers; give it 2 or more")]
async fn too_few_answers_are_told() {
    conformance::resolver(&Closed, &TeamHandle::closed(), []).await;
}
