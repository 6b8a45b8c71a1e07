//! Test cases: what one run of a test says, and what several runs of it add up to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::evidence::warning::Warning;
use crate::fact::{Fact, SourceLine};
use crate::text::one_line;

/// The most test cases of one file.
const MAX_CASES: usize = 1_000_000;

/// The most remarks on tests that a file lists more than once.
const MAX_REMARKS: usize = 20;

/// What makes two entries of a file the same test.
///
/// The place in the source belongs to it where the runner gives one: it tells apart tests that share a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) suite: usize,
    pub(super) class: Option<String>,
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) row: Option<String>,
}

/// What one entry says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    failed: bool,
    skipped: bool,
    rerun: bool,
}

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Flaky,
    Failed,
    Skipped,
}

/// The tests of one file, or of several added up.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestCounts {
    pub(crate) total: u64,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Those of `passed` that failed at first.
    pub(crate) flaky: u64,
    pub(crate) failures: Vec<FailedTest>,
    pub(crate) roots: Vec<SourceLine>,
}

/// A test that failed, and where the report says so.
#[derive(Debug, Clone)]
pub(crate) struct FailedTest {
    pub(crate) name: String,
    pub(crate) source: SourceLine,
}

#[derive(Debug)]
struct Case {
    name: String,
    outcome: Outcome,
    line: u64,
    runs: u32,
}

#[derive(Debug, Default)]
pub(super) struct Cases {
    cases: Vec<Case>,
    by_identity: HashMap<Identity, usize>,
}

impl Run {
    /// Some runners say in an attribute what others say in an element.
    pub(super) fn from_attributes(status: Option<&str>, result: Option<&str>) -> Self {
        let mut run = Self::default();
        for word in [status, result].into_iter().flatten() {
            match word.to_ascii_lowercase().as_str() {
                "fail" | "failed" | "failure" | "error" | "errored" => run.failed = true,
                "notrun" | "disabled" | "skipped" | "suppressed" | "ignored" => run.skipped = true,
                _ => {}
            }
        }
        run
    }

    pub(super) fn child(&mut self, element: &str) {
        match element {
            "failure" | "error" => self.failed = true,
            "skipped" | "disabled" => self.skipped = true,
            "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => self.rerun = true,
            _ => {}
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self { failed: true, .. } => Outcome::Failed,
            Self { skipped: true, .. } => Outcome::Skipped,
            Self { rerun: true, .. } => Outcome::Flaky,
            Self { .. } => Outcome::Passed,
        }
    }
}

impl Outcome {
    /// What a test became that was `self` before and is listed once more.
    ///
    /// The last run counts, as it does for the runner. A run that is only skipped takes no failure away.
    fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Failed, Self::Skipped) | (_, Self::Failed) => Self::Failed,
            (Self::Skipped, next) => next,
            (before, Self::Skipped) => before,
            (_, Self::Passed | Self::Flaky) => Self::Flaky,
        }
    }
}

impl Cases {
    pub(super) fn add(&mut self, identity: Identity, run: Run, line: u64) -> Result<(), String> {
        let outcome = run.outcome();
        match self.by_identity.entry(identity) {
            Entry::Occupied(known) => {
                if let Some(case) = self.cases.get_mut(*known.get()) {
                    case.outcome = case.outcome.then(outcome);
                    case.runs = case.runs.saturating_add(1);
                    if outcome == Outcome::Failed {
                        case.line = line;
                    }
                }
            }
            Entry::Vacant(vacant) => {
                if self.cases.len() == MAX_CASES {
                    return Err(format!("holds more than {MAX_CASES} test cases: split the file"));
                }
                let Identity { class, name, .. } = vacant.key();
                let name = match class {
                    Some(class) => format!("{class}::{name}"),
                    None => name.clone(),
                };
                self.cases.push(Case { name: one_line(&name, 200), outcome, line, runs: 1 });
                vacant.insert(self.cases.len() - 1);
            }
        }
        Ok(())
    }

    pub(super) fn broken_suite(&mut self, line: u64) {
        let name = "the suite itself".to_owned();
        self.cases.push(Case { name, outcome: Outcome::Failed, line, runs: 1 });
    }

    pub(super) fn finish(self, file: &str, root_line: u64) -> (TestCounts, Vec<Warning>) {
        let mut counts =
            TestCounts { roots: vec![SourceLine::new(file, root_line)], ..TestCounts::default() };
        let mut warnings = Vec::new();
        let mut repeated = 0_usize;
        for case in self.cases {
            counts.total += 1;
            match case.outcome {
                Outcome::Passed => counts.passed += 1,
                Outcome::Flaky => {
                    counts.passed += 1;
                    counts.flaky += 1;
                }
                Outcome::Skipped => counts.skipped += 1,
                Outcome::Failed => counts.failed += 1,
            }
            if case.runs > 1 {
                repeated += 1;
                if repeated <= MAX_REMARKS {
                    let Case { name, runs, line, .. } = &case;
                    let text =
                        format!("test `{name}` is listed {runs} times and was taken as one test with reruns");
                    warnings.push(Warning::new(file, *line, &text));
                }
            }
            if case.outcome == Outcome::Failed && counts.failures.len() < Fact::MAX_LISTED {
                let source = SourceLine::new(file, case.line);
                counts.failures.push(FailedTest { name: case.name, source });
            }
        }
        if repeated > MAX_REMARKS {
            let text = format!("{} more tests are listed more than once", repeated - MAX_REMARKS);
            warnings.push(Warning::new(file, root_line, &text));
        }
        (counts, warnings)
    }
}

impl TestCounts {
    /// Adds another file's tests.
    pub(crate) fn add(&mut self, other: Self) {
        self.total += other.total;
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.flaky += other.flaky;
        self.roots.extend(other.roots);
        let room = Fact::MAX_LISTED.saturating_sub(self.failures.len());
        self.failures.extend(other.failures.into_iter().take(room));
    }
}
