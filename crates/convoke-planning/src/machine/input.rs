//! What a step gets as input.

use serde_json::{Map, Value, json};

use crate::{Dependency, Plan, StepIndex, Wait, machine::ledger::Ledger};

/// The input of a step, as of now.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StepInput {
    /// As text: that of the plan, or where it is empty and there are sources, `data` as JSON.
    pub text: String,
    /// As JSON: that of the plan with `steps.<source>` for each source, which are the steps that it takes input from and those
    /// whose end alone it waits for: its JSON output, or else its text. A source that ended otherwise gives
    /// `{"status": .., "output": null}`. What is no object stands under `input`.
    pub data: Option<Value>,
}

impl Ledger {
    pub(super) fn input(&self, step: StepIndex) -> StepInput {
        let plan: &Plan = self.plan();
        let Some(definition) = plan.step(step) else { return StepInput::default() };
        let (text, data) = (definition.input.clone(), definition.data.clone());
        // Who waits for an end, whatever it is, wants to know what it was.
        let is_end = |edge: &Dependency| edge.wait == Wait::Ended;
        if definition.input_from.is_empty() && !definition.depends_on.iter().any(is_end) {
            return StepInput { text, data };
        }
        let ended = definition.depends_on.iter().filter(|edge| is_end(edge)).map(|edge| &edge.step);
        let mut sources = Map::new();
        for id in definition.input_from.iter().chain(ended) {
            let Some(source) = plan.index_of(id) else { continue };
            let output = match self.outputs().get(source) {
                Some(output) => output.data.clone().unwrap_or_else(|| Value::from(output.text.as_str())),
                None => json!({ "status": self.status(source), "output": null }),
            };
            sources.insert(id.as_str().to_owned(), output);
        }
        let mut fields = match data {
            Some(Value::Object(fields)) => fields,
            None | Some(Value::Null) => Map::new(),
            Some(other) => Map::from_iter([("input".to_owned(), other)]),
        };
        fields.insert("steps".to_owned(), Value::Object(sources));
        let data = Value::Object(fields);
        let text = if text.is_empty() { data.to_string() } else { text };
        StepInput { text, data: Some(data) }
    }
}
