//! The one compare-and-set of an attempt, as it ships, in every interleaving.

#![no_std]
#![expect(unused_imports, reason = "its own tests do not run here")]
#![expect(clippy::unwrap_used, reason = "a model is a test")]

// The module takes its atomics from `std`, which is the scheduler's here.
extern crate alloc;
extern crate convoke_models as std;

#[path = "../../crates/convoke-team/src"]
mod source {
    pub(crate) mod ending;
}

use alloc::sync::Arc;

use convoke_models::Model;
use shuttle::thread;
use source::ending::{End, Ending, StopCause};

const MODELS: [Model; 3] = [
    ("ending: an end and giving up, of which one decides", end_and_give_up),
    ("ending: an end, a stop and giving up", end_stop_and_give_up),
    ("ending: two causes of a stop, of which the first holds", two_causes),
];

fn main() {
    convoke_models::run_all_orders(&MODELS);
}

fn end_and_give_up() {
    let ending = Arc::new(Ending::default());
    let work = Arc::clone(&ending);
    let work = thread::spawn(move || work.end());
    let gave_up = ending.give_up();
    let end = work.join().unwrap();
    assert_eq!(end == End::Abandoned, gave_up);
    assert!(!ending.give_up(), "it is decided once");
}

fn end_stop_and_give_up() {
    let ending = Arc::new(Ending::default());
    let (work, driver) = (Arc::clone(&ending), Arc::clone(&ending));
    let work = thread::spawn(move || work.end());
    let driver = thread::spawn(move || {
        driver.stop(StopCause::Deadline);
        driver.give_up()
    });
    ending.stop(StopCause::Cancelled);
    let (end, gave_up) = (work.join().unwrap(), driver.join().unwrap());
    assert_eq!(end == End::Abandoned, gave_up);
    assert!(!ending.give_up(), "it is decided once");
    assert_eq!(ending.end(), End::Abandoned, "an end is stamped once");
}

fn two_causes() {
    let ending = Arc::new(Ending::default());
    let other = Arc::clone(&ending);
    let other = thread::spawn(move || {
        other.stop(StopCause::Cancelled);
        other.end()
    });
    ending.stop(StopCause::Deadline);
    let own = ending.end();
    let ends = [own, other.join().unwrap()];
    let [first, last] = if ends[1] == End::Abandoned { ends } else { [ends[1], ends[0]] };
    assert_eq!(last, End::Abandoned, "an end is stamped once");
    assert!(matches!(first, End::Ended(Some(_))), "{first:?}");
}
