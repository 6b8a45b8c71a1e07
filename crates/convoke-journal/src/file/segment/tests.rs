//! What reading makes of the bytes of a segment.

use convoke_core::{Commit, CommitId, FencingToken, LogId, Record, Sequence};
use proptest::prelude::*;

use super::{Damage, Segment, SegmentHeader};
use crate::file::frame::{Frame, encode_commit};

const SALT: u64 = 0x0123_4567_89AB_CDEF;

fn log() -> LogId {
    LogId::new("log").unwrap()
}

fn header() -> Vec<u8> {
    SegmentHeader { salt: SALT, first: Sequence::new(5), log: log() }.encode()
}

fn body(id: &str, record: impl Into<Record>) -> Vec<u8> {
    let id = CommitId::new(id).unwrap();
    encode_commit(&Commit::new(id, FencingToken::FIRST, Sequence::START).with_record(record))
}

/// A frame of one record.
fn frame(first: u64, token: u64, is_strict: bool, body: &[u8]) -> Vec<u8> {
    Frame::new(Sequence::new(first), FencingToken::new(token), is_strict, body).encode(SALT)
}

fn read(bytes: &[u8]) -> Result<Segment, Damage> {
    Segment::read(bytes, &log(), Sequence::new(5))
}

#[test]
fn all_before_the_last_strict_frame_that_something_follows_is_durable() {
    fn check(strict: &[bool], expected: usize) {
        let mut bytes = header();
        let mut ends = vec![bytes.len()];
        for (number, is_strict) in (5..).zip(strict) {
            bytes.extend(frame(number, 1, *is_strict, &body("c", "r")));
            ends.push(bytes.len());
        }
        let segment = read(&bytes).unwrap();
        assert_eq!((segment.end, segment.is_torn), (bytes.len(), false));
        assert_eq!((segment.durable.commits, segment.durable.end), (expected, ends[expected]), "{strict:?}");
    }
    check(&[], 0);
    check(&[true], 0);
    check(&[false, false], 0);
    check(&[true, false], 1);
    check(&[false, true], 0);
    check(&[false, true, true], 2);
    check(&[true, true, false, false], 2);
}

#[test]
fn records_that_have_no_numbers_are_damage() {
    let header = SegmentHeader { salt: SALT, first: Sequence::new(u64::MAX), log: log() }.encode();
    let read = |bytes: &[u8]| Segment::read(bytes, &log(), Sequence::new(u64::MAX));
    assert_eq!(read(&header).unwrap().next, Sequence::new(u64::MAX));
    let bytes = [header.clone(), frame(u64::MAX, 1, true, &body("c", "r"))].concat();
    let damage = Damage::new(header.len(), "has more records than there are numbers");
    assert_eq!(read(&bytes).unwrap_err(), damage);
}

#[test]
fn a_torn_frame_that_holds_a_copy_of_an_earlier_one_is_torn() {
    let first = frame(5, 1, true, &body("first", "r"));
    let copies = frame(6, 1, true, &body("copies", [&first[..], b"and more"].concat()));
    let mut bytes = header();
    bytes.extend(&first);
    let end = bytes.len();
    bytes.extend(&copies[..copies.len() - 1]);
    let segment = read(&bytes).unwrap();
    assert_eq!((segment.end, segment.is_torn, segment.next), (end, true, Sequence::new(6)));
    // What is still to come nobody can have copied.
    bytes.extend(frame(7, 1, true, &body("later", "r")));
    assert_eq!(read(&bytes).unwrap_err(), Damage::new(end, "has an invalid frame before a valid one"));
}

#[test]
fn a_frame_that_does_not_belong_there_is_damage() {
    let one = frame(5, 2, true, &body("one", "r"));
    let check = |frame: Vec<u8>, problem| {
        let bytes = [header(), one.clone(), frame].concat();
        assert_eq!(read(&bytes).unwrap_err(), Damage::new(header().len() + one.len(), problem));
    };
    check(frame(7, 2, true, &body("two", "r")), "has a frame that belongs elsewhere");
    check(frame(5, 2, true, &body("two", "r")), "has a frame that belongs elsewhere");
    check(frame(6, 1, true, &body("two", "r")), "has a frame of an owner whose time was over");
    check(frame(6, 2, true, b"no commit"), "has a frame that says nothing");

    let of_another = LogId::new("other").unwrap();
    assert_eq!(
        Segment::read(&header(), &of_another, Sequence::new(5)).unwrap_err().problem,
        "belongs to another log"
    );
    let other_place = Segment::read(&header(), &log(), Sequence::new(6)).unwrap_err();
    assert_eq!(other_place.problem, "begins at another record than its name says");
}

#[test]
fn a_frame_of_another_segment_is_none() {
    let foreign = Frame::new(Sequence::new(5), FencingToken::FIRST, true, &body("c", "r")).encode(SALT + 1);
    let segment = read(&[header(), foreign].concat()).unwrap();
    assert!(segment.is_torn && segment.commits.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_behind_whole_frames_are_torn(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        rest in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut bytes = header();
        for (number, record) in (5..).zip(&records) {
            bytes.extend(frame(number, 1, true, &body("c", record.clone())));
        }
        let end = bytes.len();
        bytes.extend(rest);
        let segment = read(&bytes).unwrap();
        prop_assert_eq!((segment.end, segment.is_torn), (end, true));
        let read: Vec<_> = segment.commits.iter().flat_map(|commit| &commit.records).map(|record| record.as_bytes().to_vec()).collect();
        prop_assert_eq!(read, records);
    }
}
