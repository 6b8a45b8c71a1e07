//! The directory of a review.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use release_review::{Error, Evidence, Exit, Mode, Request, RequestOptions, TaskDirectory, TaskError};

use crate::support::{Files, RELEASE, Review, TESTS, noon, snapshot};

fn request(evidence: &Evidence, options: RequestOptions) -> Request {
    Request::new(evidence, noon(), options).unwrap()
}

#[test]
fn it_appears_whole_with_copies_and_facts() {
    let home = tempfile::tempdir().unwrap();
    let evidence = Files::ready().open().unwrap();
    let path = home.path().join("deep/er/review");
    let task =
        TaskDirectory::create(&path, &request(&evidence, RequestOptions::default()), &evidence).unwrap();
    let names: Vec<String> = snapshot(&path)
        .into_keys()
        .map(|file| file.strip_prefix(&path).unwrap().display().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "request.json",
            "sources/defects.csv",
            "sources/oncall.json",
            "sources/release.toml",
            "sources/reports/tests.xml",
            "sources/runbook.md",
            "sources.json",
        ]
    );
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    let index: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("sources.json")).unwrap()).unwrap();
    assert_eq!(index["digest"], evidence.digest().to_string());
    assert_eq!(index["files"].as_array().unwrap().len(), 5);
    assert_eq!(index["facts"], serde_json::to_value(task.facts()).unwrap());
}

#[test]
fn nothing_is_written_for_evidence_that_is_refused() {
    let directory = Files::ready().with(TESTS, "<testsuite>").write();
    let before = snapshot(directory.path());
    let error = Error::from(Evidence::open(directory.path()).unwrap_err());
    assert_eq!((error.exit(), error.exit().code()), (Exit::Unusable, 2));
    assert_eq!(snapshot(directory.path()), before);
}

#[test]
fn the_same_request_opens_it_and_keeps_its_time() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("review");
    let evidence = Files::ready().open().unwrap();
    TaskDirectory::create(&path, &request(&evidence, RequestOptions::default()), &evidence).unwrap();
    let before = snapshot(&path);
    let later = "2027-01-01T00:00:00Z".parse().unwrap();
    let again = Request::new(&evidence, later, RequestOptions::default()).unwrap();
    let task = TaskDirectory::create(&path, &again, &evidence).unwrap();
    assert_eq!(task.request().created_at(), noon());
    assert_eq!(snapshot(&path), before);
}

#[test]
fn an_empty_folder_is_used() {
    let home = tempfile::tempdir().unwrap();
    let evidence = Files::ready().open().unwrap();
    assert!(
        TaskDirectory::create(home.path(), &request(&evidence, RequestOptions::default()), &evidence).is_ok()
    );
}

#[test]
fn another_request_is_refused_and_the_directory_untouched() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("review");
    let evidence = Files::ready().open().unwrap();
    TaskDirectory::create(&path, &request(&evidence, RequestOptions::default()), &evidence).unwrap();
    let before = snapshot(home.path());
    let more = Files::ready().with("more.xml", "<testsuite/>").open().unwrap();
    let id = Some(request(&evidence, RequestOptions::default()).id().to_string());
    let same = || RequestOptions { id: id.clone(), ..RequestOptions::default() };
    let table = [
        (&evidence, RequestOptions { goal: Some("g".to_owned()), ..same() }, "different goal"),
        (&evidence, RequestOptions { mode: Some(Mode::Serial), ..same() }, "different mode"),
        (&evidence, RequestOptions { principal: Some("p".to_owned()), ..same() }, "different principal"),
        (&evidence, RequestOptions { id: Some("i".to_owned()), ..same() }, "different id"),
        (&more, same(), "different sources"),
    ];
    for (evidence, options, expected) in table {
        let error = TaskDirectory::create(&path, &request(evidence, options), evidence).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(Error::from(error).exit(), Exit::Unusable);
        assert_eq!(snapshot(home.path()), before);
    }
}

