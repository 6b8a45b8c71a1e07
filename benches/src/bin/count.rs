//! `count`: what one case allocates, under an allocator that counts.

use std::{alloc::System, process::ExitCode};

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use convoke_benches::Counters;

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

fn main() -> ExitCode {
    convoke_benches::count(&Counters {
        allocations: || {
            let stats = INSTRUMENTED_SYSTEM.stats();
            stats.allocations + stats.reallocations
        },
        reset_peak: || ALLOCATOR.reset_peak_memory(),
        peak: || ALLOCATOR.get_peak_memory(),
    })
}
