//! The two slots.

use convoke_core::{FencingToken, OwnerId};
use proptest::prelude::*;

use super::{LogState, SLOT_BYTES, Slot, encode, latest};

fn slot(token: u64) -> Slot {
    let owner = OwnerId::new(format!("owner-{token}")).unwrap();
    Slot { token: FencingToken::new(token), state: LogState::Claimed(owner) }
}

/// The file after the slots of `upto` claims, the last cut short after so many bytes.
fn file(upto: u64, bytes_of_last: usize) -> Vec<u8> {
    let mut file = vec![0; 2 * SLOT_BYTES];
    for token in 1..=upto {
        let start = usize::try_from(token % 2).unwrap() * SLOT_BYTES;
        let bytes = if token == upto { bytes_of_last } else { SLOT_BYTES };
        file[start..start + bytes].copy_from_slice(&encode(&slot(token))[..bytes]);
    }
    file
}

#[test]
fn a_claim_that_is_cut_short_leaves_the_one_before() {
    for upto in 2..6 {
        for bytes in 0..SLOT_BYTES {
            let found = latest(&file(upto, bytes)).unwrap();
            assert!(found == slot(upto) || found == slot(upto - 1), "{found:?} at {bytes} of {upto}");
        }
        assert_eq!(latest(&file(upto, SLOT_BYTES)), Some(slot(upto)));
    }
    assert_eq!(latest(&[]), None);
}

#[test]
fn a_deleted_log_says_so() {
    let deleted = Slot { token: FencingToken::new(4), state: LogState::Deleted };
    let mut bytes = encode(&deleted);
    bytes.extend(encode(&slot(3)));
    assert_eq!(latest(&bytes), Some(deleted));
}

#[test]
fn the_longest_owner_fits() {
    let owner = OwnerId::new("x".repeat(256)).unwrap();
    let slot = Slot { token: FencingToken::new(u64::MAX), state: LogState::Claimed(owner) };
    assert_eq!((encode(&slot).len(), latest(&encode(&slot))), (SLOT_BYTES, Some(slot)));
}

proptest! {
    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..1_100)) {
        prop_assert_eq!(latest(&bytes), None);
    }
}