#[test]
fn a_folder_with_anything_else_is_refused_and_untouched() {
    let home = tempfile::tempdir().unwrap();
    let evidence = Files::ready().open().unwrap();
    fs::write(home.path().join("thesis.txt"), "x").unwrap();
    for path in [home.path().to_owned(), home.path().join("thesis.txt")] {
        let error = TaskDirectory::create(&path, &request(&evidence, RequestOptions::default()), &evidence)
            .unwrap_err();
        assert!(matches!(error, TaskError::NotATask { .. }), "{error}");
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn it_does_not_lie_within_the_evidence() {
    let directory = Files::ready().write();
    let evidence = Evidence::open(directory.path()).unwrap();
    let before = snapshot(directory.path());
    let request = request(&evidence, RequestOptions::default());
    let error = TaskDirectory::create(&directory.path().join("a/b"), &request, &evidence).unwrap_err();
    assert!(matches!(error, TaskError::WithinEvidence { .. }), "{error}");
    assert_eq!(snapshot(directory.path()), before);
}

#[test]
fn it_opens_after_the_evidence_has_moved_away() {
    let review = Review::of(&Files::ready());
    let opened = TaskDirectory::open(review.task.path()).unwrap();
    assert_eq!(opened.request(), review.task.request());
    assert_eq!(opened.facts(), review.task.facts());
    assert_eq!(opened.files(), review.task.files());
}

#[test]
fn anything_changed_in_it_is_refused_until_it_is_restored() {
    let review = Review::of(&Files::ready());
    let path = review.task.path();
    let edit = |name: &str, from: &str, to: &str| {
        let file = path.join(name);
        let before = fs::read_to_string(&file).unwrap();
        assert!(before.contains(from), "{from} in {before}");
        fs::write(&file, before.replacen(from, to, 1)).unwrap();
        let error = TaskDirectory::open(path).unwrap_err();
        fs::write(&file, before).unwrap();
        assert!(TaskDirectory::open(path).is_ok());
        error
    };
    let changed = |error: TaskError, expected: &str| {
        let shown = error.to_string();
        assert!(matches!(error, TaskError::Changed { .. }) && shown.contains(expected), "{shown}");
    };
    changed(edit("sources/defects.csv", "slow", "fast"), "`defects.csv` is not what it was");
    changed(
        edit("sources.json", "2 of 2 tests passed", "9 of 9 tests passed"),
        "its facts are not those of the sources",
    );
    changed(
        edit("sources.json", "\"format\": 1", "\"format\": 2"),
        "a format that this program does not read",
    );
    changed(
        edit("request.json", "\"release\": \"R-1\"", "\"release\": \"R-2\""),
        "its release is not that of the sources",
    );
    let digest = review.task.request().source_digest().to_string();
    changed(edit("request.json", &digest, &"0".repeat(64)), "its digest is not that of the sources");
    changed(edit("request.json", "\"format\"", "\"more\": 1, \"format\""), "unknown field `more`");
    assert!(matches!(edit("sources/release.toml", "release", "released"), TaskError::Sources(_)));
    assert!(matches!(edit("request.json", "\"format\": 1", "\"format\": 7"), TaskError::Request(_)));
    let hidden = path.join("aside");
    fs::rename(path.join("sources/reports/tests.xml"), &hidden).unwrap();
    assert!(TaskDirectory::open(path).is_err());
    fs::rename(&hidden, path.join("sources/reports/tests.xml")).unwrap();
    fs::write(path.join("sources/note.txt"), "").unwrap();
    changed(TaskDirectory::open(path).unwrap_err(), "`note.txt` was added");
}

#[test]
fn a_changed_time_of_creation_shows_in_the_facts() {
    let rota = r#"{"shifts":[{"who":"Ada","from":"2026-08-14T12:00:00Z","until":"2026-08-14T13:00:00Z"}]}"#;
    let files = Files::ready().with(RELEASE, "release = \"R-1\"").with("oncall.json", rota);
    let review = Review::of(&files);
    let file = review.task.path().join("request.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("2026-08-14T12:00:00Z", "2026-08-15T12:00:00Z")).unwrap();
    let error = TaskDirectory::open(review.task.path()).unwrap_err();
    assert!(error.to_string().contains("its facts are not those of the sources"), "{error}");
}

/// A leftover of a program that was killed, and when it was written.
fn leave(path: &Path, contents: &[&str], hours: u64) -> fs::File {
    fs::create_dir_all(path).unwrap();
    for name in contents {
        fs::create_dir(path.join(name)).unwrap();
        fs::write(path.join(name).join("copy"), "evidence").unwrap();
    }
    let handle = fs::File::open(path).unwrap();
    handle.set_modified(SystemTime::now() - Duration::from_secs(hours * 3_600)).unwrap();
    handle
}

#[test]
fn what_a_killed_program_left_is_removed_later_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let evidence = Files::ready().open().unwrap();
    let path = home.path().join("review");
    let start = || TaskDirectory::create(&path, &request(&evidence, RequestOptions::default()), &evidence);
    let at = |name: &str| home.path().join(name);

    let (old, older) = (at(".release-review-aB3dE6"), at(".release-review-000000"));
    leave(&old, &["sources", "results"], 2);
    let young = at(".release-review-aB3dE7");
    leave(&young, &["sources"], 0);
    let live = at(".release-review-aB3dE8");
    let lock = leave(&live, &["sources"], 2);
    lock.lock().unwrap();
    let foreign = at(".release-review-config");
    leave(&foreign, &["sources", "mine"], 2);
    let named = at(".release-review-notes2024");
    leave(&named, &[], 2);
    let linked = at(".release-review-aB3dE9");
    let target = home.path().join("elsewhere");
    leave(&target, &["sources"], 2);
    std::os::unix::fs::symlink(&target, &linked).unwrap();

    start().unwrap();
    assert!(!old.exists(), "an old one is removed");
    for kept in [&young, &live, &foreign, &named, &linked, &target] {
        assert!(kept.exists(), "{}", kept.display());
    }

    // The same holds when the review is there already, and for the files in it.
    leave(&older, &["output"], 2);
    let file = |folder: &str, name: &str, hours: u64| {
        let file = path.join(folder).join(name);
        fs::write(&file, "half").unwrap();
        let handle = fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(SystemTime::now() - Duration::from_secs(hours * 3_600)).unwrap();
        (file, handle)
    };
    let (old, _) = file("results", ".write-aB3dE6", 2);
    let (also_old, _) = file("output", ".write-aB3dE6", 2);
    let (young, _) = file("results", ".write-aB3dE7", 0);
    let (live, live_lock) = file("output", ".write-aB3dE8", 2);
    live_lock.lock().unwrap();
    start().unwrap();
    for gone in [&older, &old, &also_old] {
        assert!(!gone.exists(), "{}", gone.display());
    }
    assert!(young.exists() && live.exists());
    drop((lock, live_lock));
    start().unwrap();
    assert!(!live.exists() && !at(".release-review-aB3dE8").exists(), "whoever held it has ended");
}

#[test]
fn the_default_place_is_below_the_folder_for_temporary_files() {
    let review = Review::of(&Files::ready());
    let path = TaskDirectory::default_path(review.task.request());
    assert!(path.starts_with(std::env::temp_dir()));
    let name = path.file_name().map(Path::new).unwrap().display().to_string();
    assert_eq!(name, format!("release-review-{}", review.task.request().id()));
}
