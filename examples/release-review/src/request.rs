//! The request of a review: what was asked, about which sources, in which way.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{self, CanonicalError},
    digest::Digest,
    evidence::{Evidence, MAX_GOAL, MAX_RELEASE},
    mode::Mode,
    name::{Name, NameError},
    text::{TextError, check_line, check_lines},
};

/// The request of a review. It never changes once its directory is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    format: u32,
    id: Name,
    principal: Name,
    release: String,
    goal: String,
    mode: Mode,
    source_digest: Digest,
    created_at: Timestamp,
}

/// What a caller may choose. What is left out comes from `release.toml`, else from the evidence.
#[derive(Debug, Clone, Default)]
pub struct RequestOptions {
    /// The review's id; by default it comes from the digest of the sources.
    pub id: Option<String>,
    /// Who asks; `operator` by default.
    pub principal: Option<String>,
    /// What is asked; at most 2,000 characters.
    pub goal: Option<String>,
    /// How the specialists run; parallel by default.
    pub mode: Option<Mode>,
}

/// A request that is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// An id or a principal that is no name.
    #[error("the {field} `{found}` is refused: {reason}")]
    Name {
        /// Which of them.
        field: &'static str,
        /// What was given.
        found: String,
        /// What a name is.
        reason: NameError,
    },
    /// A text that is blank, too long or has hidden characters.
    #[error("the {field} {reason}")]
    Text {
        /// Which text.
        field: &'static str,
        /// What is wrong with it.
        reason: TextError,
    },
    /// Somebody who is not listed.
    #[error("`{principal}` is not among the principals of release.toml: {allowed}")]
    Principal {
        /// Who asks.
        principal: Name,
        /// Who may.
        allowed: String,
    },
    /// A version of the request that this program does not know.
    #[error("the request has format {found}, this program reads format {expected}")]
    Format {
        /// The known version.
        expected: u32,
        /// The version found.
        found: u32,
    },
}

/// The parts of a request that make it this one and no other. The time of creation is none of them.
#[derive(Serialize)]
struct Identity<'a> {
    format: u32,
    id: &'a Name,
    principal: &'a Name,
    release: &'a str,
    goal: &'a str,
    mode: Mode,
    source_digest: Digest,
}

impl Request {
    /// The version that this program writes and reads.
    pub const FORMAT: u32 = 1;

    /// The request of a review of this evidence.
    ///
    /// # Errors
    ///
    /// [`RequestError`] for an id or a goal out of range, and for somebody who is not among the principals.
    pub fn new(
        evidence: &Evidence,
        created_at: Timestamp,
        options: RequestOptions,
    ) -> Result<Self, RequestError> {
        let settings = evidence.settings();
        let source_digest = evidence.digest();
        let default_id = || source_digest.to_string().chars().take(16).collect::<String>();
        let principal = name("principal", options.principal.unwrap_or_else(|| "operator".to_owned()))?;
        if !settings.principals().is_empty() && !settings.principals().contains(&principal) {
            let allowed: Vec<&str> = settings.principals().iter().map(Name::as_str).collect();
            return Err(RequestError::Principal { principal, allowed: allowed.join(", ") });
        }
        let release = settings.release().to_owned();
        let goal = options.goal.or_else(|| settings.goal().map(str::to_owned));
        let request = Self {
            format: Self::FORMAT,
            id: name("id", options.id.unwrap_or_else(default_id))?,
            principal,
            goal: goal.unwrap_or_else(|| format!("decide whether {release} is ready to be released")),
            release,
            mode: options.mode.or(settings.mode()).unwrap_or_default(),
            source_digest,
            // Whole seconds read the same in every tool.
            created_at: Timestamp::from_second(created_at.as_second()).unwrap_or(created_at),
        };
        request.check()?;
        Ok(request)
    }

    /// Checks a request that was read from a file.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        if self.format != Self::FORMAT {
            return Err(RequestError::Format { expected: Self::FORMAT, found: self.format });
        }
        check_line(&self.release, MAX_RELEASE)
            .map_err(|reason| RequestError::Text { field: "release", reason })?;
        check_lines(&self.goal, MAX_GOAL).map_err(|reason| RequestError::Text { field: "goal", reason })
    }

    /// The digest of everything but the time of creation, so that equal inputs give equal results.
    ///
    /// # Errors
    ///
    /// None for a request that was made by [`Request::new`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        canonical::digest(&Identity {
            format: self.format,
            id: &self.id,
            principal: &self.principal,
            release: &self.release,
            goal: &self.goal,
            mode: self.mode,
            source_digest: self.source_digest,
        })
    }

    /// The names of the parts in which two requests differ, the time of creation aside.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("format", self.format == other.format),
            ("id", self.id == other.id),
            ("principal", self.principal == other.principal),
            ("release", self.release == other.release),
            ("goal", self.goal == other.goal),
            ("mode", self.mode == other.mode),
            ("sources", self.source_digest == other.source_digest),
        ];
        parts.into_iter().filter(|(_, equal)| !equal).map(|(part, _)| part).collect()
    }

    /// The review's id.
    pub fn id(&self) -> &Name {
        &self.id
    }

    /// Who asked. This is what the caller said, no authentication.
    pub fn principal(&self) -> &Name {
        &self.principal
    }

    /// The release under review.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What was asked.
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// How the specialists run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The digest of the sources.
    pub fn source_digest(&self) -> Digest {
        self.source_digest
    }

    /// When the review was created; a rota is judged at this moment if `release.toml` names none.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

fn name(field: &'static str, text: String) -> Result<Name, RequestError> {
    let found = crate::text::one_line(&text, 100);
    Name::try_from(text).map_err(|reason| RequestError::Name { field, found, reason })
}
