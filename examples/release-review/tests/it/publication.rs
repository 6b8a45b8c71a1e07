//! Reports: complete, partial, refused, repeated.

use std::fs;

use release_review::{
    AttemptError, Entry, Exit, Outcome, PublishError, Readiness, ReportStatus, Stop, StopReason,
    SynthesisEntry, VerifiedResult, publish, roles, synthesize,
};

use crate::support::{Files, Review, outcome, published, snapshot};

type Change<'a> = &'a dyn Fn(&mut Outcome);

fn refused(review: &Review, outcome: &Outcome, expected: &str) {
    let before = snapshot(review.task.path());
    let error = publish(&review.task, outcome).unwrap_err().to_string();
    assert!(error.contains(expected), "{expected}: {error}");
    assert_eq!(snapshot(review.task.path()), before, "{expected}");
}

fn error(attempt: u32) -> AttemptError {
    AttemptError::new(attempt, "flipped-verdict", "it said ready")
}

/// A partial outcome: engineering failed, operations answered.
fn partial(review: &Review) -> (Outcome, VerifiedResult) {
    let operations = review.results().remove(1);
    let results = std::slice::from_ref(&operations);
    let agents = [roles::ENGINEERING, roles::OPERATIONS];
    let outcome = Outcome {
        provider: "offline".to_owned(),
        entries: vec![
            Entry::completed(roles::OPERATIONS, operations.id(), 1, Vec::new()),
            Entry::failed(roles::ENGINEERING, vec![error(1), error(2)]),
        ],
        synthesis: SynthesisEntry {
            attempts: 1,
            errors: Vec::new(),
            synthesis: Some(synthesize("R-1", &agents, results)),
        },
        stopped: Vec::new(),
    };
    (outcome, operations)
}

#[test]
fn equal_inputs_give_equal_bytes_and_publishing_again_is_fine() {
    let (one, other) = (Review::of(&Files::ready()), Review::of(&Files::ready()));
    let (first, second) = (published(&one), published(&other));
    assert_eq!(fs::read(&first.json).unwrap(), fs::read(&second.json).unwrap());
    assert_eq!(fs::read(&first.markdown).unwrap(), fs::read(&second.markdown).unwrap());
    let before = snapshot(one.task.path());
    published(&one);
    assert_eq!(snapshot(one.task.path()), before);
}

#[test]
fn a_report_can_be_traced() {
    let review = Review::serial(&Files::ready());
    let results = review.results();
    let published = published(&review);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(published.json).unwrap()).unwrap();
    assert_eq!(report["status"], "completed");
    assert_eq!(report["readiness"], "ready");
    assert_eq!(report["stop_reasons"], serde_json::json!([]));
    assert_eq!(report["provider"], "offline");
    assert_eq!(report["specialists"][0]["result"], results[0].id().to_string());
    assert_eq!(report["specialists"][1]["depends_on"][0], results[0].id().to_string());
    assert_eq!(report["specialists"][1]["attempts"], 1);
    assert_eq!(report["facts"][0]["facts"][0]["sources"][0]["file"], "reports/tests.xml");
    assert_eq!(report["sources"]["files"][0]["path"], "defects.csv");
    assert_eq!(report["synthesis"]["answer"]["sections"][0]["result"], results[0].id().to_string());
}

#[test]
fn a_conflicting_report_stays_as_it_is() {
    for name in ["report.json", "report.md"] {
        let review = Review::of(&Files::ready());
        let outcome = outcome(&review.task, &review.results());
        let path = review.task.path().join("output").join(name);
        fs::write(&path, "something else").unwrap();
        let before = snapshot(review.task.path());
        let error = publish(&review.task, &outcome).unwrap_err();
        assert!(matches!(error, PublishError::Conflict { .. }), "{error}");
        assert_eq!(snapshot(review.task.path()), before);
        fs::remove_file(path).unwrap();
        assert!(publish(&review.task, &outcome).is_ok());
    }
}

