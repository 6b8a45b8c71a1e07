#![no_main]

#[path = "../../crates/convoke-planning/tests/it/fuzzed/plan_from_text.rs"]
mod plan_from_text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    plan_from_text::check(bytes);
});
