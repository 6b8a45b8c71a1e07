//! Results on the disk.

use std::fs;

use release_review::{
    Digest, Mode, RequestOptions, ResultError, ResultId, canonical, gates::check_finding, roles,
};

use crate::support::{Files, Review, snapshot};

type Change<'a> = &'a dyn Fn(&mut serde_json::Value);

#[test]
fn a_result_is_kept_under_the_digest_of_its_canonical_bytes() {
    let review = Review::of(&Files::ready());
    for result in review.results() {
        let bytes = fs::read(review.result_path(&result)).unwrap();
        assert_eq!(bytes, canonical::to_bytes(result.record()).unwrap());
        assert_eq!(Digest::of(&bytes), result.id().digest());
        assert_eq!(review.task.results().read(result.id()).unwrap(), result);
    }
}

#[test]
fn saving_again_changes_nothing_and_leaves_no_temporary_file() {
    let review = Review::of(&Files::ready());
    let first = review.results();
    let before = snapshot(review.task.path());
    assert_eq!(review.results(), first);
    assert_eq!(snapshot(review.task.path()), before);
    assert_eq!(fs::read_dir(review.task.path().join("results")).unwrap().count(), 2);
}

#[test]
fn equal_inputs_give_equal_results_at_any_time() {
    let one = Review::of(&Files::ready()).results();
    let other = Review::of(&Files::ready()).results();
    assert_eq!(one, other);
    let goal = RequestOptions { goal: Some("another".to_owned()), ..RequestOptions::default() };
    assert_ne!(Review::with(&Files::ready(), goal).results()[0].id(), one[0].id());
}

#[test]
fn a_changed_result_is_refused_and_a_restored_one_is_read() {
    let review = Review::of(&Files::ready());
    let result = review.results().remove(0);
    let path = review.result_path(&result);
    let bytes = fs::read(&path).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let changes = [
        format!("{text} "),
        text.replace("2 of 2", "3 of 3"),
        text.replace("\"ready\"", "\"blocked\""),
        String::new(),
    ];
    for change in changes {
        fs::write(&path, change).unwrap();
        let error = review.task.results().read(result.id()).unwrap_err();
        assert!(matches!(error, ResultError::Changed { .. }), "{error}");
    }
    fs::write(&path, bytes).unwrap();
    assert!(review.task.results().read(result.id()).is_ok());
}

