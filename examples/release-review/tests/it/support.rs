//! Evidence to start from, and a driver that runs the steps of a review one after the other.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use release_review::{
    Entry, Evidence, EvidenceError, Facts, Mode, Outcome, Published, Request, RequestOptions, SynthesisEntry,
    TaskDirectory, VerifiedResult, gates, publish, roles, synthesize,
};
use tempfile::TempDir;

pub(crate) const RELEASE: &str = "release.toml";
pub(crate) const TESTS: &str = "reports/tests.xml";
pub(crate) const DEFECTS: &str = "defects.csv";
pub(crate) const RUNBOOK: &str = "runbook.md";
pub(crate) const ROTA: &str = "oncall.json";

/// The files of a directory of evidence, before it is written.
#[derive(Debug, Clone)]
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Evidence of a release that is ready.
    pub(crate) fn ready() -> Self {
        let empty = Self(BTreeMap::new());
        empty
            .with(RELEASE, "release = \"R-1\"\nrelease_at = 2026-08-14T09:00:00Z\n")
            .with(
                TESTS,
                "<testsuite name=\"s\">\n<testcase name=\"a\"/>\n<testcase name=\"b\"/>\n</testsuite>\n",
            )
            .with(DEFECTS, "id,severity,status,title\nD-1,high,open,slow\n")
            .with(RUNBOOK, "# Runbook\n\n## Rollback\n\n1. go back\n")
            .with(
                ROTA,
                r#"{"shifts":[{"who":"Ada","from":"2026-08-14T00:00:00Z","until":"2026-08-15T00:00:00Z"}]}"#,
            )
    }

    /// The whole evidence as one `sources.json`.
    pub(crate) fn single(content: &str) -> Self {
        Self(BTreeMap::new()).with("sources.json", content)
    }

    pub(crate) fn with(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.0.insert(path.to_owned(), content.as_ref().to_vec());
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.0.remove(path).unwrap();
        self
    }

    pub(crate) fn write(&self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in &self.0 {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        directory
    }

    pub(crate) fn open(&self) -> Result<Evidence, EvidenceError> {
        Evidence::open(self.write().path())
    }

    pub(crate) fn facts(&self) -> Facts {
        self.open().unwrap().facts(noon())
    }

    /// The message of the error that the evidence gives.
    pub(crate) fn refusal(&self) -> String {
        match self.open() {
            Ok(_) => panic!("the evidence was read"),
            Err(error) => error.to_string(),
        }
    }
}

/// A review in its own directory, which is removed with it.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) task: TaskDirectory,
    _home: TempDir,
}

impl Review {
    pub(crate) fn of(files: &Files) -> Self {
        Self::with(files, RequestOptions::default())
    }

    pub(crate) fn serial(files: &Files) -> Self {
        Self::with(files, RequestOptions { mode: Some(Mode::Serial), ..RequestOptions::default() })
    }

    pub(crate) fn with(files: &Files, options: RequestOptions) -> Self {
        let evidence = files.open().unwrap();
        let request = Request::new(&evidence, noon(), options).unwrap();
        let home = tempfile::tempdir().unwrap();
        let task = TaskDirectory::create(&home.path().join("review"), &request, &evidence).unwrap();
        Self { task, _home: home }
    }

    /// Engineering's and operations' results, as the readers give them.
    pub(crate) fn results(&self) -> Vec<VerifiedResult> {
        results(&self.task)
    }

    pub(crate) fn result_path(&self, result: &VerifiedResult) -> PathBuf {
        self.task.path().join("results").join(format!("{}.json", result.id()))
    }
}

pub(crate) fn results(task: &TaskDirectory) -> Vec<VerifiedResult> {
    let mut results: Vec<VerifiedResult> = Vec::new();
    for agent in [roles::ENGINEERING, roles::OPERATIONS] {
        let needs = roles::prerequisites(agent, task.request().mode());
        let depends_on: Vec<_> =
            results.iter().filter(|result| needs.contains(&result.agent())).map(VerifiedResult::id).collect();
        let scope = task.scope(agent).unwrap();
        let id = task.request().id();
        let finding = match agent {
            roles::ENGINEERING => roles::engineering(id, scope),
            _ => roles::operations(id, scope),
        };
        let finding = gates::check_finding(finding, id, scope).unwrap();
        results.push(task.results().save(finding, &depends_on).unwrap());
    }
    results
}

/// The outcome of a review in which these results came at the first attempt.
pub(crate) fn outcome(task: &TaskDirectory, results: &[VerifiedResult]) -> Outcome {
    let agents: Vec<&str> = task.facts().agents().collect();
    let entries =
        results.iter().map(|result| Entry::completed(result.agent(), result.id(), 1, Vec::new())).collect();
    let synthesis = synthesize(task.request().release(), &agents, results);
    Outcome {
        provider: "offline".to_owned(),
        entries,
        synthesis: SynthesisEntry { attempts: 1, errors: Vec::new(), synthesis: Some(synthesis) },
        stopped: Vec::new(),
    }
}

/// A whole review, from evidence to a published report.
pub(crate) fn published(review: &Review) -> Published {
    publish(&review.task, &outcome(&review.task, &review.results())).unwrap()
}

/// The report for people.
pub(crate) fn markdown(review: &Review) -> String {
    fs::read_to_string(published(review).markdown).unwrap()
}

pub(crate) fn noon() -> jiff::Timestamp {
    "2026-08-14T12:00:00Z".parse().unwrap()
}

/// A folder of this package.
pub(crate) fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn fixture(path: &str) -> Vec<u8> {
    fs::read(package("tests/fixtures").join(path)).unwrap()
}

/// Everything in a folder with its content, to see that nothing was touched.
pub(crate) fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}
