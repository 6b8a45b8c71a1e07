//! Artifacts: named results that a session keeps beside its messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ArtifactId, IdError, json_is_too_deep, json_size};

/// A named result of a task: a text, a JSON value, or both.
///
/// The session keys it by task and id, so that two tasks never overwrite each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Artifact {
    /// Its name within the task.
    pub id: ArtifactId,
    /// The text.
    #[serde(default)]
    pub text: String,
    /// The JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The media type of the text, for example `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

impl Artifact {
    /// An artifact that is a text.
    ///
    /// # Errors
    ///
    /// [`IdError`] where `id` is no id.
    pub fn text<I>(id: I, text: impl Into<String>) -> Result<Self, IdError>
    where
        I: TryInto<ArtifactId>,
        I::Error: Into<IdError>,
    {
        Ok(Self { id: id.try_into().map_err(Into::into)?, text: text.into(), data: None, media_type: None })
    }

    /// An artifact that is a JSON value.
    ///
    /// # Errors
    ///
    /// [`IdError`] where `id` is no id.
    pub fn data<I>(id: I, data: Value) -> Result<Self, IdError>
    where
        I: TryInto<ArtifactId>,
        I::Error: Into<IdError>,
    {
        Ok(Self {
            id: id.try_into().map_err(Into::into)?,
            text: String::new(),
            data: Some(data),
            media_type: None,
        })
    }

    /// Says what the text is, for example `text/markdown`.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.data.as_ref().is_some_and(json_is_too_deep)
    }

    /// The bytes of text and data, as session limits count them.
    pub fn size(&self) -> usize {
        self.text.len() + self.data.as_ref().map_or(0, json_size)
    }
}
