//! What observers, sinks and followers are told, and what they are not.

use std::sync::{Arc, Mutex};

use convoke_core::{Artifact, ExecutorError, Metadata, PlanId, TaskOutput};
use convoke_journal::MemoryJournal;
use convoke_observability::{MemorySink, ObserverError};
use convoke_planning::{
    ApprovalDecision, Backoff, BoxError, FunctionPlanner, FunctionStepExecutor, Observation, Plan, PlanDraft,
    PlanEvent, PlanObserver, PlanPolicy, PlanPolicyBuilder, PlanRun, PlanRunner, PlanRunnerBuilder,
    PlanUpdate, PlanningRequest, Review, RunOptions, StepContext, StepDraft, StepOutcome, StepRequest,
    machine::{Finding, HookDecision, PendingKind, Question, StopReason},
};
use proptest::prelude::*;
use serde_json::json;

use super::support::{Act, Script, ms, policy, with};
use crate::{
    fixtures::{draft, plan, step},
    generated::text,
};

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

/// Notes what it is told, in few words.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl PlanObserver for Ear {
    fn observe(&self, event: &PlanEvent) -> Result<(), ObserverError> {
        let step = event.step.as_ref().map(ToString::to_string);
        let attempt = event.attempt.map(|attempt| attempt.to_string());
        let code = event.code.map(|code| code.to_string());
        let why = event.stop.map(|stop| stop.to_string());
        let words = [Some(event.kind.as_str().to_owned()), step, attempt, code, why];
        self.0.lock().unwrap().push(words.into_iter().flatten().collect::<Vec<_>>().join(" "));
        Ok(())
    }
}

/// What is told of one run of some steps.
async fn told(
    script: Script,
    rules: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder,
    more: impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder,
    steps: impl IntoIterator<Item = StepDraft>,
) -> Vec<String> {
    let ear = Ear::default();
    let runner = with(&script, policy(rules), |builder| more(builder.observer(ear.clone())));
    let run = runner.run_plan(plan(steps)).await.unwrap();
    assert_eq!(run.observer_failures, 0);
    ear.heard()
}

fn as_it_is<T>(it: T) -> T {
    it
}

fn finds(finding: Finding) -> impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder {
    move |builder| {
        builder.reflector(move |review: Review| {
            let finding = if review.attempt == 1 { finding.clone() } else { Finding::Pass };
            async move { Ok::<_, BoxError>(finding) }
        })
    }
}

fn decides(decision: HookDecision) -> impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder {
    move |builder| {
        builder.hook(move |_: StepRequest| {
            let decision = decision.clone();
            async move { Ok::<_, BoxError>(decision) }
        })
    }
}

