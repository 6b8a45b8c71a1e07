//! Descriptors: what they keep, and what they refuse.

use proptest::prelude::*;
use serde_json::json;

use convoke_core::{AgentDescriptor, AgentId, Skill, SkillId, SkillOrigin};

use crate::values::{agent_id, assert_round_trip, metadata, skill_id, with_stranger};

#[test]
fn a_descriptor_is_made_of_texts_or_of_ids() {
    let by_text = AgentDescriptor::new("writer").with_skill("write").with_skill(String::from("edit"));
    let id = AgentId::new("writer").unwrap();
    let by_id = AgentDescriptor::new(&id)
        .with_skill(SkillId::new("write").unwrap())
        .with_skill(Skill::new(SkillId::new("edit").unwrap()));
    assert_eq!(by_text, by_id);
    assert_eq!(by_text.id(), &id);
    assert_eq!(by_text.max_concurrency, 1);
    assert_eq!(by_text.check(), Ok(()));
}

#[test]
fn the_first_bad_part_is_kept() {
    fn check(descriptor: &AgentDescriptor, expected: &str) {
        assert_eq!(descriptor.check().unwrap_err().to_string(), expected);
        let error = serde_json::to_string(descriptor).unwrap_err();
        assert_eq!(error.to_string(), format!("agent descriptor cannot be written: {expected}"));
    }
    check(&AgentDescriptor::new("").with_skill(" "), "agent id is empty; give it 1 to 256 bytes");
    check(
        &AgentDescriptor::new("writer").with_skill("write").with_skill("a\tb").with_skill(""),
        "skill id `a\\tb` has a control character at byte 1; remove it",
    );
    assert_eq!(AgentDescriptor::new("").id().as_str(), "unnamed");
}

#[test]
fn what_json_leaves_out_is_the_default() {
    let read: AgentDescriptor = serde_json::from_value(json!({ "id": "writer" })).unwrap();
    assert_eq!(read, AgentDescriptor::new("writer"));
    let read: Skill = serde_json::from_value(json!({ "id": "write" })).unwrap();
    assert_eq!(read, Skill::new(SkillId::new("write").unwrap()));
}

#[test]
fn json_must_name_a_good_id_and_no_field_too_many() {
    for json in [json!({}), json!({ "id": " " }), json!({ "id": "a", "skills": [{ "id": "" }] })] {
        assert!(serde_json::from_value::<AgentDescriptor>(json.clone()).is_err(), "{json}");
    }
    assert!(with_stranger(&AgentDescriptor::new("writer")).starts_with("unknown field `stranger`"));
    assert!(
        with_stranger(&Skill::new(SkillId::new("write").unwrap())).starts_with("unknown field `stranger`")
    );
    assert!(with_stranger(&SkillOrigin::new("book", "sha256:00")).starts_with("unknown field `stranger`"));
    let json = json!({ "id": "writer", "defect": null });
    assert!(serde_json::from_value::<AgentDescriptor>(json).is_err(), "what is kept for `check` is no field");
}

fn skill() -> impl Strategy<Value = Skill> {
    let origin = prop::option::of((".{0,5}", ".{0,5}"));
    (skill_id(), ".{0,8}", ".{0,8}", prop::collection::vec(".{0,4}", 0..3), metadata(), origin).prop_map(
        |(id, name, description, tags, metadata, origin)| {
            let mut skill = Skill::new(id).with_name(name).with_description(description);
            skill = tags.into_iter().fold(skill, Skill::with_tag);
            skill.metadata = metadata;
            skill.origin = origin.map(|(package, digest)| SkillOrigin::new(package, digest));
            skill
        },
    )
}

proptest! {
    #[test]
    fn a_descriptor_survives_being_written_and_read(
        id in agent_id(),
        words in (".{0,8}", ".{0,8}", ".{0,8}"),
        skills in prop::collection::vec(skill(), 0..3),
        metadata in metadata(),
        max_concurrency in any::<u32>(),
    ) {
        let mut descriptor = AgentDescriptor::new(id)
            .with_name(words.0)
            .with_role(words.1)
            .with_description(words.2)
            .with_max_concurrency(max_concurrency);
        descriptor = skills.into_iter().fold(descriptor, AgentDescriptor::with_skill);
        descriptor.metadata = metadata;
        assert_round_trip(&descriptor);
    }
}
