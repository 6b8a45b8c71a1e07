//! Runs models, and says how often.

use std::{
    env,
    io::{self, Write as _},
    process,
    time::Instant,
};

use shuttle::{
    Config, Runner,
    scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler},
};

/// A model by its name, which says what holds in every interleaving. It panics where that does not hold, and where
/// everybody waits for ever the scheduler does.
pub type Model = (&'static str, fn());

/// How many interleavings each scheduler tries of each model, unless the command line says otherwise.
const ITERATIONS: usize = 200;

/// How many times a scheduler of the second kind lets another thread go first where it should not.
const CHANGES: usize = 3;

/// The same interleavings in each run; more iterations add others.
const SEED: u64 = 0x00c0_770c;

/// More than the default: without optimisation the frames are large.
const STACK: usize = 1 << 18;

/// Tries interleavings of each model: some at random, some with few but surprising changes of the thread that runs.
///
/// From the command line it takes `--iterations N`, and parts of names that choose models.
pub fn run(models: &[Model]) {
    run_each(models, |model, iterations| {
        check(model, RandomScheduler::new_from_seed(SEED, iterations));
        check(model, PctScheduler::new_from_seed(SEED, CHANGES, iterations));
        2 * iterations
    });
}

/// Tries every interleaving of each model, whatever number the command line says; for models of a few steps.
pub fn run_all_orders(models: &[Model]) {
    run_each(models, |model, _| check(model, DfsScheduler::new(None, false)));
}

fn run_each(models: &[Model], run: impl Fn(fn(), usize) -> usize) {
    let Some((iterations, wanted)) = arguments(env::args().skip(1)) else {
        eprintln!("`--iterations` takes the number of interleavings to try, from 1");
        process::exit(2);
    };
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    for (name, model) in models.iter().filter(|(name, _)| is_wanted(name)) {
        print!("model {name} ... ");
        // Before it runs: one that never ends is named too.
        let _ = io::stdout().flush();
        let start = Instant::now();
        let tried = run(*model, iterations);
        println!("holds in {tried} interleavings, {:.1} s", start.elapsed().as_secs_f64());
    }
}

/// How many interleavings, and parts of the names of the models; options of other test runners count for nothing.
fn arguments(mut all: impl Iterator<Item = String>) -> Option<(usize, Vec<String>)> {
    let mut iterations = ITERATIONS;
    let mut names = Vec::new();
    while let Some(argument) = all.next() {
        if argument == "--iterations" {
            iterations = all.next()?.parse().ok().filter(|&number| number > 0)?;
        } else if !argument.starts_with('-') {
            names.push(argument);
        }
    }
    Some((iterations, names))
}

fn check(model: fn(), scheduler: impl Scheduler + 'static) -> usize {
    let mut config = Config::new();
    config.stack_size = STACK;
    // That all atomics are modelled in one order stands in the crate's docs.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(model)
}
