//! Whatever is in the files of a log gives its records or an error, and changes only what is the owner's to change.
//!
//! The first byte of the input has flags, and what follows is files: a byte for the kind, eight for the place in the log,
//! two for the length, and the bytes of the file. Most inputs have the checksums put right, without which hardly anything
//! would get past them.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use convoke_core::{
    Claim, Commit, CommitId, Journal, JournalErrorKind, LogContents, LogId, OwnerId, ReadFrom, Sequence,
    Snapshot,
};
use convoke_journal::FileJournal;
use tokio::{
    runtime::{Builder, Runtime},
    time,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The checksums stay as they are.
const RAW: u8 = 1;

/// There is no lock.
const UNLOCKED: u8 = 2;

const SLOT_BYTES: usize = 512;
const FRAME_HEADER: usize = 40;

type Files = BTreeMap<String, Vec<u8>>;

thread_local! {
    // The thread that blocks is kept from one input to the next.
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime can be made");
}

/// Whether the log can be read.
pub(crate) fn check(input: &[u8]) -> bool {
    let Some((flags, rest)) = input.split_first() else { return false };
    let files = files(*flags, rest);
    let root = tempfile::tempdir().expect("a folder can be made");
    let folder = root.path().join("log");
    fs::create_dir_all(folder.join("signals")).expect("a folder can be made");
    for (name, bytes) in &files {
        fs::write(folder.join(name), bytes).expect("a file can be written");
    }
    RUNTIME.with(|runtime| runtime.block_on(look(root.path(), &files)))
}

fn log() -> LogId {
    LogId::new("log").unwrap()
}

fn files(flags: u8, mut input: &[u8]) -> Files {
    let mut files = Files::new();
    if flags & UNLOCKED == 0 {
        files.insert("lock".into(), vec![]);
    }
    while let Some((kind, place, mut bytes)) = next_file(&mut input) {
        let (name, seal): (_, fn(&mut [u8])) = match kind % 6 {
            0 => ("lock".to_owned(), seal_lock),
            1 => (format!("segment-{place:020}"), seal_segment),
            2 => (format!("snapshot-{place:020}"), seal_snapshot),
            3 => (format!("signals/s{place}"), seal_signal),
            4 => (format!("torn-{place:020}"), |_| {}),
            _ => (format!("segment-{place:020}~unfinished"), |_| {}),
        };
        if flags & RAW == 0 {
            seal(&mut bytes);
        }
        files.insert(name, bytes);
    }
    files
}

/// Also where it is shorter than it says.
fn next_file(input: &mut &[u8]) -> Option<(u8, u64, Vec<u8>)> {
    let (header, rest) = input.split_first_chunk::<11>()?;
    let length = usize::from(u16::from_le_bytes([header[9], header[10]])).min(rest.len());
    let (bytes, rest) = rest.split_at(length);
    *input = rest;
    Some((header[0], number(header, 1)?, bytes.to_vec()))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// Puts the checksum of `bytes[of]` to `at`, where there is room for it.
fn put(bytes: &mut [u8], of: std::ops::Range<usize>, at: usize, seed: u64) -> Option<()> {
    let checksum = xxh3_64_with_seed(bytes.get(of)?, seed);
    *bytes.get_mut(at..)?.first_chunk_mut()? = checksum.to_le_bytes();
    Some(())
}

fn seal_lock(bytes: &mut [u8]) {
    for slot in bytes.chunks_mut(SLOT_BYTES) {
        if let Some(end) = length(slot, 13).and_then(|owner| owner.checked_add(17)) {
            put(slot, 0..end, end, 0);
        }
    }
}

fn seal_segment(bytes: &mut [u8]) {
    let (Some(salt), Some(log)) = (number(bytes, 8), length(bytes, 24)) else { return };
    let Some(end) = log.checked_add(28) else { return };
    let mut sealed = put(bytes, 0..end, end, salt);
    let mut start = end + 8;
    while let (Some(()), Some(body)) = (sealed, length(bytes, start + 4)) {
        let (header, end) = (start + FRAME_HEADER, start + FRAME_HEADER + body);
        sealed = put(bytes, header..end, start + 24, salt)
            .and_then(|()| put(bytes, start..start + 32, start + 32, salt));
        start = end;
    }
}

fn seal_snapshot(bytes: &mut [u8]) {
    if let (Some(salt), Some(end)) = (number(bytes, 8), bytes.len().checked_sub(8)) {
        put(bytes, 0..end, end, salt);
    }
}

fn seal_signal(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(8) {
        put(bytes, 0..end, end, 0);
    }
}

async fn look(root: &Path, before: &Files) -> bool {
    let journal = FileJournal::open(root).await.expect("the folder is there");
    let latest = read(&journal, ReadFrom::Latest).await;
    for place in [0, 1, 2, u64::MAX - 1, u64::MAX].map(Sequence::new) {
        _ = read(&journal, ReadFrom::Record(place)).await;
        _ = read(&journal, ReadFrom::Before(place)).await;
    }
    journal.list("").await.expect("the folder can be listed");
    if let Ok(contents) = &latest {
        let whole = read(&journal, ReadFrom::Before(contents.next)).await;
        assert_eq!(whole.as_ref(), Ok(contents));
        let records = read(&journal, ReadFrom::Record(contents.first)).await;
        assert_eq!(records.map(|read| read.records).as_ref(), Ok(&contents.records));
    }
    assert_eq!(stored(root), *before, "reading changed something");
    let claimed = journal.claim(&log(), &OwnerId::new("me").unwrap(), Duration::ZERO).await;
    let claim = match claimed {
        Ok(claim) => claim,
        Err(error) => {
            let kinds = [JournalErrorKind::Damaged, JournalErrorKind::NotFound];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert_eq!(stored(root), *before, "a refused claim changed something");
            return latest.is_ok();
        }
    };
    let contents = latest.expect("what can be claimed can be read");
    assert_eq!(claim.next, contents.next);
    go_on(root, &journal, claim, (&contents, before)).await;
    true
}

async fn read(journal: &FileJournal, from: ReadFrom) -> Result<LogContents, JournalErrorKind> {
    let read = journal.read(&log(), from).await;
    if let Err(error) = &read {
        let is_expected = matches!(
            error.kind(),
            JournalErrorKind::Damaged | JournalErrorKind::NotFound | JournalErrorKind::Compacted { .. }
        );
        assert!(is_expected, "{error}");
    }
    read.map_err(|error| error.kind())
}

/// The owner appends, hears signals, compacts, and leaves the log to the next one.
async fn go_on(root: &Path, journal: &FileJournal, claim: Claim, (found, before): (&LogContents, &Files)) {
    let (log, token) = (log(), claim.token);
    let commit = Commit::new(CommitId::new("not one of those before").unwrap(), token, claim.next);
    let committed = match journal.append(&log, commit.with_record("new")).await {
        Ok(committed) => committed,
        Err(error) => {
            let expected = (JournalErrorKind::TooLarge, Sequence::new(u64::MAX));
            assert_eq!((error.kind(), found.next), expected, "{error}");
            return journal.release(&log, token).await.expect("it was held");
        }
    };
    assert_eq!((committed.first, committed.next), (found.next, found.next.after(1)));
    let after = read(journal, ReadFrom::Latest).await.expect("what is appended to can be read");
    assert_eq!(after.records.split_last().expect("one is new").1, found.records);
    assert_eq!((&after.snapshot, after.next), (&found.snapshot, found.next.after(1)));
    check_changes(before, &stored(root));

    for _ in 0..3 {
        // The clock moves when nothing else does.
        match time::timeout(Duration::from_secs(2), journal.next_signals(&log, token)).await {
            Ok(Ok(signals)) => assert!(signals.is_sorted_by_key(|signal| signal.id.clone())),
            Ok(Err(error)) => assert_eq!(error.kind(), JournalErrorKind::Damaged, "{error}"),
            Err(_) => break,
        }
    }
    journal.release(&log, token).await.expect("it was held");

    let other = FileJournal::open(root).await.expect("the folder is there");
    let later = other.claim(&log, &OwnerId::new("you").unwrap(), Duration::ZERO).await;
    let later = match later {
        Ok(later) => later,
        Err(error) => {
            assert_eq!((error.kind(), token.get()), (JournalErrorKind::Damaged, u64::MAX), "{error}");
            return;
        }
    };
    assert!(later.token > token, "the token {token} was given twice");
    assert_eq!(later.next, after.next);
    let snapshot = Snapshot::new(later.next, ["all"]);
    other.compact(&log, later.token, snapshot.clone()).await.expect("the end is known");
    let compacted = read(&other, ReadFrom::Latest).await.expect("what was compacted can be read");
    assert_eq!(compacted, LogContents::new(later.next, vec![]).with_snapshot(snapshot));
    other.release(&log, later.token).await.expect("it was held");
}

/// The lock and the last segment change, and what is cut off from that is set aside.
fn check_changes(before: &Files, after: &Files) {
    let is_segment = |name: &&String| name.starts_with("segment-") && !name.contains('~');
    let last = before.keys().filter(is_segment).max().expect("what can be read has a segment");
    for (name, bytes) in before.iter().filter(|(name, _)| *name != last && *name != "lock") {
        // A signal goes once the commit that took it is durable.
        let is_gone = name.starts_with("signals/") && !after.contains_key(name);
        assert!(is_gone || after.get(name) == Some(bytes), "`{name}` was changed");
    }
    let new: Vec<_> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(new.len() < 2 && new.iter().all(|name| name.starts_with("torn-")), "{new:?}");
    let torn = new.first().map_or(&[][..], |name| &after[*name]);
    let kept = before[last].strip_suffix(torn).expect("what was set aside was the end");
    assert!(after[last].starts_with(kept) && after[last].len() > kept.len());
}

fn stored(root: &Path) -> Files {
    let mut files = Files::new();
    for (folder, prefix) in [(root.join("log"), ""), (root.join("log/signals"), "signals/")] {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_file() {
                let name = path.file_name().expect("an entry has a name").to_string_lossy();
                files.insert(format!("{prefix}{name}"), fs::read(&path).expect("a file can be read"));
            }
        }
    }
    files
}
