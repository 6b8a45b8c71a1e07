#![no_main]

#[path = "../../crates/convoke-planning/tests/it/fuzzed/plan_records.rs"]
mod plan_records;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    plan_records::check(bytes);
});
