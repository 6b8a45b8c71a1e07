//! Several processes at one journal. The others run this very test, told by a variable of the environment what to do.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use convoke_core::{
    Claim, Commit, CommitId, Journal, JournalErrorKind, LogId, OwnerId, ReadFrom, Record, Sequence, Signal,
    SignalId,
};
use convoke_journal::FileJournal;

const ROLE: &str = "CONVOKE_JOURNAL_TEST_ROLE";
const FOLDER: &str = "CONVOKE_JOURNAL_TEST_FOLDER";

/// How long a signal of another process may take: it is looked for each second.
const PATIENCE: Duration = Duration::from_mins(1);

fn log() -> LogId {
    LogId::new("plan/7").unwrap()
}

async fn open(folder: &Path) -> FileJournal {
    FileJournal::open(folder).await.unwrap()
}

async fn claim(journal: &FileJournal, owner: &str) -> Claim {
    journal.claim(&log(), &OwnerId::new(owner).unwrap(), Duration::ZERO).await.unwrap()
}

fn commit(claim: Claim, number: u64) -> Commit {
    let id = CommitId::new(format!("{number}")).unwrap();
    // Large enough for a kill to come in the middle of a write now and then.
    Commit::new(id, claim.token, Sequence::new(number))
        .with_record(vec![u8::try_from(number % 251).unwrap(); 50_000])
}

/// Another process, which is killed when this is dropped.
struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(role: &str, folder: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "processes::the_other_process", "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What the next line says behind `word`.
    fn next(&mut self, word: &str) -> u64 {
        loop {
            let line = self.lines.next().expect("the other process goes on").unwrap();
            // The harness of the tests writes lines too, and one of ours may follow on the same line.
            if let Some((_, number)) = line.split_once(word) {
                return number.trim().parse().unwrap();
            }
        }
    }

    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.by_ref().map_while(Result::ok).collect()
    }
}

fn say(word: &str, number: u64) {
    println!("{word} {number}");
    std::io::stdout().flush().unwrap();
}

#[tokio::test]
async fn the_other_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let journal = open(env::var(FOLDER).unwrap().as_ref()).await;
    match role.as_str() {
        "own" => {
            say("token", claim(&journal, "other").await.token.get());
            std::future::pending::<()>().await;
        }
        "write" => {
            let claim = claim(&journal, "other").await;
            say("token", claim.token.get());
            for number in claim.next.get().. {
                journal.append(&log(), commit(claim, number)).await.unwrap();
                say("acknowledged", number);
            }
        }
        "signal" => {
            let signal = Signal::new(SignalId::new("approve/1").unwrap(), "yes");
            journal.signal(&log(), signal).await.unwrap();
        }
        _ => panic!("{role}"),
    }
}

#[tokio::test]
async fn a_log_has_one_owner_over_all_processes_until_that_one_dies() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path()).await;
    journal.create(&log()).await.unwrap();
    let mut other = Other::start("own", folder.path());
    let token = other.next("token");
    assert_eq!(token, 1);

    let refused = journal.claim(&log(), &OwnerId::new("me").unwrap(), Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), JournalErrorKind::Claimed);
    assert_eq!(refused.to_string(), "log `plan/7` is claimed by `other`; try again once it is released");
    let same_name = journal.claim(&log(), &OwnerId::new("other").unwrap(), Duration::ZERO).await.unwrap_err();
    assert_eq!(same_name.kind(), JournalErrorKind::Claimed, "a name is no claim");
    assert_eq!(
        journal.read(&log(), ReadFrom::Latest).await.unwrap().next,
        Sequence::START,
        "reading needs none"
    );

    other.kill();
    assert_eq!(claim(&journal, "me").await.token.get(), token + 1);
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_writes_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.create(&log()).await.unwrap();
    let mut written = 0;
    for round in 1..=12_u64 {
        let mut other = Other::start("write", folder.path());
        assert_eq!(other.next("token"), 2 * round - 1);
        let mut acknowledged = 0;
        for _ in 0..round {
            acknowledged = other.next("acknowledged");
        }
        let rest = other.kill();
        let last = rest.iter().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).max();
        acknowledged = last.unwrap_or(acknowledged);

        let journal = open(folder.path()).await;
        let contents = journal.read(&log(), ReadFrom::Latest).await.unwrap();
        assert!(
            contents.next.get() > acknowledged,
            "{} records, {acknowledged} was acknowledged",
            contents.next
        );
        assert!(contents.next.get() >= written);
        for (number, record) in (0..).zip(&contents.records) {
            assert_eq!(*record, Record::from(vec![u8::try_from(number % 251).unwrap(); 50_000]), "{number}");
        }
        // The next owner goes on where it ends.
        let claim = claim(&journal, "me").await;
        assert_eq!((claim.token.get(), claim.next), (2 * round, contents.next));
        journal.append(&log(), commit(claim, claim.next.get())).await.unwrap();
        written = claim.next.get() + 1;
        journal.release(&log(), claim.token).await.unwrap();
    }
}

#[tokio::test]
async fn a_signal_of_another_process_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path()).await;
    journal.create(&log()).await.unwrap();
    let claim = claim(&journal, "me").await;
    let log = log();
    let heard = tokio::time::timeout(PATIENCE, journal.next_signals(&log, claim.token));
    let (heard, mut other) = tokio::join!(heard, async { Other::start("signal", folder.path()) });
    let signal = Signal::new(SignalId::new("approve/1").unwrap(), "yes");
    assert_eq!(heard.unwrap().unwrap(), [signal]);
    assert!(other.child.wait().unwrap().success());
}
