//! The steps of `ci`: their order, their names and what they share.

use anyhow::Result;

use crate::{
    bench, cargo_steps, deny, examples, features, floors, metadata::Workspace, models, package, tally::Tally,
    tidy,
};

/// One step of `ci`, which is a command of its own too.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether the command takes arguments, which narrow or widen what it looks at.
    pub(crate) takes_arguments: bool,
    pub(crate) run: fn(&mut Context) -> Result<()>,
}

/// What the steps of one run share.
pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    /// Those of the command of a single step; none in `ci`.
    pub(crate) arguments: Vec<String>,
    /// The tests that ran so far.
    pub(crate) tally: Tally,
}

impl Context {
    pub(crate) fn new(workspace: Workspace, arguments: Vec<String>) -> Self {
        Self { workspace, arguments, tally: Tally::default() }
    }
}

/// Every step, in the order of `ci`.
pub(crate) const STEPS: [Step; 14] = [
    step("format", "every file stands as rustfmt writes it", cargo_steps::format),
    step("lock", "Cargo.lock fits the manifests; downloads what it names", cargo_steps::lock),
    step("clippy", "lints of all targets with all features, warnings denied", cargo_steps::clippy),
    step("test", "tests of all crates with all features", cargo_steps::test),
    step("doctest", "the examples in the documentation", cargo_steps::doctest),
    Step {
        takes_arguments: true,
        ..step("models", "many interleavings of what is concurrent [--iterations N] [NAME..]", models::run)
    },
    step("docs", "the documentation builds, warnings denied", cargo_steps::docs),
    Step {
        takes_arguments: true,
        ..step("features", "each feature of each crate alone [CRATE..]; the facade's in pairs", features::run)
    },
    step("floors", "dependencies between crates go strictly down", floors::run),
    step("tidy", "sizes, module docs, orphans, names, manifests", tidy::run),
    step("deny", "licences, sources, banned and duplicate dependencies", deny::run),
    step("examples", "every example runs and ends as it should", examples::run),
    step("counts", "what the benchmarks allocate, sync and write keeps to its targets", bench::counts),
    step("package", "the packed crates serve a project outside the workspace", package::run),
];

const fn step(name: &'static str, about: &'static str, run: fn(&mut Context) -> Result<()>) -> Step {
    Step { name, about, takes_arguments: false, run }
}
