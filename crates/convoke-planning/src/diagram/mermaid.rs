//! Mermaid flowcharts.

use std::fmt::{self, Write};

use crate::{Diagram, StepStatus, Wait, diagram::colour};

pub(super) fn write(out: &mut impl Write, diagram: &Diagram<'_>) -> fmt::Result {
    let plan = diagram.plan;
    out.write_str("flowchart TD\n")?;
    for (index, step) in plan.indices().zip(plan.steps()) {
        let (open, close) = if step.requires_approval { ("{{\"", "\"}}") } else { ("[\"", "\"]") };
        write!(out, "    s{}{open}{}", index.get(), Text(step.label()))?;
        if let Some(status) = diagram.status(index) {
            write!(out, " ({status})")?;
        }
        if let Some(note) = diagram.note(index) {
            write!(out, ", {}", Text(&note))?;
        }
        writeln!(out, "{close}")?;
    }
    for index in plan.indices() {
        for edge in plan.dependents(index) {
            let arrow = match edge.wait {
                Wait::Completed => "-->",
                Wait::Ended => "-.->",
            };
            writeln!(out, "    s{} {arrow} s{}", index.get(), edge.step.get())?;
        }
    }
    if diagram.status.is_some() {
        for status in StepStatus::ALL {
            writeln!(out, "    classDef {status} fill:{},stroke:#333333,color:#000000", colour(*status))?;
        }
    }
    for index in plan.indices() {
        if let Some(status) = diagram.status(index) {
            writeln!(out, "    class s{} {status}", index.get())?;
        }
    }
    Ok(())
}

/// A text of letters, digits, blanks and a few marks; the rest as character codes, which Mermaid draws and does not read.
struct Text<'t>(&'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                c if c.is_control() => f.write_char(' ')?,
                c if c.is_alphanumeric() || matches!(c, ' ' | ',' | '.' | '_') => f.write_char(c)?,
                c => write!(f, "#{};", u32::from(c))?,
            }
        }
        Ok(())
    }
}
