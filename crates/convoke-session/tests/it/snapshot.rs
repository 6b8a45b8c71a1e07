//! Snapshots: values that nothing changes.

use serde_json::json;

use convoke_core::{ArtifactId, Message, MessageId, TaskOutput, TaskStatus};

use crate::fixtures::{
    artifact, attempt, completed, ids, now, reach, report, session, task, texts, value_and_revision, working,
};

#[test]
fn a_snapshot_finds_what_it_lists() {
    let session = session();
    now(session.set("k", json!(1))).unwrap();
    let (mut admission, _) = working(&session, "t");
    admission.settle(completed(TaskOutput::text("answer").with_artifact(artifact("a", "x")))).unwrap();
    now(session.post(Message::user("thanks"))).unwrap();

    let snapshot = session.snapshot();
    assert_eq!(snapshot.id(), session.id());
    for (index, message) in snapshot.messages().enumerate() {
        assert_eq!(snapshot.message_at(index), Some(message));
        assert_eq!(snapshot.message(&message.id), Some(message));
    }
    assert_eq!(snapshot.message_at(3), None);
    assert_eq!(snapshot.message(&MessageId::new("host/1").unwrap()), None);
    assert_eq!(texts(&snapshot), ["do it", "answer", "thanks"]);
    for (after, expected) in [(0, 3), (1, 2), (3, 0), (99, 0)] {
        assert_eq!(snapshot.messages_after(after).count(), expected, "after {after}");
    }
    for found in snapshot.artifacts() {
        assert_eq!(snapshot.artifact(&found.task, &found.artifact.id), Some(found));
    }
    assert_eq!(snapshot.artifact(&task("u"), &ArtifactId::new("a").unwrap()), None);
    assert_eq!(snapshot.states().next().map(|(key, entry)| (key, entry.revision)), Some(("k", 1)));
    assert_eq!(value_and_revision(snapshot.state("k")), Some(("1".into(), 1)));
    assert_eq!(snapshot.tasks().map(|(task, _)| task.as_str()).collect::<Vec<_>>(), ["t"]);
    let usage = snapshot.usage();
    assert_eq!((usage.messages, usage.artifacts, usage.bytes), (3, 1, 5 + 6 + 6 + 1 + 2));
}

#[test]
fn the_artifacts_of_a_task_are_its_own_from_the_first_id_there_can_be() {
    let session = session();
    for name in ["s", "t", "t!", "u"] {
        let (mut admission, _) = working(&session, name);
        let published = ["!", "a", "\u{10ffff}"].map(|id| artifact(id, name));
        let output = published.into_iter().fold(TaskOutput::text(""), TaskOutput::with_artifact);
        admission.settle(completed(output)).unwrap();
    }
    let snapshot = session.snapshot();
    for name in ["s", "t", "t!", "u"] {
        let task = task(name);
        let theirs: Vec<_> = snapshot.artifacts().filter(|found| found.task == task).collect();
        assert_eq!(snapshot.artifacts_of(&task).collect::<Vec<_>>(), theirs);
        assert_eq!(theirs.len(), 3);
    }
    assert_eq!(snapshot.artifacts_of(&task("nobody")).count(), 0);
}

#[test]
fn nothing_done_later_changes_a_snapshot() {
    let session = session();
    now(session.set("k", json!(1))).unwrap();
    now(session.post(Message::user("first"))).unwrap();
    let (mut admission, handle) = working(&session, "t");
    handle.publish(artifact("a", "old")).unwrap();
    let then = session.snapshot();
    let copy = then.clone();

    admission.settle(completed("answer")).unwrap();
    now(session.erase("k")).unwrap();
    now(session.set_metadata("m", json!(1))).unwrap();
    now(session.trim(1)).unwrap();
    drop(session);

    for snapshot in [then, copy] {
        assert_eq!(ids(&snapshot), ["host/1", "t/1/input"]);
        assert_eq!(snapshot.artifacts().len(), 0);
        assert_eq!(value_and_revision(snapshot.state("k")), Some(("1".into(), 1)));
        assert_eq!(snapshot.task(&task("t")).unwrap().status, TaskStatus::Working);
        assert_eq!(snapshot.metadata("m"), None);
        assert_eq!(snapshot.usage().messages, 2);
    }
}

#[test]
fn activity_says_whether_anybody_comes_back() {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    let check = |status: TaskStatus, expected: (usize, usize)| {
        let session = session();
        let kept = reach(&session, "t", status);
        let activity = session.activity();
        assert_eq!((activity.active, activity.paused, activity.detached), (expected.0, expected.1, 0));
        assert_eq!(session.snapshot().activity(), activity);
        assert_eq!(session.is_idle(), expected == (0, 0), "{status}");
        drop(kept);
    };
    check(Submitted, (1, 0));
    check(Working, (1, 0));
    check(InputRequired, (0, 1));
    for ended in [Completed, Failed, Blocked, Cancelled, TimedOut] {
        check(ended, (0, 0));
    }

    let session = session();
    let (mut admission, _) = working(&session, "t");
    let mut late = report(TimedOut);
    late.detached = true;
    admission.settle(late).unwrap();
    assert_eq!((session.activity().detached, session.is_idle()), (1, false));
    assert!(session.admit(attempt("t")).unwrap_err().to_string().starts_with("task `t` is timed_out"));
}