#[test]
fn a_linked_report_is_not_written_through() {
    let review = Review::of(&Files::ready());
    let outcome = outcome(&review.task, &review.results());
    let victim = review.task.path().join("victim");
    fs::write(&victim, "keep").unwrap();
    std::os::unix::fs::symlink(&victim, review.task.path().join("output/report.md")).unwrap();
    assert!(matches!(publish(&review.task, &outcome).unwrap_err(), PublishError::Conflict { .. }));
    assert_eq!(fs::read(victim).unwrap(), b"keep");
}

#[test]
fn one_failed_specialist_gives_a_partial_report_that_names_it() {
    let review = Review::of(&Files::ready());
    let (outcome, _) = partial(&review);
    let published = publish(&review.task, &outcome).unwrap();
    assert_eq!(published.report.status(), ReportStatus::Partial);
    assert_eq!(published.report.readiness(), Some(Readiness::Incomplete));
    assert_eq!(published.report.stop_reasons(), [StopReason::AgentFailed]);
    assert_eq!(Exit::of(&published.report), Exit::Partial);
    let markdown = fs::read_to_string(published.markdown).unwrap();
    for expected in [
        "partial, because a specialist failed",
        "### engineering: no verified result",
        "- engineering: Failed after 2 attempts",
        "- Attempt 2: flipped-verdict: it said ready",
        "Readiness: **incomplete**",
    ] {
        assert!(markdown.contains(expected), "{expected}\n{markdown}");
    }
    assert!(!markdown.contains("2 of 2 tests passed"), "{markdown}");
}

#[test]
fn without_any_result_there_is_no_synthesis() {
    let review = Review::serial(&Files::ready());
    let outcome = Outcome {
        provider: "offline".to_owned(),
        entries: vec![Entry::failed(roles::ENGINEERING, vec![error(1)]), Entry::blocked(roles::OPERATIONS)],
        synthesis: SynthesisEntry::default(),
        stopped: vec![Stop::Deadline],
    };
    let published = publish(&review.task, &outcome).unwrap();
    assert_eq!((published.report.status(), published.report.readiness()), (ReportStatus::Partial, None));
    assert_eq!(
        published.report.stop_reasons(),
        [StopReason::AgentFailed, StopReason::DependencyFailed, StopReason::Deadline]
    );
    let markdown = fs::read_to_string(published.markdown).unwrap();
    assert!(markdown.contains("- Readiness: not assessed"), "{markdown}");
    let mut begun = outcome.clone();
    begun.entries[1] = Entry::failed(roles::OPERATIONS, vec![error(1)]);
    refused(&review, &begun, "it was begun, but a prerequisite has no result");
    assert!(markdown.contains("- operations: Not begun, because a prerequisite has no result"), "{markdown}");
}

#[test]
fn a_reason_stands_once_and_in_the_order_of_the_plan() {
    let review = Review::of(&Files::ready());
    let outcome = Outcome {
        provider: "offline".to_owned(),
        entries: vec![
            Entry::failed(roles::OPERATIONS, vec![error(1)]),
            Entry::failed(roles::ENGINEERING, vec![error(1)]),
        ],
        synthesis: SynthesisEntry::default(),
        stopped: vec![Stop::Interrupted, Stop::Interrupted],
    };
    let report = publish(&review.task, &outcome).unwrap().report;
    assert_eq!(report.stop_reasons(), [StopReason::AgentFailed, StopReason::Interrupted]);
}

#[test]
fn a_failed_synthesis_keeps_the_results() {
    let review = Review::of(&Files::ready());
    let mut outcome = outcome(&review.task, &review.results());
    outcome.synthesis = SynthesisEntry { attempts: 1, errors: vec![error(1)], synthesis: None };
    let report = publish(&review.task, &outcome).unwrap().report;
    assert_eq!(report.stop_reasons(), [StopReason::InvalidSynthesis]);
    assert_eq!((report.status(), report.readiness()), (ReportStatus::Partial, None));
}

