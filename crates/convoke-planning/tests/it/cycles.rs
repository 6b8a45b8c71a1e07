use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::{collection::vec, prelude::*};

use convoke_planning::{IssueCode, PlanValidator, StepDraft};

use crate::fixtures::{draft, large, step};

fn circles(steps: Vec<StepDraft>) -> Vec<Vec<String>> {
    match PlanValidator::new(&large()).validate(draft(steps)) {
        Ok(_) => Vec::new(),
        Err(refusal) => {
            assert!(
                refusal.issues().iter().all(|issue| issue.code == IssueCode::DependencyCycle),
                "{refusal}"
            );
            refusal
                .issues()
                .iter()
                .map(|issue| issue.path.iter().map(ToString::to_string).collect())
                .collect()
        }
    }
}

#[test]
fn of_several_parts_the_one_with_a_circle_is_named() {
    let found = circles(vec![
        step("alone"),
        step("x").after("alone"),
        step("p").after("r"),
        step("q").after("p"),
        step("r").after("q"),
        step("behind").after("r"),
        step("y").after("x"),
    ]);
    assert_eq!(found, [["p", "r", "q"]]);
}

#[test]
fn twenty_steps_that_all_wait_for_each_other_are_one_issue() {
    let names: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
    let steps = names
        .iter()
        .map(|name| names.iter().filter(|other| *other != name).fold(step(name), StepDraft::after));
    assert_eq!(circles(steps.collect()), [["s0", "s1"]]);
}

#[test]
fn circles_of_their_own_are_issues_of_their_own_in_plan_order() {
    let found = circles(vec![
        step("late").after("later"),
        step("a").after("b"),
        step("b").after("a"),
        step("later").after("late").after("a"),
    ]);
    assert_eq!(found, [["late", "later"], ["a", "b"]]);
}

#[test]
fn a_circle_begins_with_its_first_step_wherever_it_is_entered() {
    // From `a`, the first edges lead to `c`, to `b`, and to `c` again.
    let found = circles(vec![step("a").after("c"), step("b").after("c").after("a"), step("c").after("b")]);
    assert_eq!(found, [["b", "c"]]);
}

#[test]
fn a_circle_of_many_is_told_in_part_and_kept_whole() {
    let ring = (0..10_000).map(|n| step(format!("s{n}")).after(format!("s{}", (n + 1) % 10_000)));
    let refusal = PlanValidator::new(&large()).validate(draft(ring)).unwrap_err();
    let issue = &refusal.issues()[0];
    assert_eq!(issue.path.len(), 10_000);
    assert!(issue.message.contains("`s11` after 9988 more after `s0`;"), "{}", issue.message);
}

/// Which steps a step can reach, the slow way.
fn reach(sources: &[BTreeSet<usize>], from: usize) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let mut open: Vec<usize> = sources[from].iter().copied().collect();
    while let Some(step) = open.pop() {
        if seen.insert(step) {
            open.extend(&sources[step]);
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// In any graph: one circle for each set of steps that reach each other, each of its edges is there, no step twice.
    #[test]
    fn each_component_gives_one_true_circle(pairs in vec((0..12_usize, 0..12_usize), 0..30)) {
        let mut sources = vec![BTreeSet::new(); 12];
        for (target, source) in pairs {
            if target != source {
                sources[target].insert(source);
            }
        }
        let steps = sources.iter().enumerate().map(|(target, sources)| {
            sources.iter().fold(step(format!("{target}")), |step, source| step.after(format!("{source}")))
        });
        let reaches: Vec<_> = (0..12).map(|step| reach(&sources, step)).collect();
        // A component is known by its first step.
        let mut expected = BTreeSet::new();
        let mut component = HashMap::new();
        for step in (0..12).filter(|step| reaches[*step].contains(step)) {
            let first = (0..12).find(|other| reaches[step].contains(other) && reaches[*other].contains(&step)).unwrap();
            expected.insert(first);
            component.insert(step, first);
        }

        let found = circles(steps.collect());
        let mut of_components = BTreeSet::new();
        for circle in &found {
            let circle: Vec<usize> = circle.iter().map(|id| id.parse().unwrap()).collect();
            prop_assert_eq!(circle.iter().collect::<HashSet<_>>().len(), circle.len());
            for (place, step) in circle.iter().enumerate() {
                let next = circle[(place + 1) % circle.len()];
                prop_assert!(sources[*step].contains(&next), "{} does not wait for {}", step, next);
                prop_assert_eq!(component[step], component[&circle[0]]);
            }
            of_components.insert(component[&circle[0]]);
        }
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(of_components, expected);
    }
}
