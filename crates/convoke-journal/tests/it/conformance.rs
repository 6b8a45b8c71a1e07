//! Both journals hold the contract.

use convoke_core::AnyJournal;
use convoke_journal::{FileJournal, MemoryJournal, Retain};
use convoke_testkit::conformance;

#[tokio::test(start_paused = true)]
async fn a_memory_journal_conforms() {
    conformance::journal(&MemoryJournal::new()).await;
    conformance::journal(&MemoryJournal::retaining(Retain::Everything)).await;
    conformance::journal(&MemoryJournal::retaining(Retain::Snapshots(1))).await;
}

#[tokio::test(start_paused = true)]
async fn any_journal_conforms() {
    conformance::journal(&AnyJournal::new(MemoryJournal::new())).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_conforms() {
    let folder = tempfile::tempdir().unwrap();
    conformance::journal(&FileJournal::open(folder.path().join("a/b")).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_that_keeps_everything_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::builder(folder.path()).retain(Retain::Everything).open().await.unwrap();
    conformance::journal(&journal).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_journal_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    conformance::durable_journal(async || FileJournal::open(folder.path()).await.unwrap()).await;
}
