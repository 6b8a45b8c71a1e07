//! A failure at each call that changes something, and an end of the machine at each.

use std::time::Duration;

use convoke_core::{Claim, Commit, CommitId, Journal, JournalErrorKind, OwnerId, ReadFrom, Sequence};

use super::{
    script::{self, Progress, journal},
    sim_disk::{Crash, Fault, SimDisk},
};

/// More calls than the script makes.
const ENOUGH: usize = 1_000;

/// Some, for what a power loss leaves by chance.
const SEEDS: u64 = 8;

#[tokio::test(start_paused = true)]
async fn the_script_plays_to_its_end() {
    let disk = SimDisk::new();
    let mut progress = Progress::default();
    progress.play(&journal(&disk), &mut None).await.unwrap();
    assert!(progress.is_done());
    for crash in [Crash::Kill, Crash::PowerLoss] {
        progress.check(&journal(&disk.after(crash))).await;
    }
}

/// Whatever call fails: the claim is poisoned, what was answered can be read, and the same owner goes on after it.
#[tokio::test(start_paused = true)]
async fn a_call_that_fails_once_costs_a_claim_and_nothing_else() {
    for fault in [Fault::Once, Fault::Half] {
        let mut is_over = false;
        for call in 0..ENOUGH {
            let disk = SimDisk::new();
            disk.fail_at(call, fault);
            if go_on(&disk, call, fault).await {
                is_over = true;
                break;
            }
        }
        assert!(is_over, "there were more calls than tried");
    }
}

/// `true` where the fault did not strike.
async fn go_on(disk: &SimDisk, call: usize, fault: Fault) -> bool {
    let journal = journal(disk);
    let mut progress = Progress::default();
    let mut claim = None;
    let mut failures = 0;
    while let Err(error) = progress.play(&journal, &mut claim).await {
        failures += 1;
        assert!(failures <= 1, "call {call} {fault:?} was answered by a second error: {error:?}");
        progress.check(&journal).await;
        match error.kind() {
            JournalErrorKind::Io => {}
            JournalErrorKind::Poisoned => {
                if let Some(held) = claim {
                    let more = Commit::new(CommitId::new("more").unwrap(), held.token, held.next);
                    let refused = journal.append(&script::log(), more).await.unwrap_err();
                    assert_eq!(
                        refused.kind(),
                        JournalErrorKind::Poisoned,
                        "call {call} {fault:?}: {refused}"
                    );
                    claim = None;
                }
                progress.resume(&journal).await;
            }
            _ => panic!("call {call} {fault:?} was answered by {error:?}"),
        }
    }
    progress.check(&journal).await;
    // What was answered is durable even though a sync has failed on the way.
    let after = disk.after(Crash::PowerLoss);
    progress.check(&script::journal(&after)).await;
    disk.is_fault_left()
}

/// Wherever the machine ends, and whatever of its last writes is left: what was answered is there, nothing else is, and the
/// next owner goes on.
#[tokio::test(start_paused = true)]
async fn a_machine_that_ends_at_any_call_loses_nothing_that_was_answered() {
    for fault in [Fault::Forever, Fault::HalfForever] {
        let mut is_over = false;
        for call in 0..ENOUGH {
            let disk = SimDisk::new();
            disk.fail_at(call, fault);
            let mut progress = Progress::default();
            let done = progress.play(&journal(&disk), &mut None).await;
            if disk.is_fault_left() {
                is_over = true;
                break;
            }
            // A call that may fail was the last one, or the script has heard of it.
            assert!(done.is_err() || progress.is_done());
            let crashes = [Crash::Kill, Crash::PowerLoss].into_iter().chain((1..=SEEDS).map(|seed| {
                Crash::Some(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::try_from(call).unwrap())
            }));
            for crash in crashes {
                let after = disk.after(crash);
                let next = journal(&after);
                progress.check(&next).await;
                let mut resumed = progress.clone();
                resumed.resume(&next).await;
                // Once more, so that what the next owner has mended is durable too.
                resumed.check(&journal(&after.after(Crash::PowerLoss))).await;
            }
        }
        assert!(is_over, "there were more calls than tried");
    }
}

