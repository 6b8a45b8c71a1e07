//! Logs that somebody changed from outside.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use convoke_core::{Journal, JournalErrorKind, ReadFrom};
use convoke_journal::FileJournal;
use convoke_planning::{FunctionStepExecutor, PlanError, PlanRunner, UnreadableLog, machine::StopReason};

use super::{id, journal_of, log, told::head};
use crate::{
    fixtures::{plan, step},
    run::support::standing,
};

/// The bytes of all files below a folder, by path.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

async fn reader(folder: &Path) -> PlanRunner {
    let executor = FunctionStepExecutor::new(|_, ctx| async move { Ok(ctx.step().id.as_str().to_owned()) });
    let journal = FileJournal::open(folder).await.unwrap();
    PlanRunner::builder().executor(executor).journal(journal).build().unwrap()
}

/// What may be said of a log that was changed from outside.
fn is_clear(error: &PlanError) -> bool {
    match error {
        PlanError::Journal { source, .. } => source.kind() == JournalErrorKind::Damaged,
        // Nothing of it is left.
        PlanError::Unreadable { source: UnreadableLog::Incomplete, .. } | PlanError::NotFound { .. } => true,
        _ => false,
    }
}

#[tokio::test]
async fn no_byte_of_a_finished_log_can_change_what_is_read_from_it() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let folder = folder.path();
    let whole = reader(folder).await.run_plan(plan([step("a"), step("b").input_from("a")])).await.unwrap();
    assert_eq!(whole.stop, StopReason::Completed);
    let written = bytes_of(folder);

    // What may be read: the state after any of the records.
    let contents =
        FileJournal::open(folder).await.unwrap().read(&log(), ReadFrom::Latest).await.unwrap().records;
    let mut states = Vec::new();
    for kept in head(&contents)..=contents.len() {
        let journal = journal_of(&contents[..kept]).await;
        let runner = PlanRunner::builder()
            .executor(FunctionStepExecutor::new(|_, _| async { Ok("") }))
            .journal(journal);
        states.push(runner.build().unwrap().status(&id()).await.unwrap());
    }

    let (mut read, mut refused, mut resumed) = (0, 0, 0);
    for (path, bytes) in &written {
        for place in 0..bytes.len() {
            let flipped = |by: u8| {
                let mut bytes = bytes.clone();
                bytes[place] ^= by;
                bytes
            };
            for (what, changed) in [
                ("cut", bytes[..place].to_vec()),
                ("flipped", flipped(1 << (place % 8))),
                ("inverted", flipped(0xff)),
            ] {
                let what = format!("`{}`, byte {place} {what}", path.display());
                fs::write(path, &changed).unwrap();
                let before = bytes_of(folder);
                match reader(folder).await.status(&id()).await {
                    Ok(found) => {
                        read += 1;
                        assert!(states.contains(&found), "{what}: {found:?}");
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(is_clear(&error), "{what}: {error:?}");
                    }
                }
                assert_eq!(bytes_of(folder), before, "{what}: reading changed a file");
                match reader(folder).await.resume(&id()).await {
                    Ok(run) => {
                        resumed += 1;
                        assert_eq!((run.stop, standing(&run)), (whole.stop, standing(&whole)), "{what}");
                    }
                    Err(error) => {
                        assert!(is_clear(&error), "{what}: {error:?}");
                        let segment =
                            |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with("segment");
                        let mut after = bytes_of(folder);
                        after.retain(|path, _| segment(path));
                        assert!(after.iter().all(|(path, bytes)| before.get(path) == Some(bytes)), "{what}");
                    }
                }
                for path in bytes_of(folder).keys() {
                    fs::remove_file(path).unwrap();
                }
                for (path, bytes) in &written {
                    fs::write(path, bytes).unwrap();
                }
            }
        }
    }
    assert!(
        read > 100 && refused > 100 && resumed > 100,
        "{read} read, {refused} refused, {resumed} resumed"
    );
}
