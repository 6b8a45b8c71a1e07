//! Files that are moved away between opening and locking.

#![cfg(unix)]

use std::fs;

use super::{add_to, lock, open};

#[test]
fn a_file_that_is_moved_away_before_it_is_locked_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let (path, older) = (folder.path().join("events"), folder.path().join("events.1"));

    let file = add_to(&path).unwrap();
    fs::rename(&path, &older).unwrap();
    assert!(lock(&path, file).unwrap().is_none(), "nothing is there");

    let file = add_to(&path).unwrap();
    fs::rename(&path, &older).unwrap();
    fs::write(&path, "next\n").unwrap();
    assert!(lock(&path, file).unwrap().is_none(), "another file is there");

    let opened = open(&path).unwrap();
    assert_eq!((opened.bytes, opened.is_regular), (5, true));
    assert!(lock(&path, add_to(&path).unwrap()).is_err(), "it is in use");
}
