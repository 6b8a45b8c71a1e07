//! Answers that do not agree with the evidence.

use release_review::{
    Citation, Finding, Readiness, Synthesis, Verdict, VerifiedResult,
    gates::{GateError, check_finding, check_synthesis},
    roles, synthesize,
};

use crate::support::{Files, Review};

type FindingChange = fn(&mut Finding);

type SynthesisChange<'a> = &'a dyn Fn(&mut Synthesis);

/// The error of a correct finding of engineering after something was done to it.
fn finding_after(change: impl Fn(&mut Finding)) -> GateError {
    let review = Review::of(&Files::ready());
    let (id, scope) = (review.task.request().id(), review.task.scope(roles::ENGINEERING).unwrap());
    let mut finding = roles::engineering(id, scope);
    assert!(check_finding(finding.clone(), id, scope).is_ok());
    change(&mut finding);
    check_finding(finding, id, scope).unwrap_err()
}

#[test]
fn each_forged_finding_is_refused_for_its_own_reason() {
    let table: [(FindingChange, &str); 14] = [
        (|finding| finding.agent = "operations".to_owned(), "wrong-agent"),
        (|finding| finding.task = "another".parse().unwrap(), "wrong-task"),
        (|finding| finding.release = "R-2".to_owned(), "wrong-release"),
        (|finding| finding.verdict = Verdict::Blocked, "flipped-verdict"),
        (|finding| finding.citations[0].quote.push(' '), "forged-quote"),
        (|finding| finding.citations[0].quote = "3 of 3 tests passed".to_owned(), "forged-quote"),
        (|finding| finding.citations[0].fact = "rollback".to_owned(), "foreign-fact"),
        (
            |finding| {
                let citation =
                    Citation { fact: "on-call".to_owned(), quote: "somebody is on call".to_owned() };
                finding.citations.push(citation);
            },
            "foreign-fact",
        ),
        (|finding| finding.citations.push(finding.citations[0].clone()), "repeated-quote"),
        (|finding| finding.citations[1] = finding.citations[0].clone(), "repeated-quote"),
        (|finding| finding.citations.truncate(1), "missing-fact"),
        (|finding| finding.citations.clear(), "missing-fact"),
        (|finding| finding.summary = "s".repeat(1_501), "invalid-text"),
        (|finding| finding.summary = "a\u{1b}[2J".to_owned(), "invalid-text"),
    ];
    for (change, code) in table {
        assert_eq!(finding_after(change).code(), code);
    }
}

#[test]
fn a_refusal_says_what_was_expected() {
    let error = finding_after(|finding| finding.verdict = Verdict::Blocked);
    assert_eq!(error.to_string(), "the finding says `blocked`: its evidence gives `ready`");
    let error = finding_after(|finding| finding.citations[0].quote.clear());
    assert_eq!(
        error.to_string(),
        "the quote of fact `tests` is not its text, byte for byte: expected `2 of 2 tests passed`"
    );
}

#[test]
fn a_refusal_repeats_no_control_character_of_an_answer() {
    let changes: [FindingChange; 3] = [
        |finding| finding.agent = "\u{1b}[2J".to_owned(),
        |finding| finding.release = "\u{1b}[2J".to_owned(),
        |finding| finding.citations[0].fact = "\u{1b}[2J".to_owned(),
    ];
    for change in changes {
        let refusal = finding_after(change).to_string();
        assert!(refusal.contains("\\u{1b}[2J") && !refusal.chars().any(char::is_control), "{refusal}");
    }
}

#[test]
fn citations_in_another_order_are_the_same_finding() {
    let review = Review::of(&Files::ready());
    let (id, scope) = (review.task.request().id(), review.task.scope(roles::OPERATIONS).unwrap());
    let finding = roles::operations(id, scope);
    let mut turned = finding.clone();
    turned.citations.reverse();
    assert_eq!(check_finding(turned, id, scope).unwrap(), check_finding(finding, id, scope).unwrap());
}

