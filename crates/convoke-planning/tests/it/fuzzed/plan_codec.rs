//! Whatever is read as a plan or a draft is written and read as the same, checked, repaired and drawn.

use convoke_planning::{PlanCodec, PlanNormalizer, PlanValidator};

/// Whether it is read.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(json) = str::from_utf8(bytes) else { return false };
    let codec = PlanCodec::default();
    let plan = codec.decode(json).ok();
    if let Some(plan) = &plan {
        let written = codec.encode(plan).expect("what was read can be written");
        assert_eq!(codec.decode(&written).expect("what was written can be read"), *plan);
        _ = (plan.to_dot(), plan.to_mermaid());
    }
    let draft = codec.decode_draft(json).ok();
    let is_read = plan.is_some() || draft.is_some();
    if let Some(draft) = draft {
        let written = codec.encode_draft(&draft).expect("what was read can be written");
        assert_eq!(codec.decode_draft(&written).expect("what was written can be read"), draft);
        let normalized = PlanNormalizer::new().normalize(draft).draft;
        assert_eq!(PlanNormalizer::new().normalize(normalized.clone()).draft, normalized, "repaired twice");
        if let Ok(plan) = PlanValidator::default().validate(normalized) {
            let written = codec.encode(&plan).expect("a plan can be written");
            assert_eq!(codec.decode(&written).expect("what was written can be read"), plan);
        }
    }
    is_read
}
