//! Who does the steps, in every process, and writes down what it did.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::Write as _,
    path::{Path, PathBuf},
    process::exit,
};

use convoke_core::ExecutorError;
use convoke_planning::{
    PlanStep, StepContext, StepExecutor, StepOutcome,
    machine::{Capabilities, Effects, StepInput},
};
use serde_json::Value;

use super::{FAILS, other::say};

/// What a step does beside its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    None,
    /// It tells of itself and never ends.
    Waits,
    /// It ends its process.
    Dies,
}

/// Writes what it did to files beside the journal, each effect once by its key.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) folder: PathBuf,
    pub(super) habit: Habit,
    pub(super) effects: Effects,
}

impl Worker {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), habit: Habit::None, effects: Effects::Idempotent }
    }
}

fn append(path: &Path, line: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub(super) fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

pub(super) fn effects(folder: &Path) -> PathBuf {
    folder.join("effects")
}

pub(super) fn executions(folder: &Path) -> PathBuf {
    folder.join("executions")
}

impl StepExecutor for Worker {
    fn capabilities(&self, _: &PlanStep) -> Option<Capabilities> {
        Some(Capabilities::new().with_effects(self.effects))
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        let (id, key) = (ctx.step().id.as_str(), ctx.idempotency_key());
        append(&executions(&self.folder), id);
        // The others get on in the middle of it.
        tokio::task::yield_now().await;
        if id == FAILS && ctx.attempt() == 1 {
            return Err(ExecutorError::new("not yet"));
        }
        if !lines(&effects(&self.folder)).iter().any(|done| done == key) {
            append(&effects(&self.folder), key);
        }
        match self.habit {
            Habit::None => {}
            Habit::Waits => {
                say("here", 0);
                std::future::pending::<()>().await;
            }
            Habit::Dies => exit(9),
        }
        // What it was given in few words: a text of the whole would grow with each step.
        let mut given = DefaultHasher::new();
        input.data.unwrap_or(Value::Null).to_string().hash(&mut given);
        Ok(format!("{id} of {:x}", given.finish()).into())
    }
}
