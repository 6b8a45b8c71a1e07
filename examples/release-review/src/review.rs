//! A review from its evidence to its report: who is asked when, and what becomes of the answers.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::error::Category;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use convoke::{
    AgentExecutor, AnyExecutor, RunOptions, TaskError, TaskReport, TaskRequest, TaskStatus, TeamRuntime,
};

use crate::{
    error::Error,
    evidence::Evidence,
    finding::Finding,
    gates::{GateError, check_finding, check_synthesis},
    outcome::{AttemptError, Entry, Outcome, Stop, SynthesisEntry},
    progress::Progress,
    publication::{Published, publish},
    request::{Request, RequestOptions},
    result::VerifiedResult,
    roles,
    synthesis::Synthesis,
    task::TaskDirectory,
    team::{self, Assignment, SynthesisAssignment},
};

/// Who answers where no other executor was given.
const OFFLINE: &str = "offline";

/// Hears how far a review is.
pub(crate) type Watcher = Arc<dyn Fn(&Progress) + Send + Sync>;

/// What a caller may choose about a review.
#[derive(Clone)]
pub struct Options {
    evidence: PathBuf,
    request: RequestOptions,
    deadline: Option<Duration>,
    cancellation: CancellationToken,
    provider: String,
    executors: Vec<(String, AnyExecutor)>,
    watcher: Watcher,
}

impl Options {
    /// A review of the evidence in this directory, by the deterministic readers.
    pub fn new(evidence: impl Into<PathBuf>) -> Self {
        Self {
            evidence: evidence.into(),
            request: RequestOptions::default(),
            deadline: None,
            cancellation: CancellationToken::new(),
            provider: OFFLINE.to_owned(),
            executors: Vec::new(),
            watcher: Arc::new(|_| {}),
        }
    }

    /// Sets id, principal, goal and mode.
    #[must_use]
    pub fn with_request(mut self, request: RequestOptions) -> Self {
        self.request = request;
        self
    }

    /// Stops the review this long after [`Review::run`] began; never unless set.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Stops the review when the token is signalled.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Lets another executor answer for an agent: a specialist of [`roles`], or the synthesis.
    #[must_use]
    pub fn with_executor(mut self, agent: impl Into<String>, executor: impl AgentExecutor) -> Self {
        self.executors.push((agent.into(), AnyExecutor::new(executor)));
        self
    }

    /// Sets who the report says has answered; `offline` unless set.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = provider.into();
        self
    }

    /// Tells `watcher` how far the review is. It must not block.
    #[must_use]
    pub fn with_progress(mut self, watcher: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.watcher = Arc::new(watcher);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("evidence", &self.evidence)
            .field("request", &self.request)
            .field("deadline", &self.deadline)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// A review of one release.
///
/// ```
/// use release_review::{Options, Readiness, Review};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let review = Review::open(folder.path().join("review"), Options::new("evidence/blocked")).await?;
/// let published = review.run().await?;
/// assert_eq!(published.report.readiness(), Some(Readiness::Blocked));
/// review.close();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Review {
    task: Arc<TaskDirectory>,
    /// The files of the evidence that no reader knows.
    unread: Vec<String>,
    team: TeamRuntime,
    options: Options,
}

impl Review {
    /// Reads the evidence and creates the review's directory, or opens it if it is that of the same request already.
    ///
    /// Nothing is written before all evidence is read and found usable.
    ///
    /// # Cancel safety
    ///
    /// Dropped midway, the directory appears whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Error`] if the evidence, the request or the directory cannot be used.
    pub async fn open(directory: impl Into<PathBuf>, options: Options) -> Result<Self, Error> {
        Self::open_at(Some(directory.into()), options).await
    }

