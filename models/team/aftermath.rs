//! Where detached work meets the settlement of its attempt, as it ships, in every interleaving.

#![expect(clippy::unwrap_used, reason = "a model is a test")]

extern crate convoke_models as parking_lot;

#[path = "../../crates/convoke-team/src"]
mod source {
    pub(crate) mod aftermath;
}

use std::sync::Arc;

use convoke_models::Model;
use shuttle::thread;
use source::aftermath::Aftermath;

const MODELS: [Model; 1] =
    [("aftermath: a settlement and an end, of which the second has both", settled_and_ended)];

fn main() {
    convoke_models::run_all_orders(&MODELS);
}

fn settled_and_ended() {
    let aftermath = Arc::new(Aftermath::new());
    let work = Arc::clone(&aftermath);
    let work = thread::spawn(move || work.ended("late"));
    let settled = aftermath.settled("session");
    let ended = work.join().unwrap();
    let told: Vec<_> = settled.into_iter().chain(ended).collect();
    assert_eq!(told, [("session", "late")], "the end is told once");
}