/// An answer says that a commit is durable, also where it was written by an earlier claim, or as a relaxed one.
#[tokio::test(start_paused = true)]
async fn a_repeat_is_as_durable_as_a_first() {
    let log = &script::log();
    let disk = SimDisk::new();
    let owned = journal(&disk);
    owned.create(log).await.unwrap();
    let claim = Progress::default().claim(&owned).await.unwrap();
    let commit = |claim: Claim, id: &str, place| {
        let id = CommitId::new(id).unwrap();
        Commit::new(id, claim.token, Sequence::new(place)).with_record("r")
    };
    let durable = async || {
        let after = journal(&disk.after(Crash::PowerLoss));
        after.read(log, ReadFrom::Latest).await.unwrap().next
    };
    owned.append(log, commit(claim, "relaxed", 0).relaxed()).await.unwrap();
    owned.append(log, commit(claim, "relaxed", 0).relaxed()).await.unwrap();
    assert_eq!(durable().await, Sequence::START);
    owned.append(log, commit(claim, "relaxed", 0)).await.unwrap();
    assert_eq!(durable().await, Sequence::new(1));

    // The write works, and its sync fails.
    disk.fail_at(1, Fault::Once);
    let error = owned.append(log, commit(claim, "strict", 1)).await.unwrap_err();
    assert_eq!(error.kind(), JournalErrorKind::Poisoned);
    let claim = Progress::default().claim(&owned).await.unwrap();
    assert_eq!((claim.next, durable().await), (Sequence::new(2), Sequence::new(1)));
    owned.append(log, commit(claim, "strict", 1)).await.unwrap();
    assert_eq!(durable().await, Sequence::new(2));
}

/// Also where no owner has written a record, so that the lock alone knows.
#[tokio::test(start_paused = true)]
async fn no_token_is_given_twice_wherever_the_machine_ends() {
    let mut ends = 0;
    // So long that half of a slot is not all that is in it.
    let owner = &OwnerId::new("x".repeat(250)).unwrap();
    let log = &script::log();
    for fault in [Fault::Forever, Fault::HalfForever] {
        for call in 0..ENOUGH {
            let disk = SimDisk::new();
            let first = journal(&disk);
            first.create(log).await.unwrap();
            disk.fail_at(call, fault);
            let mut answered = 0;
            for _ in 0..4 {
                let Ok(claim) = first.claim(log, owner, Duration::ZERO).await else { break };
                answered = claim.token.get();
                first.release(log, claim.token).await.unwrap();
            }
            if disk.is_fault_left() {
                break;
            }
            ends += 1;
            for crash in [Crash::Kill, Crash::PowerLoss, Crash::Some(3), Crash::Some(4), Crash::Some(5)] {
                let next = journal(&disk.after(crash));
                let token = next.claim(log, owner, Duration::ZERO).await.unwrap().token.get();
                assert!(token > answered, "{token} after {answered}, call {call} {fault:?} {crash:?}");
            }
        }
    }
    assert!(ends > 8, "{ends}");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_log_is_gone_or_there_whole_wherever_the_machine_ends() {
    for fault in [Fault::Forever, Fault::Once] {
        for call in 0..ENOUGH {
            let disk = SimDisk::new();
            let mut progress = Progress::default();
            let first = journal(&disk);
            progress.play(&first, &mut None).await.unwrap();
            let claim = progress.claim(&first).await.unwrap();
            disk.fail_at(call, fault);
            let done = first.delete(&script::log(), claim.token).await;
            if disk.is_fault_left() {
                break;
            }
            for crash in [Crash::Kill, Crash::PowerLoss, Crash::Some(7)] {
                let after = disk.after(crash);
                let next = journal(&after);
                match next.read(&script::log(), ReadFrom::Latest).await {
                    Ok(contents) => {
                        assert!(done.is_err(), "call {call}: a log was deleted, and is there");
                        assert_eq!(script::assert_prefix(&contents), progress.durable);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), JournalErrorKind::NotFound, "call {call}: {error}");
                        assert_eq!(next.list("").await.unwrap(), []);
                        next.create(&script::log()).await.unwrap();
                        let again = next.read(&script::log(), ReadFrom::Latest).await.unwrap();
                        assert_eq!((again.next, again.snapshot), (Sequence::START, None));
                    }
                }
            }
        }
    }
}
