//! The sink that writes lines of JSON.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{fs, path::Path, sync::Arc, thread};

use serde_json::Value;
use tempfile::TempDir;

use convoke_observability::{BoundedAsyncSink, EventSink, JsonLinesSink};

use crate::support::{event, lines};

/// The ids of the events in a file, each of whose lines must be one object; `-` where there is no file.
fn ids(path: &Path) -> String {
    let Ok(text) = fs::read_to_string(path) else { return "-".into() };
    assert!(text.is_empty() || text.ends_with('\n'));
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().replace("runtime/", "")
    };
    text.lines().map(id).collect::<Vec<_>>().join(" ")
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The bytes of one line of these tests.
fn line() -> u64 {
    serde_json::to_string(&event(0)).unwrap().len() as u64 + 1
}

#[test]
fn writes_a_line_per_event_before_it_returns() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let sink = JsonLinesSink::open(&path).unwrap();
    assert_eq!(ids(&path), "");
    sink.publish(event(0)).unwrap();
    assert_eq!(ids(&path), "0");
    sink.publish(event(1).with_attribute("said", "two\nlines")).unwrap();
    assert_eq!(ids(&path), "0 1");
}

#[test]
fn goes_on_where_a_file_ends() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    for number in 0..3 {
        JsonLinesSink::open(&path).unwrap().publish(event(number)).unwrap();
    }
    assert_eq!(ids(&path), "0 1 2");
}

#[test]
fn a_half_line_left_by_a_crash_stays_a_line_of_its_own() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    fs::write(&path, "{\"id\":\"run").unwrap();
    JsonLinesSink::open(&path).unwrap().publish(event(0)).unwrap();
    let expected = format!("{{\"id\":\"run\n{}\n", serde_json::to_string(&event(0)).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn what_cannot_be_opened_is_reported_with_its_path() {
    let folder = folder();
    let path = folder.path().join("missing").join("events.jsonl");
    let error = JsonLinesSink::open(&path).unwrap_err();
    let expected = format!("event log `{}` cannot be opened", path.display());
    assert_eq!(error.to_string(), expected);
    assert_eq!(lines(&error).len(), 2, "the cause is the system's");
}

#[cfg(unix)]
#[test]
fn a_second_sink_on_a_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let first = JsonLinesSink::open(&path).unwrap();
    let error = JsonLinesSink::open(&path).unwrap_err();
    assert_eq!(lines(&error), [format!("event log `{}` is in use by another sink", path.display())]);
    drop(first);
    assert!(JsonLinesSink::open(&path).is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_is_reported_with_its_path() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    symlink("/dev/full", &path).unwrap();
    let sink = JsonLinesSink::open(&path).unwrap();
    for number in 0..2 {
        let error = sink.publish(event(number)).unwrap_err();
        assert_eq!(error.to_string(), format!("event log `{}` cannot be written", path.display()));
        assert_eq!(lines(&error).len(), 2);
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_never_moved_out_of_the_way() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    // Behind a link, so that a mistake moves the link and not the machine's device.
    symlink("/dev/null", &path).unwrap();
    let sink = JsonLinesSink::builder(&path).rotate_at(1).keep(1).open().unwrap();
    for number in 0..3 {
        sink.publish(event(number)).unwrap();
    }
    assert!(path.is_symlink());
    assert!(!folder.path().join("events.jsonl.1").is_symlink());
}

#[test]
fn a_full_file_makes_room_and_so_many_are_kept() {
    /// Seven events, two of which fill a file.
    fn check(keep: u32, expected: [&str; 4]) {
        let folder = folder();
        let path = folder.path().join("events.jsonl");
        let sink = JsonLinesSink::builder(&path).rotate_at(2 * line()).keep(keep).open().unwrap();
        for number in 0..7 {
            sink.publish(event(number)).unwrap();
        }
        let found = ["", ".1", ".2", ".3"].map(|end| ids(&folder.path().join(format!("events.jsonl{end}"))));
        assert_eq!(found, expected, "{keep} kept");
    }
    check(0, ["6", "-", "-", "-"]);
    check(1, ["6", "4 5", "-", "-"]);
    check(2, ["6", "4 5", "2 3", "-"]);
    check(3, ["6", "4 5", "2 3", "0 1"]);
    check(9, ["6", "4 5", "2 3", "0 1"]);
}

#[test]
fn a_file_found_full_makes_room_at_the_first_event() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let open = || JsonLinesSink::builder(&path).rotate_at(line()).keep(1).open().unwrap();
    open().publish(event(0)).unwrap();
    open().publish(event(1)).unwrap();
    assert_eq!((ids(&path), ids(&folder.path().join("events.jsonl.1"))), ("1".into(), "0".into()));
}

#[test]
fn a_line_longer_than_the_limit_gets_a_file_of_its_own() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let sink = JsonLinesSink::builder(&path).rotate_at(1).keep(2).open().unwrap();
    sink.publish(event(0)).unwrap();
    sink.publish(event(1)).unwrap();
    let found = ["", ".1", ".2"].map(|end| ids(&folder.path().join(format!("events.jsonl{end}"))));
    assert_eq!(found, ["1", "0", "-"], "no empty file is kept");
}

#[test]
fn unlimited_never_makes_room() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let sink = JsonLinesSink::builder(&path).rotate_at(1).unlimited().open().unwrap();
    sink.publish(event(0)).unwrap();
    sink.publish(event(1)).unwrap();
    assert_eq!(ids(&path), "0 1");
}

#[test]
fn while_a_full_file_cannot_be_moved_events_are_refused_and_older_files_stay() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let at = |end: &str| folder.path().join(format!("events.jsonl{end}"));
    fs::write(at(".1"), "").unwrap();
    // A folder that is not empty is in the way of the oldest file.
    fs::create_dir_all(at(".2").join("in the way")).unwrap();
    let sink = JsonLinesSink::builder(&path).rotate_at(line()).keep(2).open().unwrap();
    sink.publish(event(0)).unwrap();
    for _ in 0..2 {
        let error = sink.publish(event(1)).unwrap_err();
        let expected =
            format!("event log `{}` is full and cannot be moved to its older files", path.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!((ids(&path), ids(&at(".1"))), ("0".into(), String::new()));
    }

    fs::remove_dir_all(at(".2")).unwrap();
    sink.publish(event(2)).unwrap();
    assert_eq!((ids(&path), ids(&at(".1")), ids(&at(".2"))), ("2".into(), "0".into(), String::new()));
}

#[test]
fn lines_of_many_threads_stay_whole() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let sink = JsonLinesSink::open(&path).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let sink = &sink;
            scope.spawn(move || {
                for number in 0..50 {
                    sink.publish(event(thread * 50 + number)).unwrap();
                }
            });
        }
    });
    let mut found: Vec<u64> = ids(&path).split(' ').map(|id| id.parse().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, (0..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn works_behind_the_bounded_sink() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let sink = Arc::new(BoundedAsyncSink::builder(JsonLinesSink::open(&path).unwrap()).start().unwrap());
    sink.publish(event(0)).unwrap();
    sink.close().await.unwrap();
    assert_eq!(ids(&path), "0");
    assert!(JsonLinesSink::open(&path).is_ok(), "closing lets go of the file");
}
