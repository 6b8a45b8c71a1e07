//! What a severity and a status mean.

use crate::evidence::settings::Severities;

/// Severities that are known and not critical.
const OTHER: [&str; 17] = [
    "high",
    "major",
    "serious",
    "important",
    "medium",
    "moderate",
    "normal",
    "average",
    "low",
    "minor",
    "trivial",
    "cosmetic",
    "info",
    "informational",
    "none",
    "enhancement",
    "unspecified",
];

/// Statuses that end a defect. Every other status leaves it open: an unknown word must not hide a blocker.
const CLOSED: [&str; 12] = [
    "closed",
    "resolved",
    "done",
    "fixed",
    "verified",
    "released",
    "wontfix",
    "won't fix",
    "duplicate",
    "rejected",
    "invalid",
    "cancelled",
];

/// Whether the severity is critical.
///
/// A severity that nobody knows is refused: read as harmless, a typing error would release a blocker.
pub(super) fn is_critical(severity: &str, severities: &Severities) -> Result<bool, String> {
    let severity = severity.trim();
    if severities.critical.iter().any(|critical| critical.eq_ignore_ascii_case(severity)) {
        return Ok(true);
    }
    let mut others = severities.other.iter().map(String::as_str).chain(OTHER);
    if others.any(|other| other.eq_ignore_ascii_case(severity)) {
        return Ok(false);
    }
    Err(format!(
        "severity `{severity}` is not known: write one of {}, {}, or list it under `defects.critical` or \
         `defects.other` in release.toml",
        severities.critical.join(", "),
        OTHER.join(", ")
    ))
}

/// Whether a label of an issue says that it is critical: `critical`, `severity: critical`, `severity/critical`.
pub(super) fn is_critical_label(label: &str, severities: &Severities) -> bool {
    let last = label.rsplit([':', '/']).next().unwrap_or(label).trim();
    severities
        .critical
        .iter()
        .any(|critical| critical.eq_ignore_ascii_case(last) || critical.eq_ignore_ascii_case(label.trim()))
}

/// Whether the status leaves the defect open.
pub(super) fn is_open(status: &str) -> bool {
    let status = status.trim();
    !CLOSED.iter().any(|closed| closed.eq_ignore_ascii_case(status))
}
