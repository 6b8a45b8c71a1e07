//! Test cases: what one run of a test says, and what several runs of it add up to.

use std::collections::{HashMap, hash_map::Entry};

use crate::{
    evidence::warning::Warning,
    fact::{Fact, SourceLine},
    text::one_line,
};

/// The most test cases of one file.
const MAX_CASES: usize = 1_000_000;

/// The most remarks of one kind on the tests of a file.
const MAX_REMARKS: usize = 20;

/// Words for a test that ran; whether it failed is for its elements to say.
const RAN: [&str; 8] = ["pass", "passed", "success", "successful", "succeeded", "ok", "run", "completed"];

/// Words for a test that failed.
const FAILED: [&str; 5] = ["fail", "failed", "failure", "error", "errored"];

/// Words for a test that did not run.
const SKIPPED: [&str; 8] =
    ["notrun", "disabled", "skip", "skipped", "suppressed", "ignore", "ignored", "pending"];

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
    listed: Vec<Case>,
    by_identity: HashMap<Identity, usize>,
    /// The first words that nobody knows, and their lines.
    unknown: Vec<(u64, String)>,
    more_unknown: usize,
}

impl Run {
    /// Some runners say in an attribute what others say in an element.
    ///
    /// A word that nobody knows counts as a failure and is given back: read as a pass, it would hide one.
    pub(super) fn from_attributes<'a>(
        status: Option<&'a str>,
        result: Option<&'a str>,
    ) -> (Self, Option<&'a str>) {
        let mut run = Self::default();
        let mut unknown = None;
        let words = [status, result].into_iter().flatten().map(str::trim).filter(|word| !word.is_empty());
        for word in words {
            let is_among = |known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(word));
            if is_among(&FAILED) {
                run.failed = true;
            } else if is_among(&SKIPPED) {
                run.skipped = true;
            } else if !is_among(&RAN) {
                run.failed = true;
                unknown.get_or_insert(word);
            }
        }
        (run, unknown)
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
    /// The last run counts, as it does for the runner. A run that is only skipped takes no failure away, and neither does
    /// a pass that may be another test's: where the runner names no place in the source, it has to mark a rerun.
    fn then(self, next: Self, same_place: bool) -> Self {
        match (self, next) {
            (Self::Failed, Self::Skipped) | (_, Self::Failed) => Self::Failed,
            (Self::Failed, Self::Passed) if !same_place => Self::Failed,
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
                let same_place = known.key().file.is_some() || known.key().row.is_some();
                if let Some(case) = self.listed.get_mut(*known.get()) {
                    case.outcome = case.outcome.then(outcome, same_place);
                    case.runs = case.runs.saturating_add(1);
                    if outcome == Outcome::Failed {
                        case.line = line;
                    }
                }
            }
            Entry::Vacant(vacant) => {
                if self.listed.len() == MAX_CASES {
                    return Err(format!("holds more than {MAX_CASES} test cases: split the file"));
                }
                let Identity { class, name, .. } = vacant.key();
                let name = match class {
                    Some(class) => format!("{class}::{name}"),
                    None => name.clone(),
                };
                self.listed.push(Case { name: one_line(&name, 200), outcome, line, runs: 1 });
                vacant.insert(self.listed.len() - 1);
            }
        }
        Ok(())
    }

    /// Keeps in mind that a test says a word that nobody knows.
    pub(super) fn unknown_word(&mut self, word: &str, line: u64) {
        if self.unknown.len() < MAX_REMARKS {
            self.unknown.push((line, one_line(word, 100)));
        } else {
            self.more_unknown += 1;
        }
    }

    pub(super) fn broken_suite(&mut self, line: u64) {
        let name = "the suite itself".to_owned();
        self.listed.push(Case { name, outcome: Outcome::Failed, line, runs: 1 });
    }

    pub(super) fn finish(self, file: &str, root_line: u64) -> (TestCounts, Vec<Warning>) {
        let mut counts =
            TestCounts { roots: vec![SourceLine::new(file, root_line)], ..TestCounts::default() };
        let mut warnings = Vec::new();
        for (line, word) in &self.unknown {
            let text = format!("the status `{word}` is not known, and its test counts as failed");
            warnings.push(Warning::new(file, *line, &text));
        }
        if self.more_unknown > 0 {
            let text = format!("{} more tests have a status that is not known", self.more_unknown);
            warnings.push(Warning::new(file, root_line, &text));
        }
        let mut repeated = 0_usize;
        for case in self.listed {
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
                    let text = if case.outcome == Outcome::Failed {
                        format!(
                            "test `{name}` is listed {runs} times and was taken as one test, which failed"
                        )
                    } else {
                        format!("test `{name}` is listed {runs} times and was taken as one test with reruns")
                    };
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
