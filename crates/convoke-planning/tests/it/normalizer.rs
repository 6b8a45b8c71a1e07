use std::collections::HashSet;

use proptest::prelude::*;

use convoke_planning::{PlanDraft, PlanNormalizer, RepairKind, StepDraft, StepStatus};

use crate::{
    fixtures::{draft, step},
    generated,
};

fn ids(draft: &PlanDraft) -> Vec<&str> {
    draft.steps.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn what_is_missing_is_given_and_what_is_meant_is_left() {
    let mut done = step("done");
    done.status = Some(StepStatus::Completed);
    let normalized = PlanNormalizer::new().normalize(draft([
        StepDraft::default().described("\n  Look into it.  \nThen tell."),
        done,
        step("twin").after("nowhere").after("twin"),
        step("twin"),
        StepDraft::new("bare"),
    ]));
    let told: Vec<_> = normalized.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "step number 1 had no id; it is `step-1` now",
            "step `step-1` had no title; it has the first line of its description now",
            "step `done` was completed; it is pending, as every step of a new plan",
        ]
    );
    assert_eq!(ids(&normalized.draft), ["step-1", "done", "twin", "twin", "bare"]);
    assert_eq!(normalized.draft.steps[0].title, "Look into it.");
    assert_eq!(normalized.draft.steps[2].depends_on.len(), 2);
    assert!(normalized.draft.steps.iter().all(|step| step.status.is_none()));
}

#[test]
fn a_new_id_is_neither_taken_nor_named() {
    let unnamed = || StepDraft::default().titled("x");
    let normalized = PlanNormalizer::new().normalize(draft([
        step("step-2"),
        unnamed(),
        unnamed(),
        step("last").after("step-3"),
    ]));
    // A step that waits for `step-3` must not come to wait for one that nobody called so.
    assert_eq!(ids(&normalized.draft), ["step-2", "step-2-2", "step-3-2", "last"]);
}

#[test]
fn duplicates_are_renamed_on_request_and_make_no_new_ones() {
    let normalized = PlanNormalizer::new().renaming_duplicates().normalize(draft([
        step("d"),
        step("d"),
        step("d-2"),
        step("d"),
    ]));
    assert_eq!(ids(&normalized.draft), ["d", "d-3", "d-2", "d-4"]);
    assert_eq!(
        normalized.repairs[0].to_string(),
        "step number 2 had the id `d` of a step before it; it is `d-3` now"
    );
}

#[test]
fn what_cannot_be_waited_for_is_dropped_on_request() {
    let normalized = PlanNormalizer::new()
        .dropping_unknown_dependencies()
        .normalize(draft([step("a").after("a").after("b").input_from("gone"), step("b").after_end_of("c")]));
    let kinds: Vec<_> =
        normalized.repairs.iter().map(|repair| (repair.step.as_str(), &repair.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("a", &RepairKind::DependencyRemoved { step: "a".into() }),
            ("a", &RepairKind::InputSourceRemoved { step: "gone".into() }),
            ("b", &RepairKind::DependencyRemoved { step: "c".into() }),
        ]
    );
    assert_eq!(normalized.draft.steps[0].depends_on.len(), 1);
}

#[test]
fn a_title_is_not_longer_than_a_line_of_80() {
    let normalized = PlanNormalizer::new().normalize(draft([StepDraft::new("a").described("ü".repeat(200))]));
    assert_eq!(normalized.draft.steps[0].title, "ü".repeat(80));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Safe repairs leave every name and edge that was there; all repairs together leave nothing to repair.
    #[test]
    fn repairs_are_safe_and_done_once(
        mut draft in generated::any_draft(),
        names in proptest::collection::vec(prop::sample::select(vec!["", "d", "d-2", "step-1", "step-2"]), 4 * 3),
    ) {
        for (step, names) in draft.steps.iter_mut().zip(names.chunks(3)) {
            step.id = names[0].into();
            step.input_from = vec![names[1].into(), names[2].into()];
        }
        let safe = PlanNormalizer::new().normalize(draft.clone()).draft;
        let given: HashSet<_> = draft.steps.iter().map(|step| step.id.clone()).collect();
        for (before, after) in draft.steps.iter().zip(&safe.steps) {
            prop_assert!(before.id == after.id || (before.id.is_empty() && !given.contains(&after.id)));
            prop_assert_eq!(&before.depends_on, &after.depends_on);
            prop_assert_eq!(&before.input_from, &after.input_from);
        }

        let thorough = PlanNormalizer::new().renaming_duplicates().dropping_unknown_dependencies();
        let once = thorough.normalize(draft).draft;
        prop_assert_eq!(ids(&once).into_iter().collect::<HashSet<_>>().len(), once.steps.len());
        let twice = thorough.normalize(once.clone());
        prop_assert_eq!(twice.draft, once);
        prop_assert_eq!(twice.repairs, []);
    }
}
