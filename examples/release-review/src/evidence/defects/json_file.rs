//! Defects as a JSON list, of its own form or as GitHub exports issues.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    Stated, Tally,
    severity::{is_critical, is_critical_label, is_open},
};
use crate::evidence::{error::EvidenceError, json::JsonFile, settings::Severities, warning::Warning};

/// Enough of an element to see which form it has.
#[derive(Deserialize)]
struct Form {
    number: Option<IgnoredAny>,
    severity: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Defect {
    id: Id,
    severity: String,
    status: String,
    #[serde(default)]
    title: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id that is a text or a whole number")]
enum Id {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    title: String,
    state: State,
    labels: Vec<Label>,
    /// The web interface's export lists pull requests among the issues.
    #[serde(default)]
    pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    #[serde(alias = "OPEN")]
    Open,
    #[serde(alias = "CLOSED")]
    Closed,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a label with a name")]
enum Label {
    Named { name: String },
    Text(String),
}

pub(super) fn read(
    file: &str,
    text: &str,
    severities: &Severities,
    tally: &mut Tally<'_>,
) -> Result<Vec<Warning>, EvidenceError> {
    let mut json = JsonFile::new(file, text);
    let elements: Vec<&RawValue> = json.parse()?;
    let mut pull_requests = 0_u64;
    for element in elements {
        let form: Form = json.parse_part(element)?;
        let line = json.line(element);
        if form.number.is_some() && form.severity.is_none() {
            let issue: Issue = json.parse_part(element)?;
            if issue.pull_request.is_some() {
                pull_requests += 1;
                continue;
            }
            tally.add(issue.stated(severities, line))?;
        } else {
            let defect: Defect = json.parse_part(element)?;
            let critical = is_critical(&defect.severity, severities)
                .map_err(|reason| EvidenceError::malformed(file, line, reason))?;
            tally.add(defect.stated(critical, line))?;
        }
    }
    if pull_requests == 0 {
        return Ok(Vec::new());
    }
    Ok(vec![Warning::new(file, 1, &format!("{pull_requests} pull requests among the issues were left out"))])
}

impl Issue {
    fn stated(self, severities: &Severities, line: u64) -> Stated {
        let critical = self.labels.iter().any(|label| {
            let (Label::Named { name } | Label::Text(name)) = label;
            is_critical_label(name, severities)
        });
        let open = matches!(self.state, State::Open);
        Stated { id: format!("#{}", self.number), title: self.title, open, critical, line }
    }
}

impl Defect {
    fn stated(self, critical: bool, line: u64) -> Stated {
        let id = match self.id {
            Id::Number(number) => number.to_string(),
            Id::Text(text) => text,
        };
        let open = is_open(&self.status);
        Stated { id, title: self.title.unwrap_or_default(), open, critical, line }
    }
}
