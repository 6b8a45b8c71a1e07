//! Whatever is read as a plan or a draft is written and read as the same, checked, repaired and drawn.

#![no_main]

use libfuzzer_sys::fuzz_target;

use convoke_planning::{PlanCodec, PlanNormalizer, PlanValidator};

fuzz_target!(|json: &str| {
    let codec = PlanCodec::default();
    if let Ok(plan) = codec.decode(json) {
        let written = codec.encode(&plan).expect("what was read can be written");
        assert_eq!(codec.decode(&written).expect("what was written can be read"), plan);
        let _ = (plan.to_dot(), plan.to_mermaid());
    }
    if let Ok(draft) = codec.decode_draft(json) {
        let written = codec.encode_draft(&draft).expect("what was read can be written");
        assert_eq!(codec.decode_draft(&written).expect("what was written can be read"), draft);
        let normalized = PlanNormalizer::new().normalize(draft).draft;
        let _ = PlanValidator::default().validate(normalized);
    }
});
