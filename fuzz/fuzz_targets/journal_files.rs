#![no_main]

#[path = "../../crates/convoke-journal/tests/it/fuzzed/journal_files.rs"]
mod journal_files;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    journal_files::check(bytes);
});
