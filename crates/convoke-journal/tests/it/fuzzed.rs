//! The corpus of the fuzz target, whose body stands here.

mod journal_files;

use std::{fs, path::Path};

#[test]
fn journal_files() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    if !fuzz.join("Cargo.toml").is_file() {
        // An archive of the crate comes without the corpus.
        return;
    }
    let mut counts = [0, 0];
    for entry in fs::read_dir(fuzz.join("corpus/journal_files")).unwrap() {
        let path = entry.unwrap().path();
        // Shown where it fails.
        println!("{}", path.display());
        counts[usize::from(journal_files::check(&fs::read(&path).unwrap()))] += 1;
    }
    assert!(counts.iter().all(|count| *count > 2), "one way out is hardly taken: {counts:?}");
}
