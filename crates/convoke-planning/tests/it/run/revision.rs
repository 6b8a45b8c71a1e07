//! Plans that change because of what their steps came to.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use convoke_core::Metadata;

use convoke_planning::{
    BoxError, FunctionPlanner, Observation, Plan, PlanDraft, PlanPolicyBuilder, PlanRunner, PlanningRequest,
    StepStatus,
    machine::{HookDecision, StopReason},
};

use super::support::{Act, Script, policy, with};
use crate::fixtures::{draft, plan, step};

type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A runner whose planner answers with these drafts, one after the other, and what it was asked.
fn revising(
    script: &Script,
    set: impl FnOnce(PlanPolicyBuilder) -> PlanPolicyBuilder,
    drafts: Vec<PlanDraft>,
) -> (PlanRunner, Asked) {
    let asked = Asked::default();
    let (told, drafts) = (Arc::clone(&asked), Arc::new(Mutex::new(drafts.into_iter())));
    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
            .revising(move |_: Plan, observation: Observation| {
                told.lock().unwrap().push((observation.step.to_string(), observation.refused.clone()));
                let next = drafts.lock().unwrap().next();
                async move { next.ok_or_else(|| "nothing else".into()) }
            });
    (with(script, policy(set), |builder| builder.planner(planner)), asked)
}