    /// As [`open`](Self::open), in [the default directory](TaskDirectory::default_path).
    ///
    /// # Cancel safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_default(options: Options) -> Result<Self, Error> {
        Self::open_at(None, options).await
    }

    async fn open_at(directory: Option<PathBuf>, options: Options) -> Result<Self, Error> {
        let (evidence, request) = (options.evidence.clone(), options.request.clone());
        let task = blocking(move || {
            let evidence = Evidence::open(&evidence)?;
            let request = Request::new(&evidence, Timestamp::now(), request)?;
            let task = match directory {
                Some(directory) => TaskDirectory::create(&directory, &request, &evidence)?,
                None => TaskDirectory::create_default(&request, &evidence)?,
            };
            Ok((task, evidence.unread().to_vec()))
        });
        let (task, unread) = task.await?;
        let task = Arc::new(task);
        let team = team::build(&task, &options.executors, Arc::clone(&options.watcher))?;
        Ok(Self { task, unread, team, options })
    }

    /// The review's directory.
    pub fn directory(&self) -> &Path {
        self.task.path()
    }

    /// The files of the evidence that no reader knows: they count for nothing.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// What the review keeps in its directory.
    pub fn task(&self) -> &TaskDirectory {
        &self.task
    }

    /// Asks the specialists, puts their verified results together and publishes the report.
    ///
    /// Specialists work at once where none rests on another. A finding is saved as soon as it has passed its gate, whatever
    /// the others do.
    ///
    /// # Cancel safety
    ///
    /// Dropped midway, it stops the specialists; what was saved stays, and nothing is published.
    ///
    /// # Errors
    ///
    /// [`Error`] if a result cannot be kept or the report cannot be published. An agent that fails is no error: the report
    /// says so.
    pub async fn run(&self) -> Result<Published, Error> {
        let deadline = self.options.deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let mut run =
            Run { review: self, deadline, entries: HashMap::new(), results: Vec::new(), stopped: Vec::new() };
        run.specialists().await?;
        let synthesis = run.synthesis().await?;
        let Run { mut entries, stopped, .. } = run;
        let outcome = Outcome {
            provider: self.options.provider.clone(),
            entries: self.task.facts().agents().filter_map(|agent| entries.remove(agent)).collect(),
            synthesis,
            stopped,
        };
        let task = Arc::clone(&self.task);
        blocking(move || Ok(publish(&task, &outcome)?)).await
    }

    /// Ends the review's team. What it kept stays in its directory.
    pub fn close(self) {
        drop(self.team);
    }

    fn tell(&self, progress: &Progress) {
        (self.options.watcher)(progress);
    }
}

/// One run of a review.
struct Run<'a> {
    review: &'a Review,
    deadline: Option<Instant>,
    /// What became of each specialist so far.
    entries: HashMap<String, Entry>,
    results: Vec<VerifiedResult>,
    stopped: Vec<Stop>,
}

/// What an agent's work came to.
enum Answer<T> {
    Verified(T),
    /// Refused by a gate, or failed.
    Failed(AttemptError),
    /// Stopped before it began.
    NotBegun,
}

