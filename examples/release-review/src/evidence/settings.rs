//! `release.toml`: what is released, and the numbers that the rules use.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use toml::value::Datetime;

use super::{error::EvidenceError, lines::Lines};
use crate::{
    mode::Mode,
    name::Name,
    text::{check_line, check_lines},
};

/// The settings of a review, as `release.toml` gives them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(deserialize_with = "release")]
    pub(crate) release: String,
    #[serde(default, deserialize_with = "goal")]
    pub(crate) goal: Option<String>,
    #[serde(default)]
    pub(crate) mode: Option<Mode>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) release_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "principals")]
    pub(crate) principals: Vec<Name>,
    #[serde(default)]
    pub(crate) thresholds: Thresholds,
    #[serde(default)]
    pub(crate) defects: Severities,
}

/// The numbers of the rules. They move the limits, never what the rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// The tests that must have run, skipped ones not counted; 1 unless set, and at least 1.
    #[serde(deserialize_with = "min_tests")]
    pub min_tests: u64,
    /// The most skipped tests; any number unless set.
    pub max_skipped: Option<u64>,
    /// The most tests that passed on a rerun only; any number unless set.
    pub max_flaky: Option<u64>,
    /// The most open critical defects; 0 unless set.
    pub max_open_critical: u64,
}

/// Which severities of defects count as critical.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Severities {
    pub(crate) critical: Vec<String>,
    /// Severities that are known and not critical, besides the usual ones.
    pub(crate) other: Vec<String>,
}

impl Settings {
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, EvidenceError> {
        toml::from_str(text).map_err(|error| {
            let line = Lines::new(text).at(error.span().map_or(0, |span| span.start));
            EvidenceError::malformed(file, line, error.message())
        })
    }

    /// The settings of the single-file form, which has none besides the release.
    pub(crate) fn for_release(release: String) -> Self {
        Self {
            release,
            goal: None,
            mode: None,
            release_at: None,
            principals: Vec::new(),
            thresholds: Thresholds::default(),
            defects: Severities::default(),
        }
    }

    /// The release under review, a free text of one line.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The goal, if the file states one.
    pub fn goal(&self) -> Option<&str> {
        self.goal.as_deref()
    }

    /// How the specialists run, if the file says so.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// The moment at which somebody must be on call, if the file states one.
    pub fn release_at(&self) -> Option<Timestamp> {
        self.release_at
    }

    /// Who may ask for the review; everybody if empty. This is a rule of the request, no authentication.
    pub fn principals(&self) -> &[Name] {
        &self.principals
    }

    /// The numbers of the rules.
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { min_tests: 1, max_skipped: None, max_flaky: None, max_open_critical: 0 }
    }
}

impl Default for Severities {
    fn default() -> Self {
        Self { critical: vec!["critical".to_owned(), "blocker".to_owned()], other: Vec::new() }
    }
}

/// The most characters of a release id.
pub(crate) const MAX_RELEASE: usize = 100;

/// The most characters of a goal.
pub(crate) const MAX_GOAL: usize = 2_000;

fn release<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let release = String::deserialize(deserializer)?;
    check_line(&release, MAX_RELEASE)
        .map_err(|error| serde::de::Error::custom(format!("`release` {error}")))?;
    Ok(release)
}

fn goal<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let goal = String::deserialize(deserializer)?;
    check_lines(&goal, MAX_GOAL).map_err(|error| serde::de::Error::custom(format!("`goal` {error}")))?;
    Ok(Some(goal))
}

fn min_tests<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => {
            Err(serde::de::Error::custom("`min_tests` is 0, but nothing is ready because nothing was tested"))
        }
        least => Ok(least),
    }
}

fn timestamp<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let written = Datetime::deserialize(deserializer)?;
    let timestamp = written.to_string().parse().map_err(|_| {
        serde::de::Error::custom(
            "`release_at` needs a date, a time and an offset, as in 2026-08-14T09:00:00Z",
        )
    })?;
    Ok(Some(timestamp))
}

fn principals<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Name>, D::Error> {
    let principals = Vec::<Name>::deserialize(deserializer)?;
    let mut seen = BTreeSet::new();
    for principal in &principals {
        if !seen.insert(principal.as_str()) {
            return Err(serde::de::Error::custom(format!("`principals` lists `{principal}` twice")));
        }
    }
    Ok(principals)
}