fn asked(asked: &Asked) -> Vec<(String, Option<String>)> {
    asked.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_makes_way_for_another() {
    let script = Script::new().with("b", [Act::Fails]);
    let other = draft([step("a"), step("c").after("a")]);
    let (runner, told) = revising(&script, |policy| policy.replanning(3), vec![other]);
    let run = runner.run_plan(plan([step("a"), step("b").after("a")])).await.unwrap();

    assert_eq!(
        (run.stop, run.plan.revision(), script.order()),
        (StopReason::Completed, 1, vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
    );
    assert_eq!(asked(&told), [("b".to_owned(), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_planner_is_asked_about_each_failure_once() {
    let script = Script::new().with("a", [Act::Fails]).with("b", [Act::Fails]);
    let steps = || [step("a"), step("b").after_end_of("a")];
    let (runner, told) = revising(
        &script,
        |policy| policy.replanning(9).continue_after_failure(),
        vec![draft(steps()), draft(steps())],
    );
    let run = runner.run_plan(plan(steps())).await.unwrap();
    assert_eq!(run.stop, StopReason::Failed);
    assert_eq!(asked(&told), [("a".to_owned(), None), ("b".to_owned(), None)]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_asked_for_once_more_with_the_reason() {
    let script = Script::new().with("b", [Act::Fails]);
    let begun = || [step("a"), step("b").after("a")];
    // Completed, and gone; then a draft that is no plan.
    let (runner, told) = revising(
        &script,
        |policy| policy.replanning(3),
        vec![draft([step("c")]), draft([step("c").after("c")])],
    );
    let run = runner.run_plan(plan(begun())).await.unwrap();
    assert_eq!((run.stop, run.plan.revision()), (StopReason::Failed, 0));
    let asked = asked(&told);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[1].1.as_deref(), Some("step `a` is completed and is gone"));
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_is_no_plan_is_asked_for_once_more() {
    let script = Script::new().with("b", [Act::Fails]);
    let drafts = vec![draft([step("a"), step("a")]), draft([step("a"), step("c")])];
    let (runner, told) = revising(&script, |policy| policy.replanning(3), drafts);
    let run = runner.run_plan(plan([step("a"), step("b").after("a")])).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    let asked = asked(&told);
    assert!(asked[1].1.as_deref().is_some_and(|why| why.contains('a')), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_denied_is_not_offered_and_what_a_planner_adds_later_is_gated() {
    let script = Script::new().with("b", [Act::Fails]);
    let more = draft([step("a"), step("b"), step("c")]);
    let planner_drafts = vec![more];
    let (runner, told) = {
        let told = Asked::default();
        let (count, drafts) = (Arc::clone(&told), Arc::new(Mutex::new(planner_drafts.into_iter())));
        let planner =
            FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
                .revising(move |_: Plan, observation: Observation| {
                    count.lock().unwrap().push((observation.step.to_string(), None));
                    let next = drafts.lock().unwrap().next();
                    async move { next.ok_or_else(|| "nothing else".into()) }
                });
        let hook = |request: convoke_planning::StepRequest| async move {
            Ok::<_, BoxError>(match request.step().id.as_str() {
                "a" => HookDecision::Deny { reason: "no".to_owned() },
                _ => HookDecision::Allow,
            })
        };
        let policy = policy(|policy| policy.replanning(9).continue_after_failure());
        (with(&script, policy, |builder| builder.planner(planner).hook(hook)), told)
    };
    let run = runner.run_plan(plan([step("a"), step("b")])).await.unwrap();
    assert_eq!(asked(&told), [("b".to_owned(), None)], "the denied one is not offered");
    assert_eq!(
        (run.step("c").unwrap().status, run.pending.len()),
        (StepStatus::Pending, 1),
        "what is added is gated"
    );
}

#[tokio::test(start_paused = true)]
async fn a_planner_that_panics_leaves_the_failure() {
    let script = Script::new().with("a", [Act::Fails]);
    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
            .revising(|_: Plan, _: Observation| async {
                assert!(std::hint::black_box(false), "it panics");
                Err("never".into())
            });
    let runner = with(&script, policy(|policy| policy.replanning(1)), |builder| builder.planner(planner));
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!((run.stop, run.failed), (StopReason::Failed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_remembered_though_its_step_is_gone() {
    for second in [vec![step("b2")], vec![step("a").with_input("another"), step("b2")]] {
        let script = Script::new().with("b", [Act::Fails]).with("b2", [Act::Fails]);
        let last = second.iter().cloned().chain([step("late")]).collect::<Vec<_>>();
        let drafts = Arc::new(Mutex::new([draft(second), draft(last)].into_iter()));
        let planner =
            FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
                .revising(move |_: Plan, _: Observation| {
                    let next = drafts.lock().unwrap().next();
                    async move { next.ok_or_else(|| "nothing else".into()) }
                });
        let hook = |request: convoke_planning::StepRequest| async move {
            Ok::<_, BoxError>(match request.step().id.as_str() {
                "a" => HookDecision::Deny { reason: "no".to_owned() },
                _ => HookDecision::Allow,
            })
        };
        let grants = |_: convoke_planning::StepRequest| async {
            Ok::<_, BoxError>(convoke_planning::ApprovalDecision::Later)
        };
        let policy = policy(|policy| policy.replanning(9).continue_after_failure());
        let runner = with(&script, policy, |builder| builder.planner(planner).hook(hook).approvals(grants));
        let run = runner.run_plan(plan([step("a"), step("b")])).await.unwrap();
        // Whatever took the place of the denied step, or was added after it, waits for somebody.
        assert_eq!(
            script.order(),
            ["b"],
            "{:?}",
            run.plan.steps().iter().map(|step| &step.id).collect::<Vec<_>>()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_planner_that_has_no_answer_is_not_asked_again() {
    let script = Script::new().with("a", [Act::Fails]);
    let (runner, told) = revising(&script, |policy| policy.replanning(9), vec![]);
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!((run.stop, asked(&told).len()), (StopReason::Failed, 1));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_any_more_about_what_a_revision_has_taken_out() {
    struct Asked(Arc<AtomicUsize>);
    impl Drop for Asked {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let (under_way, most_left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(99)));
    let script = Script::new().with("b", [Act::Fails]);
    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
            .revising(|_: Plan, _: Observation| async { Ok(draft([step("last").gated()])) });
    let (count, left) = (Arc::clone(&under_way), Arc::clone(&most_left));
    let people = move |request: convoke_planning::StepRequest| {
        let (count, left) = (Arc::clone(&count), Arc::clone(&left));
        async move {
            if request.step().id.as_str() == "last" {
                left.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
                return Ok::<_, BoxError>(convoke_planning::ApprovalDecision::Approve(Metadata::new()));
            }
            count.fetch_add(1, Ordering::Relaxed);
            let _asked = Asked(count);
            std::future::pending().await
        }
    };
    let set = policy(|policy| policy.replanning(1));
    let runner = with(&script, set, |builder| builder.planner(planner).approvals(people));
    // As many as are asked at once, so that whoever comes later waits for a place among them.
    let gated = (0..16).map(|n| step(format!("g{n}")).gated());
    let run = runner.run_plan(plan(gated.chain([step("b")])));
    let run = tokio::time::timeout(std::time::Duration::from_mins(1), run).await.expect("it ends").unwrap();
    assert_eq!((run.stop, most_left.load(Ordering::Relaxed)), (StopReason::Completed, 0));
}
