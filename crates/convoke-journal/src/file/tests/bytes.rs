//! Every byte of a finished log flipped, or all from there on cut away.

use std::collections::BTreeMap;

use convoke_core::{Claim, Commit, CommitId, Journal, JournalErrorKind, LogContents, ReadFrom, Sequence};

use super::{
    script::{self, Progress, journal},
    sim_disk::{Crash, SimDisk},
};
use crate::FileJournal;

/// A finished log that has a snapshot with records behind it, older snapshots, and a signal that waits.
async fn finished() -> SimDisk {
    let disk = SimDisk::new();
    Progress::default().play(&journal(&disk), &mut None).await.unwrap();
    disk.after(Crash::PowerLoss)
}

#[tokio::test(start_paused = true)]
async fn whatever_byte_is_lost_what_is_read_is_a_prefix_or_an_error() {
    let whole = finished().await;
    let expected = journal(&whole).read(&script::log(), ReadFrom::Latest).await.unwrap();
    let mut counts = [0_usize; 3];
    for (path, bytes) in whole.files() {
        for place in 0..bytes.len() {
            for damage in 0..3_u8 {
                let mut changed = bytes.clone();
                match damage {
                    0 => changed.truncate(place),
                    1 => changed[place] ^= 1,
                    _ => changed[place] = !changed[place],
                }
                let disk = whole.after(Crash::Kill);
                disk.replace(&path, &changed);
                counts[check(&disk, &expected, &format!("{path} at {place} by {damage}")).await] += 1;
            }
        }
    }
    // Each way out was taken.
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// 0 for the same, 1 for a prefix, 2 for an error.
async fn check(disk: &SimDisk, expected: &LogContents, what: &str) -> usize {
    let before = disk.files();
    let read = journal(disk).read(&script::log(), ReadFrom::Latest).await;
    for from in [ReadFrom::Before(Sequence::new(12)), ReadFrom::Record(Sequence::new(12))] {
        match journal(disk).read(&script::log(), from).await {
            Ok(contents) if from == ReadFrom::Before(Sequence::new(12)) => {
                script::assert_prefix(&contents);
            }
            Ok(contents) => assert!(contents.next <= expected.next, "{what}"),
            Err(error) => assert_eq!(error.kind(), JournalErrorKind::Damaged, "{what}: {error}"),
        }
    }
    assert_eq!(
        (disk.files(), disk.counts().changes),
        (before.clone(), 0),
        "reading changed something: {what}"
    );
    match read {
        Ok(contents) => {
            script::assert_prefix(&contents);
            assert_eq!(contents.snapshot, expected.snapshot, "{what}");
            go_on(disk, &contents, what).await;
            usize::from(contents != *expected)
        }
        Err(error) => {
            assert_eq!(error.kind(), JournalErrorKind::Damaged, "{what}: {error}");
            let claimed = Progress::default().claim(&journal(disk)).await;
            assert_eq!(claimed.unwrap_err().kind(), JournalErrorKind::Damaged, "{what}");
            assert_eq!(disk.files(), before, "a damaged log was changed: {what}");
            2
        }
    }
}

async fn append(journal: &FileJournal, claim: Claim, record: &str) {
    let id = CommitId::new(record).unwrap();
    let commit = Commit::new(id, claim.token, claim.next).with_record(record);
    journal.append(&script::log(), commit).await.unwrap();
}

/// The next owner appends behind what can be read, and nothing that it cuts away is lost.
async fn go_on(disk: &SimDisk, contents: &LogContents, what: &str) {
    let before = disk.files();
    let owned = journal(disk);
    let claim: Claim = Progress::default().claim(&owned).await.unwrap();
    assert_eq!(claim.next, contents.next, "{what}");
    append(&owned, claim, "next").await;
    let after = owned.read(&script::log(), ReadFrom::Latest).await.unwrap();
    assert_eq!(after.next, contents.next.after(1), "{what}");
    assert_eq!(after.records.split_last().unwrap().1, contents.records, "{what}");
    let files = disk.files();
    let claim = Progress::default().claim(&owned).await.unwrap();
    append(&owned, claim, "and one more").await;
    let is_torn =
        |files: &BTreeMap<String, Vec<u8>>| files.keys().filter(|path| path.contains("/torn-")).count();
    assert_eq!(is_torn(&disk.files()), is_torn(&files), "what was mended is torn: {what}");
    let torn: Vec<_> =
        files.iter().filter(|(path, _)| path.contains("/torn-")).map(|(_, bytes)| bytes).collect();
    let (path, segment) = before.iter().rfind(|(path, _)| path.contains("/segment-")).unwrap();
    let mended = &files[path];
    let kept = segment.iter().zip(mended).take_while(|(before, after)| before == after).count();
    // Nothing of the segment goes that is not set aside; what is new may begin as that does.
    let [lost] = torn[..] else {
        assert!(torn.is_empty() && kept == segment.len(), "{what}");
        return;
    };
    assert!(segment.ends_with(lost) && segment.len() - lost.len() <= kept, "{what}");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_frame_before_a_valid_one_is_damage_and_the_last_one_is_torn() {
    let whole = finished().await;
    let files = whole.files();
    let (path, bytes) = files.iter().rfind(|(path, _)| path.contains("/segment-")).unwrap();
    let frames: Vec<_> =
        bytes.windows(3).enumerate().filter(|(_, marker)| marker == b"cjf").map(|(at, _)| at).collect();
    assert_eq!(frames.len(), 2);
    for (number, start) in frames.into_iter().enumerate() {
        let mut changed = bytes.clone();
        changed[start + 50] ^= 1;
        whole.replace(path, &changed);
        let read = journal(&whole).read(&script::log(), ReadFrom::Latest).await;
        if number == 0 {
            let error = read.unwrap_err();
            let expected = format!(
                "log `plan/7` is damaged: `{path}` has an invalid frame before a valid one at byte {start}; nothing was \
                 changed, restore it"
            );
            assert_eq!((error.kind(), error.to_string()), (JournalErrorKind::Damaged, expected));
        } else {
            assert_eq!(read.unwrap().next, Sequence::new(14));
        }
    }
}
