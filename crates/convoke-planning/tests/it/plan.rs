use proptest::prelude::*;

use convoke_planning::{Edge, PlanDraft, PlanValidator, StepDraft, Wait};

use crate::{
    fixtures::{at, draft, id, plan, step},
    generated,
};

#[test]
fn a_plan_without_an_id_gets_one_of_its_own() {
    let unnamed = || PlanValidator::default().validate(PlanDraft::new("goal").with_step(step("a"))).unwrap();
    assert_ne!(unnamed().id(), unnamed().id());
    assert_eq!(plan([step("a")]).id().as_str(), "plan");
}

#[test]
fn a_revision_keeps_the_id_and_counts() {
    let first = plan([step("a")]);
    let draft = PlanDraft::new("other").with_id("else").with_steps([step("b"), step("a")]);
    let second = PlanValidator::default().validate_revision(&first, draft).unwrap();
    assert_eq!((second.id(), second.revision(), second.goal()), (first.id(), 1, "other"));
    assert_eq!(at(&second, "a").get(), 1);
    assert_eq!(first.revision(), 0);
}

#[test]
fn what_a_plan_ends_with_are_the_steps_nobody_waits_for() {
    let plan = plan([
        step("a"),
        step("end").after("a"),
        step("alone"),
        step("b").after("a"),
        step("c").input_from("b"),
    ]);
    let sinks: Vec<_> = plan.sinks().map(|step| id(&plan, step)).collect();
    assert_eq!(sinks, ["end", "alone", "c"]);
}

#[test]
fn a_step_is_called_by_its_title_or_its_id() {
    let plan = plan([step("a"), StepDraft::new("b").described("do it")]);
    let labels: Vec<_> = plan.steps().iter().map(convoke_planning::PlanStep::label).collect();
    assert_eq!(labels, ["x", "b"]);
}

#[test]
fn a_place_of_another_plan_is_not_there() {
    let (small, large) = (plan([step("a")]), plan([step("a"), step("b")]));
    let foreign = at(&large, "b");
    assert!(small.step(foreign).is_none());
    assert_eq!(small.dependents(foreign).count() + small.dependencies(foreign).count(), 0);
    assert_eq!(small.index_of("b"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// A graph says what was written, from both ends and in order.
    #[test]
    fn the_graph_is_what_was_written(edges in generated::edges(20)) {
        let plan = PlanValidator::default().validate(draft(generated::steps(&edges))).unwrap();
        let ends = |edges: &mut dyn Iterator<Item = Edge>| -> Vec<(usize, Wait)> {
            edges.map(|edge| (edge.step.row(), edge.wait)).collect()
        };
        for (step, sources) in plan.indices().zip(&edges) {
            prop_assert_eq!(&ends(&mut plan.dependencies(step)), sources);
            prop_assert_eq!(plan.in_degrees()[step.row()] as usize, sources.len());
            let targets = edges.iter().enumerate().filter_map(|(target, sources)| {
                sources.iter().find(|(source, _)| *source == step.row()).map(|(_, wait)| (target, *wait))
            });
            prop_assert_eq!(ends(&mut plan.dependents(step)), targets.collect::<Vec<_>>());
            prop_assert_eq!(plan.index_of(plan.step(step).unwrap().id.as_str()), Some(step));
        }
        prop_assert_eq!(plan.edge_count(), edges.iter().map(Vec::len).sum::<usize>());
    }

    /// A plan and the draft of it say the same.
    #[test]
    fn a_draft_of_a_plan_is_that_plan(draft in generated::valid_draft()) {
        let validator = PlanValidator::default();
        let plan = validator.validate(draft).unwrap();
        prop_assert_eq!(validator.validate(plan.to_draft()).unwrap(), plan);
    }
}
