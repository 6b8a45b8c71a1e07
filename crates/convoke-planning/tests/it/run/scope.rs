//! In whose scope others are asked.

use std::sync::{Arc, Mutex};

use convoke_core::{Metadata, Scope};
use convoke_planning::{
    ApprovalDecision, BoxError, FunctionPlanner, Observation, Plan, PlanningRequest, Review, RunOptions,
    StepRequest,
    machine::{Finding, HookDecision, StopReason},
};

use super::support::{Act, Script, policy, with};
use crate::fixtures::{draft, step};

/// Notes who was asked, and in which scope.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Ask>>>);

struct Ask {
    who: String,
    scope: Option<Scope>,
}

impl Asked {
    fn note(&self, who: &str, step: Option<&str>) {
        let who = [Some(who), step].into_iter().flatten().collect::<Vec<_>>().join(" ");
        self.0.lock().unwrap().push(Ask { who, scope: Scope::current() });
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_asked_is_asked_in_the_scope_of_the_run() {
    let asked = Asked::default();
    let of_all: [Asked; 5] = std::array::from_fn(|_| asked.clone());
    let [plans, revises, decides, approves, reviews] = of_all;
    let planner = FunctionPlanner::new(move |_: PlanningRequest| {
        let plans = plans.clone();
        async move {
            plans.note("planner", None);
            Ok::<_, BoxError>(draft([step("a").gated(), step("b").after("a")]))
        }
    })
    .revising(move |_: Plan, observation: Observation| {
        let revises = revises.clone();
        async move {
            revises.note("planner again", Some(observation.step.as_str()));
            Ok(draft([step("a").gated()]))
        }
    });
    let hook = move |request: StepRequest| {
        let decides = decides.clone();
        async move {
            decides.note("hook", Some(request.step().id.as_str()));
            Ok::<_, BoxError>(HookDecision::Allow)
        }
    };
    let provider = move |request: StepRequest| {
        let approves = approves.clone();
        async move {
            approves.note("provider", Some(request.step().id.as_str()));
            Ok::<_, BoxError>(ApprovalDecision::Approve(Metadata::new()))
        }
    };
    let reflector = move |review: Review| {
        let reviews = reviews.clone();
        async move {
            reviews.note("reflector", Some(review.step().id.as_str()));
            Ok::<_, BoxError>(Finding::Pass)
        }
    };
    let script = Script::new().with("b", [Act::Fails]);
    let runner = with(&script, policy(|policy| policy.replanning(1)), |builder| {
        builder.planner(planner).hook(hook).approvals(provider).reflector(reflector)
    });
    let outer = Scope::root().with_trace_id(Arc::from("trace"));
    let handle = runner.start(PlanningRequest::new("goal"), RunOptions::new().in_scope(outer.clone()));
    assert_eq!(handle.await.unwrap().stop, StopReason::Completed);

    let asked = asked.0.lock().unwrap();
    let who: Vec<_> = asked.iter().map(|ask| ask.who.as_str()).collect();
    assert_eq!(who, ["planner", "hook a", "provider a", "reflector a", "hook b", "planner again b"]);
    for Ask { who, scope } in &*asked {
        let scope = scope.as_ref().unwrap_or_else(|| panic!("{who} is in no scope"));
        assert_eq!(scope.trace_id().map(|id| &**id), Some("trace"), "{who}");
        // The token is the run's own, which is signalled when that is over.
        assert!(scope.cancellation().is_cancelled(), "{who}");
    }
    assert!(!outer.cancellation().is_cancelled());
}
