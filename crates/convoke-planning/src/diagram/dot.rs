//! The DOT language.

use std::fmt::{self, Write};

use crate::{Diagram, Wait, diagram::colour};

pub(super) fn write(out: &mut impl Write, diagram: &Diagram<'_>) -> fmt::Result {
    let plan = diagram.plan;
    writeln!(out, "digraph plan {{")?;
    writeln!(out, "    label=\"{}\";", Text(plan.goal()))?;
    writeln!(out, "    node [shape=box, style=filled, fillcolor=\"#ffffff\"];")?;
    for (index, step) in plan.indices().zip(plan.steps()) {
        write!(out, "    s{} [label=\"{}", index.get(), Text(step.label()))?;
        let status = diagram.status(index);
        if let Some(status) = status {
            write!(out, " ({status})")?;
        }
        if let Some(note) = diagram.note(index) {
            write!(out, ", {}", Text(&note))?;
        }
        out.write_char('"')?;
        if step.requires_approval {
            out.write_str(", shape=hexagon")?;
        }
        if let Some(status) = status {
            write!(out, ", fillcolor=\"{}\"", colour(status))?;
        }
        writeln!(out, "];")?;
    }
    for index in plan.indices() {
        for edge in plan.dependents(index) {
            let style = match edge.wait {
                Wait::Completed => "",
                Wait::Ended => " [style=dashed]",
            };
            writeln!(out, "    s{} -> s{}{style};", index.get(), edge.step.get())?;
        }
    }
    writeln!(out, "}}")
}

/// A text between quotes. Beside quotes, Graphviz reads escapes after a backslash and entities after an ampersand.
struct Text<'t>(&'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '&' => f.write_str("&amp;")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
