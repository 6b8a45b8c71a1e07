//! What a validator knows of tools.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

type InputCheck = dyn Fn(&Map<String, Value>) -> Result<(), String> + Send + Sync;

/// A tool that a plan may use: its name, and what it takes.
///
/// This crate brings no JSON Schema: whoever has a schema has the code that reads it, and gives it as a check.
///
/// ```
/// use convoke_planning::KnownTool;
///
/// let search = KnownTool::new("search").checking_input(|input| {
///     if input.contains_key("query") { Ok(()) } else { Err("`query` is missing".to_owned()) }
/// });
/// assert_eq!(search.name(), "search");
/// ```
#[derive(Clone)]
pub struct KnownTool {
    name: Arc<str>,
    check: Option<Arc<InputCheck>>,
}

impl KnownTool {
    /// A tool that takes any JSON object.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), check: None }
    }

    /// Checks the input of each step that uses the tool and takes no input from other steps: what those give is not known
    /// before they ran. A step without input is checked as `{}`. The check's error says what is wrong, for whoever wrote the
    /// plan.
    #[must_use]
    pub fn checking_input(
        mut self,
        check: impl Fn(&Map<String, Value>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    pub(super) fn check(&self, input: &Map<String, Value>) -> Result<(), String> {
        self.check.as_ref().map_or(Ok(()), |check| check(input))
    }
}

impl fmt::Debug for KnownTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownTool").field("name", &self.name).finish_non_exhaustive()
    }
}
