//! An answer of a model gives the draft of one object in it, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

use convoke_planning::PlanCodec;

fuzz_target!(|text: &str| {
    let codec = PlanCodec::default();
    if let Ok(draft) = codec.from_text(text) {
        let json = codec.encode_draft(&draft).expect("what was read can be written");
        assert_eq!(codec.from_text(&format!("```json\n{json}\n```")).expect("an object alone is found"), draft);
    }
    // What is a draft as it stands is found as it stands.
    if text.starts_with('{') && text.ends_with('}') {
        if let Ok(draft) = codec.decode_draft(text) {
            assert_eq!(codec.from_text(text).expect("a draft is an object"), draft);
        }
    }
});
