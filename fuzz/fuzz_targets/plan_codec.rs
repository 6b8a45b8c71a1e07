#![no_main]

#[path = "../../crates/convoke-planning/tests/it/fuzzed/plan_codec.rs"]
mod plan_codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    plan_codec::check(bytes);
});
