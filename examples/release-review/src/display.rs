//! What the program shows: a line per agent on a terminal, plain lines elsewhere, JSON on request.

use std::{
    collections::HashMap,
    error::Error,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use release_review::{Exit, Progress, Published, Readiness, Review, is_hidden, visible};
use serde_json::json;

use convoke::error_chain;

/// How often a line of a terminal moves.
const TICK: Duration = Duration::from_millis(80);

/// Where progress goes.
#[derive(Clone)]
enum Form {
    /// A line per agent, which changes as the agent gets on.
    Terminal { bars: MultiProgress, by_agent: Arc<Mutex<HashMap<String, ProgressBar>>> },
    /// A line per event, on standard error.
    Plain,
    /// An object per event, on standard output.
    Json,
}

/// Shows a review to whoever started it.
pub(crate) struct Display(Form);

impl Display {
    pub(crate) fn new(json: bool) -> Self {
        Self(if json {
            Form::Json
        } else if io::stderr().is_terminal() {
            Form::Terminal { bars: MultiProgress::new(), by_agent: Arc::default() }
        } else {
            Form::Plain
        })
    }

    /// Shows each step of the review.
    pub(crate) fn watcher(&self) -> impl Fn(&Progress) + Send + Sync + 'static {
        let form = self.0.clone();
        move |progress| form.show(progress)
    }

    /// Shows where the review lies and since when, and what the readers noticed.
    pub(crate) fn opened(&self, review: &Review) {
        let task = review.task();
        let created_at = task.request().created_at();
        if matches!(self.0, Form::Json) {
            let warnings: Vec<String> = task.warnings().iter().map(ToString::to_string).collect();
            let opened = json!({
                "event": "opened",
                "directory": task.path(),
                "created_at": created_at,
                "warnings": warnings,
                "unread": review.unread(),
            });
            print_json(&opened.to_string());
            return;
        }
        note(&format!("review {} of {created_at}, in {}", task.request().id(), task.path().display()));
        for file in review.unread() {
            note(&format!("nobody reads {file}"));
        }
        for warning in task.warnings() {
            note(&format!("warning: {warning}"));
        }
    }

    /// Shows the report, and says what the program ends with.
    pub(crate) fn published(&self, published: &Published) -> ExitCode {
        let Published { report, json, markdown } = published;
        let exit = Exit::of(report);
        self.0.leave_lines();
        if matches!(self.0, Form::Json) {
            let outcome = json!({
                "event": "published",
                "status": report.status(),
                "readiness": report.readiness(),
                "report": { "json": json, "markdown": markdown },
                "exit": exit.code(),
            });
            print_json(&outcome.to_string());
        } else {
            let conclusion = match report.readiness() {
                Some(Readiness::Ready) => "ready",
                Some(Readiness::Blocked) => "blocked",
                Some(Readiness::Incomplete) => "not decided: an agent gave no usable answer",
                None => "not decided: no agent gave a usable answer",
            };
            print(&format!("release {} is {conclusion}", report.release()));
            print(&format!("  report         {}", markdown.display()));
            print(&format!("  for programs   {}", json.display()));
        }
        exit.into()
    }

    /// Shows why there is no report, and says what the program ends with.
    pub(crate) fn failed(&self, error: &dyn Error, exit: Exit) -> ExitCode {
        let text = error_chain(error);
        self.0.leave_lines();
        if matches!(self.0, Form::Json) {
            print_json(&json!({ "event": "failed", "error": text, "exit": exit.code() }).to_string());
        } else {
            note(&format!("error: {text}"));
        }
        exit.into()
    }
}

impl Form {
    /// Goes on below the lines of the agents, at whose end the terminal stands.
    fn leave_lines(&self) {
        if let Self::Terminal { by_agent, .. } = self
            && !by_agent.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
        {
            note("");
        }
    }

    fn show(&self, progress: &Progress) {
        match self {
            Self::Json => {
                if let Ok(line) = serde_json::to_string(progress) {
                    print_json(&line);
                }
            }
            Self::Plain => note(&format!("{:<12} {}", progress.agent(), describe(progress))),
            Self::Terminal { bars, by_agent } => {
                let mut by_agent = by_agent.lock().unwrap_or_else(PoisonError::into_inner);
                let bar = by_agent
                    .entry(progress.agent().to_owned())
                    .or_insert_with(|| line(bars, progress.agent()));
                if matches!(progress, Progress::Started { .. }) {
                    bar.set_message(visible(&describe(progress)));
                } else {
                    bar.finish_with_message(visible(&describe(progress)));
                }
            }
        }
    }
}

fn line(bars: &MultiProgress, agent: &str) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix:12} {msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(agent.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}

fn describe(progress: &Progress) -> String {
    match progress {
        Progress::Started { .. } => "started".to_owned(),
        Progress::Verified { verdict, .. } => format!("verified: {verdict}"),
        Progress::Synthesized { readiness } => format!("verified: {readiness}"),
        Progress::Failed { reason, .. } => format!("failed: {reason}"),
        Progress::NotBegun { reason, .. } => format!("not begun: {reason}"),
        _ => String::new(),
    }
}

/// An object as a line on standard output. Hidden characters stand in its strings alone, and are escaped there.
fn print_json(object: &str) {
    let mut line = String::with_capacity(object.len());
    for character in object.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(character);
        }
    }
    print(&line);
}

/// A line on standard output. Where nobody reads it any more, the exit status still tells.
fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{}", visible(text));
}

/// A line on standard error.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}