#[test]
fn a_changed_file_is_not_overwritten_by_saving_again() {
    let review = Review::of(&Files::ready());
    let result = review.results().remove(0);
    let path = review.result_path(&result);
    fs::write(&path, "{}").unwrap();
    let (id, scope) = (review.task.request().id(), review.task.scope(roles::ENGINEERING).unwrap());
    let finding = check_finding(roles::engineering(id, scope), id, scope).unwrap();
    let error = review.task.results().save(finding, &[]).unwrap_err();
    assert!(matches!(error, ResultError::Changed { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"{}");
}

/// Records that are well-formed and well-named, and still are no results of this review.
#[test]
fn a_record_is_checked_against_the_sources_each_time() {
    let review = Review::of(&Files::ready());
    let result = review.results().remove(0);
    let save = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut record = serde_json::to_value(result.record()).unwrap();
        change(&mut record);
        let bytes = canonical::to_bytes(&record).unwrap();
        let id = ResultId::from(Digest::of(&bytes));
        fs::write(review.task.path().join("results").join(format!("{id}.json")), bytes).unwrap();
        review.task.results().read(id).unwrap_err().to_string()
    };
    let other = Digest::of(b"other").to_string();
    let table: [(Change<'_>, &str); 8] = [
        (&|record| record["request"] = other.clone().into(), "answers another request"),
        (&|record| record["finding"]["verdict"] = "blocked".into(), "the finding says `blocked`"),
        (&|record| record["finding"]["citations"][0]["quote"] = "9 of 9".into(), "the quote of fact `tests`"),
        (&|record| record["finding"]["agent"] = "operations".into(), "the finding cites `tests`"),
        (&|record| record["finding"]["agent"] = "security".into(), "`security` is no specialist"),
        (&|record| record["format"] = 2.into(), "not in the canonical form of this version"),
        (&|record| record["note"] = 1.into(), "unknown field `note`"),
        (
            &|record| record["finding"]["citations"].as_array_mut().unwrap().reverse(),
            "not in the order of the facts",
        ),
    ];
    for (change, expected) in table {
        let refusal = save(change);
        assert!(refusal.contains(expected), "{expected}: {refusal}");
    }
}

#[test]
fn a_record_in_another_spelling_is_refused() {
    let review = Review::of(&Files::ready());
    let result = review.results().remove(0);
    let bytes = serde_json::to_vec_pretty(result.record()).unwrap();
    let id = ResultId::from(Digest::of(&bytes));
    fs::write(review.task.path().join("results").join(format!("{id}.json")), bytes).unwrap();
    let error = review.task.results().read(id).unwrap_err().to_string();
    assert!(error.contains("not in the canonical form"), "{error}");
}

#[test]
fn a_result_that_is_not_there_is_not_found() {
    let review = Review::of(&Files::ready());
    let error = review.task.results().read(ResultId::from(Digest::of(b"nothing"))).unwrap_err();
    assert!(matches!(error, ResultError::NotFound { .. }), "{error}");
}

#[test]
fn a_linked_result_is_not_followed() {
    let review = Review::of(&Files::ready());
    let result = review.results().remove(0);
    let path = review.result_path(&result);
    let elsewhere = review.task.path().join("elsewhere.json");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let error = review.task.results().read(result.id()).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
}

#[test]
fn in_series_operations_rests_on_exactly_engineerings_result() {
    let review = Review::serial(&Files::ready());
    assert_eq!(review.task.request().mode(), Mode::Serial);
    let results = review.results();
    assert_eq!(results[0].depends_on(), []);
    assert_eq!(results[1].depends_on(), [results[0].id()]);
    let (id, scope) = (review.task.request().id(), review.task.scope(roles::OPERATIONS).unwrap());
    let save = |depends_on: &[ResultId]| {
        let finding = check_finding(roles::operations(id, scope), id, scope).unwrap();
        review.task.results().save(finding, depends_on).unwrap_err()
    };
    let expected = "the plan says [engineering]";
    assert!(save(&[]).to_string().contains(expected));
    assert!(save(&[results[1].id()]).to_string().contains(expected));
    assert!(save(&[results[0].id(), results[0].id()]).to_string().contains(expected));
    assert!(matches!(save(&[ResultId::from(Digest::of(b""))]), ResultError::NotFound { .. }));
}

#[test]
fn in_parallel_nobody_rests_on_anybody() {
    let review = Review::of(&Files::ready());
    let engineering = review.results()[0].id();
    let (id, scope) = (review.task.request().id(), review.task.scope(roles::OPERATIONS).unwrap());
    let finding = check_finding(roles::operations(id, scope), id, scope).unwrap();
    let error = review.task.results().save(finding, &[engineering]).unwrap_err();
    assert!(matches!(error, ResultError::Prerequisites { .. }), "{error}");
}

#[test]
fn a_specialist_sees_its_own_facts_only() {
    let review = Review::of(&Files::ready());
    let seen = |agent| serde_json::to_string(review.task.scope(agent).unwrap()).unwrap();
    let (engineering, operations) = (seen(roles::ENGINEERING), seen(roles::OPERATIONS));
    for word in ["rollback", "on-call", "on call", "Ada", "runbook.md", "oncall.json"] {
        assert!(operations.contains(word) && !engineering.contains(word), "{word}");
    }
    for word in ["tests passed", "critical", "tests.xml", "defects.csv"] {
        assert!(engineering.contains(word) && !operations.contains(word), "{word}");
    }
}
