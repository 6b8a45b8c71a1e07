//! The count of tests, read from what the test runner prints.

use std::fmt;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Adds a `test result:` line of `cargo test`; any other line counts nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        // "ok. 5 passed; 0 failed; 1 ignored; 0 measured; .."
        let counts = result.split_once(". ").map_or("", |(_, counts)| counts);
        for count in counts.split(';') {
            let Some((number, word)) = count.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.passed + self.failed == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
