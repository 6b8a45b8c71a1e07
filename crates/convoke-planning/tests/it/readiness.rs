use proptest::{collection::vec, prelude::*};

use convoke_planning::{
    Plan, PlanValidator, Readiness,
    StepStatus::{self, *},
    TransitionError, Wait,
};

use crate::{
    fixtures::{at, draft, id, plan, step},
    generated::{self, Edges},
};

fn ready<'p>(plan: &'p Plan, readiness: &Readiness) -> Vec<&'p str> {
    plan.indices().filter(|step| readiness.is_ready(*step)).map(|step| id(plan, step)).collect()
}

fn end(plan: &Plan, readiness: &mut Readiness, step: &str, status: StepStatus) {
    readiness.set(plan, at(plan, step), Running).unwrap();
    readiness.set(plan, at(plan, step), status).unwrap();
}

#[test]
fn after_a_step_exactly_those_are_ready_that_waited_for_it_alone() {
    // E is reached from A through B alone.
    let plan = plan([step("E").after("B"), step("A"), step("B").after("A")]);
    let mut readiness = Readiness::new(&plan);
    assert_eq!(ready(&plan, &readiness), ["A"]);
    end(&plan, &mut readiness, "A", Completed);
    assert_eq!(ready(&plan, &readiness), ["B"]);
}

#[test]
fn an_end_satisfies_who_waits_for_the_end_and_bars_who_waits_for_completion() {
    for status in [Failed, Blocked] {
        let plan = plan([
            step("a"),
            step("strict").after("a"),
            step("any").after_end_of("a"),
            step("fed").input_from("a"),
        ]);
        let mut readiness = Readiness::new(&plan);
        end(&plan, &mut readiness, "a", status);
        assert_eq!(ready(&plan, &readiness), ["any"]);
        let barred: Vec<_> =
            plan.indices().filter(|step| readiness.is_barred(*step)).map(|step| id(&plan, step)).collect();
        assert_eq!(barred, ["strict", "fed"]);

        // Tried again, it is as if it had not ended.
        readiness.set(&plan, at(&plan, "a"), Pending).unwrap();
        assert_eq!(ready(&plan, &readiness), ["a"]);
        assert!(!readiness.is_barred(at(&plan, "strict")));
        end(&plan, &mut readiness, "a", Completed);
        assert_eq!(ready(&plan, &readiness), ["strict", "any", "fed"]);
    }
}

#[test]
fn a_way_that_a_step_cannot_go_changes_nothing() {
    let plan = plan([step("a"), step("b").after("a")]);
    let mut readiness = Readiness::new(&plan);
    let error = readiness.set(&plan, at(&plan, "a"), Completed).unwrap_err();
    assert_eq!(error.to_string(), "step `a` is pending and cannot become completed");
    assert_eq!(ready(&plan, &readiness), ["a"]);

    let other = crate::fixtures::plan([step("a"), step("b"), step("c")]);
    let error = readiness.set(&plan, at(&other, "c"), Running).unwrap_err();
    assert!(matches!(error, TransitionError::UnknownStep { .. }), "{error}");
    assert_eq!(error.to_string(), "plan `plan` has no step at place 2; take places from the plan at hand");
}

/// The rule, read from the statuses of all steps.
fn ready_by_rule(edges: &Edges, statuses: &[StepStatus], step: usize) -> bool {
    statuses[step] == Pending
        && edges[step].iter().all(|(source, wait)| match wait {
            Wait::Completed => statuses[*source] == Completed,
            Wait::Ended => statuses[*source].is_terminal(),
        })
}

fn barred_by_rule(edges: &Edges, statuses: &[StepStatus], step: usize) -> bool {
    statuses[step] == Pending
        && edges[step].iter().any(|(source, wait)| {
            *wait == Wait::Completed && statuses[*source].is_terminal() && statuses[*source] != Completed
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Any graph, any steps in any order, allowed or not: the table says what the rule says, and what a change woke is
    /// among the dependents.
    #[test]
    fn the_table_is_the_rule(
        edges in generated::edges(12),
        moves in vec((any::<prop::sample::Index>(), prop::sample::select(StepStatus::ALL)), 0..60),
    ) {
        let plan = PlanValidator::default().validate(draft(generated::steps(&edges))).unwrap();
        let mut readiness = Readiness::new(&plan);
        let mut statuses = vec![Pending; edges.len()];
        for (step, to) in moves {
            let step = plan.indices().nth(step.index(edges.len())).unwrap();
            let before: Vec<_> = plan.indices().filter(|step| readiness.is_ready(*step)).collect();
            let allowed = statuses[step.row()].can_become(to);
            prop_assert_eq!(readiness.set(&plan, step, to).is_ok(), allowed);
            if allowed {
                statuses[step.row()] = to;
            }
            for other in plan.indices() {
                prop_assert_eq!(readiness.status(other), Some(statuses[other.row()]));
                prop_assert_eq!(readiness.is_ready(other), ready_by_rule(&edges, &statuses, other.row()));
                prop_assert_eq!(readiness.is_barred(other), barred_by_rule(&edges, &statuses, other.row()));
                let woken = readiness.is_ready(other) && !before.contains(&other);
                prop_assert!(!woken || other == step || plan.dependents(step).any(|edge| edge.step == other));
            }
        }
    }

    /// In whatever order ready steps complete, all complete, no step before those that it waits for, and the table is the
    /// same in the end.
    #[test]
    fn any_order_of_completions_ends_alike(
        edges in generated::edges(20), draws in vec(any::<prop::sample::Index>(), 20),
    ) {
        let plan = PlanValidator::default().validate(draft(generated::steps(&edges))).unwrap();
        let mut readiness = Readiness::new(&plan);
        let mut ready: Vec<_> = plan.indices().filter(|step| readiness.is_ready(*step)).collect();
        let mut done = Vec::new();
        for draw in draws.iter().take(edges.len()) {
            prop_assert!(!ready.is_empty());
            let step = ready.swap_remove(draw.index(ready.len()));
            prop_assert!(edges[step.row()].iter().all(|(source, _)| done.contains(source)));
            readiness.set(&plan, step, Running).unwrap();
            readiness.set(&plan, step, Completed).unwrap();
            done.push(step.row());
            ready.extend(plan.dependents(step).map(|edge| edge.step).filter(|step| readiness.is_ready(*step)));
        }
        prop_assert_eq!(ready, []);
        prop_assert!(plan.indices().all(|step| readiness.status(step) == Some(Completed)));
    }
}
