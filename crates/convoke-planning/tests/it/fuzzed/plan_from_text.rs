//! An answer of a model gives the draft of one object in it, or an error.

use convoke_planning::PlanCodec;

/// Whether it has a draft.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let codec = PlanCodec::default();
    let found = codec.from_text(text);
    if let Ok(draft) = &found {
        let json = codec.encode_draft(draft).expect("what was read can be written");
        let fenced = format!("```json\n{json}\n```");
        assert_eq!(codec.from_text(&fenced).expect("an object alone is found"), *draft);
    }
    // What is a draft as it stands is found as it stands.
    if text.starts_with('{')
        && text.ends_with('}')
        && let Ok(draft) = codec.decode_draft(text)
    {
        assert_eq!(codec.from_text(text).expect("a draft is an object"), draft);
    }
    found.is_ok()
}
