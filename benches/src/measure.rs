//! Floor and work in turn, a warm-up dropped, medians printed.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use tokio::runtime::{Builder, Runtime};

/// How many pairs of floor and work are measured after the warm-up.
const PAIRS: usize = 5;

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A piece of work and its floor, each of a number of units.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    units: usize,
    floor: fn(usize) -> Boxed,
    work: fn(usize) -> Boxed,
}

impl Benchmark {
    pub(crate) const fn new(
        name: &'static str,
        units: usize,
        floor: fn(usize) -> Boxed,
        work: fn(usize) -> Boxed,
    ) -> Self {
        Self { name, units, floor, work }
    }
}

/// Measures a benchmark on a current-thread runtime (no workers) or on so many workers, and prints a line.
pub(crate) fn run(benchmark: &Benchmark, workers: usize) {
    let runtime = match runtime(workers) {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{}: no tokio runtime: {error}", benchmark.name);
            return;
        }
    };
    let once = |start: fn(usize) -> Boxed| time(&runtime, start(benchmark.units));
    let (mut floors, mut works, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let (floor, work) = (once(benchmark.floor), once(benchmark.work));
        if pair > 0 {
            ratios.push(work.as_secs_f64() / floor.as_secs_f64());
            floors.push(per_unit(floor, benchmark.units));
            works.push(per_unit(work, benchmark.units));
        }
    }
    let place = if workers == 0 { "current thread".to_owned() } else { format!("{workers} workers") };
    let (floor, work, ratio) = (median(floors), median(works), median(ratios));
    println!("{:<10} {place:<15} {floor:>10.2} {work:>10.2} {ratio:>8.2}", benchmark.name);
}

fn runtime(workers: usize) -> std::io::Result<Runtime> {
    let mut builder = if workers == 0 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if workers > 0 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build()
}

/// Inside a task that is spawned: waiting from outside of the runtime costs many times what the work does.
fn time(runtime: &Runtime, work: Boxed) -> Duration {
    let timed = async {
        let started = Instant::now();
        work.await;
        started.elapsed()
    };
    runtime.block_on(async { tokio::spawn(timed).await.unwrap_or(Duration::MAX) })
}

#[expect(clippy::cast_precision_loss, reason = "units are few")]
fn per_unit(duration: Duration, units: usize) -> f64 {
    duration.as_secs_f64() * 1e6 / units as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
