//! Agents as a registry knows them: who they are and what they declare to be able to do.

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::{Map, Value};

use crate::{AgentId, IdError, SkillId};

/// What a host attaches to an agent, a task or an output; the SDK carries it and never reads it.
pub type Metadata = Map<String, Value>;

/// Who an agent is, and what it declares to be able to do.
///
/// Built in one expression; a bad id or skill is kept and returned where the descriptor is used or serialised:
///
/// ```
/// use convoke_core::AgentDescriptor;
///
/// let reviewer = AgentDescriptor::new("reviewer").with_role("quality-review").with_skill("review").with_max_concurrency(2);
/// assert!(reviewer.check().is_ok());
///
/// let blank = AgentDescriptor::new("reviewer").with_skill(" ");
/// assert_eq!(blank.check().unwrap_err().to_string(), "skill id ` ` begins or ends with a blank; trim it");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentDescriptor {
    id: AgentId,
    /// A name for people; empty unless set.
    #[serde(default)]
    pub name: String,
    /// The part that it plays in the team; may be empty.
    #[serde(default)]
    pub role: String,
    /// What it does, in a sentence for people.
    #[serde(default)]
    pub description: String,
    /// What it can be asked for. Skills match exactly, byte for byte.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// What the host attaches.
    #[serde(default)]
    pub metadata: Metadata,
    /// How many tasks it works on at a time; 1 unless set. Zero is refused at registration.
    #[serde(default = "one")]
    pub max_concurrency: u32,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none", serialize_with = "refuse_defect")]
    defect: Option<IdError>,
}

fn one() -> u32 {
    1
}

/// A descriptor whose bad part was left out must not arrive elsewhere as a good one.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn refuse_defect<S: Serializer>(defect: &Option<IdError>, _: S) -> Result<S::Ok, S::Error> {
    let problem = defect.as_ref().map(ToString::to_string).unwrap_or_default();
    Err(ser::Error::custom(format_args!("agent descriptor cannot be written: {problem}")))
}

impl AgentDescriptor {
    /// An agent without skills that works on one task at a time.
    pub fn new<I>(id: I) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        let (id, defect) = match id.try_into() {
            Ok(id) => (id, None),
            Err(error) => (AgentId::from_generated("unnamed"), Some(error.into())),
        };
        Self {
            id,
            name: String::new(),
            role: String::new(),
            description: String::new(),
            skills: Vec::new(),
            metadata: Metadata::new(),
            max_concurrency: 1,
            defect,
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the part that it plays in the team.
    #[must_use]
    pub fn with_role(mut self, role: impl Into<String>) -> Self {
        self.role = role.into();
        self
    }

    /// Sets the sentence for people.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Declares a skill: its id, or a whole [`Skill`].
    #[must_use]
    pub fn with_skill<S>(mut self, skill: S) -> Self
    where
        S: TryInto<Skill>,
        S::Error: Into<IdError>,
    {
        match skill.try_into() {
            Ok(skill) => self.skills.push(skill),
            Err(error) => {
                self.defect.get_or_insert(error.into());
            }
        }
        self
    }

    /// Sets how many tasks it works on at a time.
    #[must_use]
    pub fn with_max_concurrency(mut self, max_concurrency: u32) -> Self {
        self.max_concurrency = max_concurrency;
        self
    }

    /// Attaches a value.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The agent's id; `unnamed` where the text given was no id, which [`check`](Self::check) reports.
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// Whether every part of the descriptor is what it must be.
    ///
    /// # Errors
    ///
    /// The first bad id that building it met.
    pub fn check(&self) -> Result<(), IdError> {
        self.defect.clone().map_or(Ok(()), Err)
    }
}

/// What an agent can be asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Skill {
    /// What a task requires; matched exactly.
    pub id: SkillId,
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// What it does, in a sentence for people.
    #[serde(default)]
    pub description: String,
    /// Words to find it by; routing does not read them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What the host attaches.
    #[serde(default)]
    pub metadata: Metadata,
    /// The package that it comes from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SkillOrigin>,
}

impl Skill {
    /// A skill with nothing but its id.
    pub fn new(id: SkillId) -> Self {
        Self {
            id,
            name: String::new(),
            description: String::new(),
            tags: Vec::new(),
            metadata: Metadata::new(),
            origin: None,
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the sentence for people.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds a word to find it by.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Says which package it comes from.
    #[must_use]
    pub fn with_origin(mut self, origin: SkillOrigin) -> Self {
        self.origin = Some(origin);
        self
    }
}

impl TryFrom<&str> for Skill {
    type Error = IdError;

    fn try_from(id: &str) -> Result<Self, IdError> {
        Ok(Self::new(SkillId::new(id)?))
    }
}

impl TryFrom<String> for Skill {
    type Error = IdError;

    fn try_from(id: String) -> Result<Self, IdError> {
        Ok(Self::new(SkillId::new(id)?))
    }
}

impl From<SkillId> for Skill {
    fn from(id: SkillId) -> Self {
        Self::new(id)
    }
}

/// The skill package that a skill was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SkillOrigin {
    /// The name of the package.
    pub package: String,
    /// The digest of its content, for example `sha256:..`.
    pub digest: String,
}

impl SkillOrigin {
    /// The package's name and digest.
    pub fn new(package: impl Into<String>, digest: impl Into<String>) -> Self {
        Self { package: package.into(), digest: digest.into() }
    }
}
