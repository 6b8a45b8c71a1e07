//! The corpora of the fuzz targets, whose bodies stand here.

mod plan_codec;
mod plan_from_text;
mod plan_records;

use std::{fs, path::Path};

/// Gives each file of a corpus to the body of its target, which says whether it is something that is read.
fn replay(target: &str, check: fn(&[u8]) -> bool) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    if !fuzz.join("Cargo.toml").is_file() {
        // An archive of the crate comes without the corpora.
        return;
    }
    let mut counts = [0, 0];
    for entry in fs::read_dir(fuzz.join("corpus").join(target)).unwrap() {
        let path = entry.unwrap().path();
        // Shown where it fails.
        println!("{}", path.display());
        counts[usize::from(check(&fs::read(&path).unwrap()))] += 1;
    }
    assert!(counts.iter().all(|count| *count > 2), "one way out is hardly taken: {counts:?}");
}

#[test]
fn plan_codec() {
    replay("plan_codec", plan_codec::check);
}

#[test]
fn plan_from_text() {
    replay("plan_from_text", plan_from_text::check);
}

#[test]
fn plan_records() {
    replay("plan_records", plan_records::check);
}