#[test]
fn an_outcome_that_lacks_or_contradicts_something_is_refused() {
    let review = Review::of(&Files::ready());
    let results = review.results();
    let complete = outcome(&review.task, &results);
    let table: [(Change<'_>, &str); 18] = [
        (&|outcome| drop(outcome.entries.remove(1)), "`operations` has no entry"),
        (&|outcome| outcome.entries.clear(), "`engineering` has no entry"),
        (
            &|outcome| outcome.entries.push(outcome.entries[0].clone()),
            "`engineering` has more than one entry",
        ),
        (
            &|outcome| outcome.entries.push(Entry::skipped("security")),
            "`security` has an entry, but is no specialist",
        ),
        (&|outcome| outcome.entries[0].result = None, "it is completed without a result"),
        (&|outcome| outcome.entries[0].result = Some(results[1].id()), "names the result of `operations`"),
        (&|outcome| outcome.entries[0].attempts = 0, "its attempts do not fit its errors"),
        (&|outcome| outcome.entries[0].attempts = 3, "its attempts do not fit its errors"),
        (&|outcome| outcome.entries[0].errors.push(error(2)), "its attempts do not fit its errors"),
        (
            &|outcome| outcome.entries[0] = Entry::failed(roles::ENGINEERING, Vec::new()),
            "its attempts do not fit",
        ),
        (&|outcome| outcome.entries[0] = Entry::skipped(roles::ENGINEERING), "nothing stopped the review"),
        (
            &|outcome| outcome.entries[0] = Entry::blocked(roles::ENGINEERING),
            "every prerequisite has a result",
        ),
        (&|outcome| outcome.synthesis = SynthesisEntry::default(), "no synthesis and no reason"),
        (&|outcome| outcome.synthesis.attempts = 2, "the synthesis has 2 attempts"),
        (
            &|outcome| outcome.entries[0] = Entry::failed(roles::ENGINEERING, vec![error(2)]),
            "do not fit its errors",
        ),
        (&|outcome| outcome.entries[0] = Entry::failed(roles::ENGINEERING, vec![error(1)]), "names result"),
        (
            &|outcome| {
                let answer = outcome.synthesis.synthesis.as_mut().unwrap();
                answer.verdict = Readiness::Blocked;
            },
            "the results give `ready`",
        ),
        (
            &|outcome| {
                outcome.entries = vec![
                    Entry::failed(roles::ENGINEERING, vec![error(1)]),
                    Entry::failed(roles::OPERATIONS, vec![error(1)]),
                ];
            },
            "there is a synthesis, but no result",
        ),
    ];
    for (change, expected) in table {
        let mut changed = complete.clone();
        change(&mut changed);
        refused(&review, &changed, expected);
    }
}

#[test]
fn a_result_that_was_changed_before_publication_is_refused() {
    let review = Review::of(&Files::ready());
    let results = review.results();
    let outcome = outcome(&review.task, &results);
    let path = review.result_path(&results[0]);
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(b' ');
    fs::write(&path, &bytes).unwrap();
    refused(&review, &outcome, "its bytes have another digest");
}

#[test]
fn in_series_the_lineage_is_that_of_the_published_results() {
    let review = Review::serial(&Files::ready());
    let results = review.results();
    let mut other =
        roles::engineering(review.task.request().id(), review.task.scope(roles::ENGINEERING).unwrap());
    other.summary = "in other words".to_owned();
    let scope = review.task.scope(roles::ENGINEERING).unwrap();
    let checked = release_review::gates::check_finding(other, review.task.request().id(), scope).unwrap();
    let other = review.task.results().save(checked, &[]).unwrap();
    let swapped = [other, results[1].clone()];
    refused(
        &review,
        &outcome(&review.task, &swapped),
        "rests on other results than those that are published",
    );
}