impl Run<'_> {
    /// Starts each specialist when those that it rests on have ended, and keeps what they find.
    async fn specialists(&mut self) -> Result<(), Error> {
        let review = self.review;
        let mode = review.task.request().mode();
        let mut waiting: Vec<&str> = review.task.facts().agents().collect();
        let mut running = FuturesUnordered::new();
        loop {
            let has_ended = |agent: &&str| self.entries.contains_key(*agent);
            let (ready, rest): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|agent| roles::prerequisites(agent, mode).iter().all(has_ended));
            waiting = rest;
            for agent in ready {
                let found = |name: &&str| self.results.iter().find(|result| result.agent() == *name).cloned();
                let prerequisites = roles::prerequisites(agent, mode);
                let results: Vec<_> = prerequisites.iter().filter_map(found).collect();
                if results.len() == prerequisites.len() {
                    running.push(self.ask(agent, results));
                } else {
                    let reason = format!("no verified result of {}", prerequisites.join(", "));
                    review.tell(&Progress::NotBegun { agent: agent.to_owned(), reason });
                    self.entries.insert(agent.to_owned(), Entry::blocked(agent));
                }
            }
            if let Some((agent, report, results)) = running.next().await {
                self.keep(agent, report?, results).await?;
            } else if waiting.is_empty() {
                return Ok(());
            }
        }
    }

    /// Asks one specialist, giving it its own facts and the results that its work rests on.
    fn ask<'b>(
        &self,
        agent: &'b str,
        results: Vec<VerifiedResult>,
    ) -> impl Future<Output = (&'b str, Result<TaskReport, Error>, Vec<VerifiedResult>)> + use<'b> {
        let task = Arc::clone(&self.review.task);
        let team = self.review.team.clone();
        let options = self.run_options();
        async move {
            let report = async {
                let assignment = Assignment {
                    task: task.request().id(),
                    scope: task.scope(agent)?,
                    results: results.iter().map(VerifiedResult::record).collect(),
                };
                Ok(team.run_with(request(&task, agent, &assignment), options).await?)
            };
            (agent, report.await, results)
        }
    }

    /// Checks a specialist's answer and saves what passes.
    async fn keep(
        &mut self,
        agent: &str,
        report: TaskReport,
        rests_on: Vec<VerifiedResult>,
    ) -> Result<(), Error> {
        let task = Arc::clone(&self.review.task);
        let scope = task.scope(agent)?;
        let answer =
            self.answer(report, |finding: Finding| check_finding(finding, task.request().id(), scope));
        let entry = match answer {
            Answer::Verified(finding) => {
                let store = Arc::clone(&task);
                let rests_on: Vec<_> = rests_on.iter().map(VerifiedResult::id).collect();
                let result = blocking(move || Ok(store.results().save(finding, &rests_on)?)).await?;
                let verdict = result.finding().verdict;
                self.review.tell(&Progress::Verified { agent: agent.to_owned(), verdict });
                let entry = Entry::completed(agent, result.id(), 1, Vec::new());
                self.results.push(result);
                entry
            }
            Answer::Failed(error) => {
                let reason = error.message().to_owned();
                self.review.tell(&Progress::Failed { agent: agent.to_owned(), reason });
                Entry::failed(agent, vec![error])
            }
            Answer::NotBegun => {
                let reason = "the review was stopped".to_owned();
                self.review.tell(&Progress::NotBegun { agent: agent.to_owned(), reason });
                Entry::skipped(agent)
            }
        };
        self.entries.insert(agent.to_owned(), entry);
        Ok(())
    }

    /// Puts the verified results together, if there are any.
    async fn synthesis(&mut self) -> Result<SynthesisEntry, Error> {
        if self.results.is_empty() {
            return Ok(SynthesisEntry::default());
        }
        let task = Arc::clone(&self.review.task);
        let agents: Vec<&str> = task.facts().agents().collect();
        let assignment = SynthesisAssignment {
            agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
            results: self.results.iter().map(VerifiedResult::id).collect(),
        };
        let request = request(&task, roles::SYNTHESIS, &assignment);
        let report = self.review.team.run_with(request, self.run_options()).await?;
        let results = std::mem::take(&mut self.results);
        let check = |synthesis: Synthesis| check_synthesis(synthesis, &agents, &results);
        Ok(match self.answer(report, check) {
            Answer::Verified(synthesis) => {
                let readiness = synthesis.synthesis().verdict;
                self.review.tell(&Progress::Synthesized { readiness });
                let synthesis = Some(synthesis.synthesis().clone());
                SynthesisEntry { attempts: 1, errors: Vec::new(), synthesis }
            }
            Answer::Failed(error) => {
                let reason = error.message().to_owned();
                self.review.tell(&Progress::Failed { agent: roles::SYNTHESIS.to_owned(), reason });
                SynthesisEntry { attempts: 1, errors: vec![error], synthesis: None }
            }
            Answer::NotBegun => SynthesisEntry::default(),
        })
    }

    /// What a report gives: an answer of the right form that passes its gate, or the reason why not.
    ///
    /// The reason is published, so it holds no word of the agent but what it declared public.
    fn answer<T, V>(&mut self, report: TaskReport, check: impl FnOnce(T) -> Result<V, GateError>) -> Answer<V>
    where
        T: serde::de::DeserializeOwned,
    {
        let stop = match report.status {
            TaskStatus::TimedOut => Some(Stop::Deadline),
            TaskStatus::Cancelled if self.review.options.cancellation.is_cancelled() => {
                Some(Stop::Interrupted)
            }
            _ => None,
        };
        self.stopped.extend(stop.filter(|stop| !self.stopped.contains(stop)));
        if stop.is_some() && report.agent.is_none() {
            return Answer::NotBegun;
        }
        match report.into_result() {
            Ok(output) => match output.json::<T>() {
                Ok(answer) => check(answer).map_or_else(
                    |error| Answer::Failed(AttemptError::new(1, error.code(), &error.expectation())),
                    Answer::Verified,
                ),
                Err(error) => Answer::Failed(AttemptError::new(1, "invalid-form", &wrong_form(&error))),
            },
            Err(unfinished) => {
                let error = unfinished.report().error.as_ref();
                let code = error.map_or("input_required", |error| error.code().as_str());
                let message =
                    error.map_or("the agent asked a question, which nobody answers", TaskError::message);
                // As all codes of a report are written.
                Answer::Failed(AttemptError::new(1, code.replace('_', "-"), message))
            }
        }
    }

    fn run_options(&self) -> RunOptions {
        let options = RunOptions::new().with_cancellation(self.review.options.cancellation.clone());
        match self.deadline {
            Some(deadline) => options.with_deadline(deadline),
            None => options,
        }
    }
}

/// The task of one agent.
fn request(task: &TaskDirectory, agent: &str, assignment: &impl Serialize) -> TaskRequest {
    TaskRequest::new(task.request().goal()).with_id(agent).requiring(agent).with_json(assignment)
}

/// Why an answer was not read. The parser's own message would quote it.
fn wrong_form(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Syntax => "it is no json",
        Category::Eof => "its json ends too early",
        Category::Data => "its json says something else",
        Category::Io => "it cannot be read",
    };
    let place = match error.line() {
        0 => String::new(),
        line => format!(" (line {line}, column {})", error.column()),
    };
    format!("the answer is not of the form that was asked for: {what}{place}")
}

/// Runs what waits for files where waiting holds nothing up.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(call).await {
        Ok(result) => result,
        Err(error) => Err(Error::Interrupted(error)),
    }
}
