//! Holds the figures against the targets.

use std::fmt;

use crate::{
    series::Line,
    targets::{TARGETS, Target},
};

/// A figure of a line that a target binds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound<'a> {
    line: &'a Line,
    target: Target,
    found: f64,
}

/// Every target that a line misses by more than its margin.
pub(crate) fn missed(lines: &[Line]) -> Vec<Bound<'_>> {
    // Also where it is no number, which is never what was meant.
    let misses = |one: &Bound<'_>| {
        one.found.is_nan() || one.found > one.target.at_most * (1.0 + one.target.figure.margin())
    };
    bound(lines).filter(misses).collect()
}

/// How many figures have a target.
pub(crate) fn checked(lines: &[Line]) -> usize {
    bound(lines).count()
}

/// Every figure that has a target.
fn bound(lines: &[Line]) -> impl Iterator<Item = Bound<'_>> {
    lines.iter().flat_map(|line| {
        let of_line = TARGETS.iter().filter(|target| {
            target.benchmark == line.benchmark && target.variant.is_none_or(|variant| variant == line.variant)
        });
        of_line.filter_map(move |&target| Some(Bound { line, target, found: target.figure.of(line)? }))
    })
}

impl fmt::Display for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, target, found } = self;
        let margin = target.figure.margin() * 100.0;
        write!(
            f,
            "{} at {} ({}): {} is {found:.2}, at most {} is allowed",
            line.name(),
            line.n,
            line.place(),
            target.figure.name(),
            target.at_most
        )?;
        if margin > 0.0 { write!(f, ", and {margin:.0} % for the noise") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