fn answers(decision: ApprovalDecision) -> impl FnOnce(PlanRunnerBuilder) -> PlanRunnerBuilder {
    move |builder| {
        builder.approvals(move |_: StepRequest| {
            let decision = decision.clone();
            async move { Ok::<_, BoxError>(decision) }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_becomes_of_a_step_is_told_in_order() {
    let one = || [step("a")];
    let acts = |acts: &[Act]| Script::new().with("a", acts.to_vec());

    assert_eq!(
        told(acts(&[Act::Done]), as_it_is, as_it_is, one()).await,
        ["created", "step_ready a", "step_started a 1", "step_completed a 1", "finished completed"]
    );
    assert_eq!(
        told(acts(&[Act::Fails]), as_it_is, as_it_is, one()).await,
        [
            "created",
            "step_ready a",
            "step_started a 1",
            "step_failed a 1 execution_failed",
            "finished failed"
        ]
    );
    assert_eq!(
        told(acts(&[Act::Panics, Act::Done]), |policy| policy.max_attempts(2), as_it_is, one()).await,
        [
            "created",
            "step_ready a",
            "step_started a 1",
            "attempt_failed a 1 executor_panicked",
            "step_ready a",
            "step_started a 2",
            "step_completed a 2",
            "finished completed"
        ]
    );
    // At once, the next attempt is decided before the failure is told.
    let at_once = |policy: PlanPolicyBuilder| policy.max_attempts(2).backoff(Backoff::none());
    assert_eq!(
        told(acts(&[Act::Fails, Act::Done]), at_once, as_it_is, one()).await,
        [
            "created",
            "step_ready a",
            "step_started a 1",
            "attempt_failed a 1 execution_failed",
            "step_ready a",
            "step_started a 2",
            "step_completed a 2",
            "finished completed"
        ]
    );
    assert_eq!(
        told(acts(&[Act::Blocked { retryable: false }]), as_it_is, as_it_is, one()).await,
        [
            "created",
            "step_ready a",
            "step_started a 1",
            "step_blocked a 1 execution_blocked",
            "finished blocked"
        ]
    );
    assert_eq!(
        told(acts(&[Act::Slow(ms(50))]), |policy| policy.step_timeout(ms(20)), as_it_is, one()).await,
        ["created", "step_ready a", "step_started a 1", "step_timed_out a 1 step_timeout", "finished failed"]
    );
    assert_eq!(
        told(acts(&[Act::Asks]), as_it_is, as_it_is, one()).await,
        ["created", "step_ready a", "step_started a 1", "question_asked a 1", "finished approval_required"]
    );
    assert_eq!(
        told(acts(&[Act::Deaf(ms(900))]), |policy| policy.run_timeout(ms(20)), as_it_is, one()).await,
        ["created", "step_ready a", "step_started a 1", "step_detached a 1", "finished run_timeout"]
    );
    assert_eq!(
        told(acts(&[Act::Slow(ms(900))]), |policy| policy.run_timeout(ms(20)), as_it_is, one()).await,
        ["created", "step_ready a", "step_started a 1", "step_released a 1", "finished run_timeout"]
    );
    let two = [step("a"), step("b").after("a")];
    assert_eq!(
        told(acts(&[Act::Fails]), PlanPolicyBuilder::continue_after_failure, as_it_is, two).await,
        [
            "created",
            "step_ready a",
            "step_started a 1",
            "step_failed a 1 execution_failed",
            "step_skipped b",
            "finished failed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn gates_are_told_of() {
    let gated = || [step("a").gated()];
    let before = ["created", "step_ready a", "approval_required a"];
    let then = |rest: &[&'static str]| [&before[..], rest].concat();

    assert_eq!(told(Script::new(), as_it_is, as_it_is, gated()).await, then(&["finished approval_required"]));
    let granted = answers(ApprovalDecision::Approve(Metadata::new()));
    assert_eq!(
        told(Script::new(), as_it_is, granted, gated()).await,
        then(&["approved a", "step_started a 1", "step_completed a 1", "finished completed"])
    );
    let denied = answers(ApprovalDecision::Deny("no".to_owned()));
    assert_eq!(
        told(Script::new(), as_it_is, denied, gated()).await,
        then(&["step_blocked a denied", "finished blocked"])
    );
    let later = answers(ApprovalDecision::Later);
    assert_eq!(told(Script::new(), as_it_is, later, gated()).await, then(&["finished approval_required"]));
    let hooked = decides(HookDecision::Deny { reason: "no".to_owned() });
    assert_eq!(
        told(Script::new(), as_it_is, hooked, [step("a")]).await,
        ["created", "step_ready a", "step_blocked a denied", "finished blocked"]
    );
    let asks = decides(HookDecision::RequireApproval);
    assert_eq!(told(Script::new(), as_it_is, asks, [step("a")]).await, then(&["finished approval_required"]));
}

#[tokio::test(start_paused = true)]
async fn what_a_reflector_finds_is_told_where_it_does_not_just_pass() {
    let before = ["created", "step_ready a", "step_started a 1"];
    let check = |finding: Finding, attempts: u32, rest: Vec<&'static str>| async move {
        let heard =
            told(Script::new(), |policy| policy.max_attempts(attempts), finds(finding.clone()), [step("a")]);
        assert_eq!(heard.await, [&before[..], &rest].concat(), "{finding:?}");
    };
    check(Finding::Pass, 1, vec!["step_completed a 1", "finished completed"]).await;
    let revised = vec!["step_reflected a 1", "step_completed a 1", "finished completed"];
    check(Finding::Revise("better".to_owned()), 1, revised).await;
    let again = vec![
        "step_reflected a 1",
        "step_ready a",
        "step_started a 2",
        "step_completed a 2",
        "finished completed",
    ];
    check(Finding::Retry("again".to_owned()), 2, again).await;
    let failed = vec!["step_reflected a 1", "step_failed a 1 rejected", "finished failed"];
    check(Finding::Retry("again".to_owned()), 1, failed.clone()).await;
    check(Finding::Replan("else".to_owned()), 1, failed).await;
    let blocked = vec!["step_reflected a 1", "step_blocked a 1 rejected", "finished blocked"];
    check(Finding::Block("never".to_owned()), 1, blocked).await;
}

#[tokio::test(start_paused = true)]
async fn revisions_are_told_of() {
    let before = ["created", "step_ready a", "step_started a 1", "step_failed a 1 execution_failed"];
    let planner = |draft: Option<PlanDraft>| {
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("never".into()) })
            .revising(move |_: Plan, _: Observation| {
                let draft = draft.clone();
                async move { draft.ok_or_else(|| BoxError::from("no idea")) }
            })
    };
    let script = Script::new().with("a", [Act::Fails]);
    let replanning = |policy: PlanPolicyBuilder| policy.replanning(1);
    let failed =
        told(script.clone(), replanning, |builder| builder.planner(planner(None)), [step("a")]).await;
    assert_eq!(failed, [&before[..], &["revision_asked a", "revision_failed a", "finished failed"]].concat());
    let other = planner(Some(draft([step("b")])));
    let revised = told(script, replanning, |builder| builder.planner(other), [step("a")]).await;
    let rest = [
        "revision_asked a",
        "revised",
        "step_ready b",
        "step_started b 1",
        "step_completed b 1",
        "finished completed",
    ];
    assert_eq!(revised, [&before[..], &rest].concat());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_says_so_before_it_is_finished() {
    let ear = Ear::default();
    let script = Script::new().with("a", [Act::Slow(ms(500))]);
    let runner = with(&script, PlanPolicy::default(), |builder| builder.observer(ear.clone()));
    let handle = runner.start(plan([step("a")]), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    handle.cancel();
    handle.await.unwrap();
    let rest = ["step_released a 1", "cancelled cancelled", "finished cancelled"];
    assert_eq!(ear.heard(), [&["created", "step_ready a", "step_started a 1"][..], &rest].concat());
}

#[tokio::test(start_paused = true)]
async fn a_kept_plan_tells_what_is_durable_and_what_came_before() {
    let (ear, journal) = (Ear::default(), MemoryJournal::new());
    let script = Script::new().with("a", [Act::Asks]);
    let runner = with(&script, PlanPolicy::default(), |builder| {
        builder.observer(ear.clone()).journal(journal.clone())
    });
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!(
        ear.heard(),
        [
            "created",
            "step_ready a",
            "checkpointed",
            "step_started a 1",
            "question_asked a 1",
            "checkpointed",
            "finished approval_required"
        ]
    );
    let PendingKind::Question { start, .. } = run.pending[0].kind else { panic!("{:?}", run.pending) };
    runner.answer(&id(), start, "this one").await.unwrap();
    runner.resume(&id()).await.unwrap();
    assert_eq!(
        ear.heard(),
        [
            "question_answered a",
            "resumed",
            "step_ready a",
            "checkpointed",
            "step_started a 1",
            "step_completed a 1",
            "checkpointed",
            "finished completed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn observers_that_fail_are_counted_and_sinks_and_followers_hear_all_the_same() {
    let (ear, sink) = (Ear::default(), MemorySink::unlimited());
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| {
        let panics = |_: &PlanEvent| panic!("not for me");
        builder.observer(panics).observer(ear.clone()).event_sink(sink.clone())
    });
    let handle = runner.start(plan([step("a")]), RunOptions::new());
    let mut updates = handle.updates();
    let run = handle.await.unwrap();
    let heard = ear.heard();
    assert_eq!((run.stop, run.observer_failures), (StopReason::Completed, heard.len() as u64));
    assert_eq!(sink.len(), heard.len());
    let mut followed = 0;
    while updates.next().await.is_some() {
        followed += 1;
    }
    assert_eq!(followed, heard.len());
}

/// A plan whose every text is this one.
fn plan_of(secret: &str) -> PlanDraft {
    let content = |text: &str| json!({ "text": text });
    let names =
        ["fails", "panics", "blocked", "asks", "done", "hooked", "gated", "denied", "revised", "rejected"];
    let steps = names.map(|name| {
        let step = StepDraft::new(name).titled(secret).described(secret).with_input(secret);
        let step = step.with_data(content(secret)).with_metadata("note", secret);
        if matches!(name, "gated" | "denied") { step.gated() } else { step }
    });
    let mut draft = PlanDraft::new(secret).with_id("plan").with_steps(steps).with_metadata("note", secret);
    draft = draft.with_step(StepDraft::new("after").titled(secret).input_from("done").after_end_of("fails"));
    draft.with_artifact(Artifact::text("given", secret).unwrap())
}

/// All the ways of a text into a run, the marker in each.
async fn with_content(secret: &str) -> (String, Vec<PlanRun>) {
    let (sink, events) = (MemorySink::unlimited(), Arc::new(Mutex::new(Vec::new())));
    let of_executor = secret.to_owned();
    let executor = FunctionStepExecutor::new(move |_, ctx: StepContext| {
        let secret = of_executor.clone();
        async move {
            ctx.progress(0.5, secret.clone());
            match ctx.step().id.as_str() {
                "fails" => Err(ExecutorError::new(secret.clone()).with_public(secret)),
                "panics" => std::panic::panic_any(secret),
                "blocked" => Ok(StepOutcome::blocked(secret)),
                "asks" if ctx.answer().is_none() => Ok(StepOutcome::Asked(Question::new(secret))),
                _ => {
                    let artifact =
                        Artifact::text("report", secret.clone()).unwrap().with_media_type(secret.clone());
                    Ok(StepOutcome::from(TaskOutput::text(secret).with_artifact(artifact)))
                }
            }
        }
    });
    let texts: [String; 4] = std::array::from_fn(|_| secret.to_owned());
    let [of_hook, of_provider, of_reflector, of_planner] = texts;
    let into = Arc::clone(&events);
    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("never".into()) })
            .revising(move |_: Plan, _: Observation| {
                let secret = of_planner.clone();
                async move { Err::<PlanDraft, BoxError>(secret.into()) }
            });
    let runner = PlanRunner::builder()
        .executor(executor)
        .policy(policy(|policy| policy.max_attempts(2).continue_after_failure().replanning(2)))
        .planner(planner)
        .hook(move |request: StepRequest| {
            let secret = of_hook.clone();
            let is_denied = request.step().id.as_str() == "hooked";
            async move {
                Ok::<_, BoxError>(if is_denied {
                    HookDecision::Deny { reason: secret }
                } else {
                    HookDecision::Allow
                })
            }
        })
        .approvals(move |request: StepRequest| {
            let secret = of_provider.clone();
            async move {
                Ok::<_, BoxError>(match request.step().id.as_str() {
                    "denied" => ApprovalDecision::Deny(secret),
                    _ => ApprovalDecision::Approve([("by".to_owned(), json!(secret))].into_iter().collect()),
                })
            }
        })
        .reflector(move |review: Review| {
            let secret = of_reflector.clone();
            async move {
                Ok::<_, BoxError>(match review.step().id.as_str() {
                    "revised" => Finding::Revise(secret),
                    "rejected" if review.attempt == 1 => Finding::Retry(secret),
                    "rejected" => Finding::Block(secret),
                    _ => Finding::Pass,
                })
            }
        })
        .journal(MemoryJournal::new())
        .observer(move |event: &PlanEvent| into.lock().unwrap().push(format!("{event:?}")))
        .event_sink(sink.clone())
        .build()
        .unwrap();
    let plan = convoke_planning::PlanValidator::default().validate(plan_of(secret)).unwrap();
    let handle = runner.start(plan, RunOptions::new());
    let mut updates = handle.updates();
    let first = handle.await.unwrap();
    for pending in &first.pending {
        if let PendingKind::Question { start, .. } = pending.kind {
            runner.answer(&id(), start, secret).await.unwrap();
        }
    }
    let second = runner.resume(&id()).await.unwrap();
    let mut all = events.lock().unwrap().clone();
    for event in sink.events() {
        all.push(format!("{event:?}"));
        all.push(serde_json::to_string(&event).unwrap());
    }
    while let Some(update) = updates.next().await {
        if let PlanUpdate::Event(event) = update {
            all.push(format!("{event:?}"));
        }
    }
    (all.join("\n"), vec![first, second])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_content_is_told(before in text(), marker in "[a-z]{4}[0-9]{12}[a-z]{4}", after in text()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let secret = format!("{before}{marker}{after}");
        let (told, runs) = runtime.unwrap().block_on(with_content(&secret));
        prop_assert!(!told.contains(&marker), "{told}");
        // It went all those ways.
        let last = &runs[1];
        prop_assert_eq!((last.completed, last.failed, last.blocked), (5, 2, 4), "{:?}", last.steps);
        let kept = format!("{runs:?}");
        prop_assert!(kept.contains(&marker));
    }
}