#[test]
fn a_finding_with_a_field_that_nobody_knows_is_none() {
    let review = Review::of(&Files::ready());
    let scope = review.task.scope(roles::ENGINEERING).unwrap();
    let mut answer = serde_json::to_value(roles::engineering(review.task.request().id(), scope)).unwrap();
    answer["approved"] = true.into();
    assert!(serde_json::from_value::<Finding>(answer).is_err());
}

const AGENTS: [&str; 2] = [roles::ENGINEERING, roles::OPERATIONS];

fn synthesis_after(
    results: &[VerifiedResult],
    change: impl Fn(&mut Synthesis),
) -> Result<Synthesis, GateError> {
    let mut synthesis = synthesize("R-1", &AGENTS, results);
    assert!(check_synthesis(synthesis.clone(), &AGENTS, results).is_ok());
    change(&mut synthesis);
    check_synthesis(synthesis, &AGENTS, results).map(|checked| checked.synthesis().clone())
}

#[test]
fn each_forged_synthesis_is_refused_for_its_own_reason() {
    let blocked = Files::ready().with("runbook.md", "none");
    let results = Review::of(&blocked).results();
    let other = Review::of(&Files::ready()).results();
    let table: [(SynthesisChange<'_>, &str); 12] = [
        (&|synthesis| synthesis.verdict = Readiness::Ready, "wrong-readiness"),
        (&|synthesis| synthesis.verdict = Readiness::Incomplete, "wrong-readiness"),
        (&|synthesis| synthesis.sections[0].result = other[0].id(), "wrong-result"),
        (&|synthesis| synthesis.sections[0].result = results[1].id(), "wrong-result"),
        (&|synthesis| synthesis.sections[0].agent = "security".to_owned(), "wrong-result"),
        (&|synthesis| synthesis.sections.truncate(1), "missing-section"),
        (&|synthesis| synthesis.sections.push(synthesis.sections[0].clone()), "repeated-section"),
        (&|synthesis| synthesis.missing.push("operations".to_owned()), "wrong-missing"),
        (&|synthesis| synthesis.title = "a\nb".to_owned(), "invalid-text"),
        (&|synthesis| synthesis.title = "t".repeat(201), "invalid-text"),
        (&|synthesis| synthesis.summary = "s".repeat(2_001), "invalid-text"),
        (&|synthesis| synthesis.sections[0].text = "s".repeat(1_501), "invalid-text"),
    ];
    for (change, code) in table {
        assert_eq!(synthesis_after(&results, change).unwrap_err().code(), code);
    }
}

#[test]
fn a_missing_result_makes_the_synthesis_incomplete_and_is_named() {
    let results = Review::of(&Files::ready()).results();
    let only = &results[1..];
    let synthesis = synthesis_after(only, |_| {}).unwrap();
    assert_eq!(
        (synthesis.verdict, synthesis.missing.as_slice()),
        (Readiness::Incomplete, &["engineering".to_owned()][..])
    );
    let refused = |change: fn(&mut Synthesis)| synthesis_after(only, change).unwrap_err().code();
    assert_eq!(refused(|synthesis| synthesis.missing.clear()), "wrong-missing");
    assert_eq!(refused(|synthesis| synthesis.missing = vec!["operations".to_owned()]), "wrong-missing");
    assert_eq!(refused(|synthesis| synthesis.missing.push("engineering".to_owned())), "wrong-missing");
    assert_eq!(refused(|synthesis| synthesis.verdict = Readiness::Ready), "wrong-readiness");
    assert_eq!(check_synthesis(synthesis, &AGENTS, &[]).unwrap_err().code(), "nothing-to-synthesize");
}

#[test]
fn sections_are_put_into_the_order_of_the_plan() {
    let results = Review::of(&Files::ready()).results();
    let turned = synthesis_after(&results, |synthesis| synthesis.sections.reverse()).unwrap();
    assert_eq!(turned, synthesize("R-1", &AGENTS, &results));
}
