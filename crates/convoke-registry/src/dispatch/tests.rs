//! The machine: each rule by an example that a reader would ask about, all of them together against a reference that
//! tries everything, and whole small teams in every order that their steps can take.

mod both;
mod cycles;
mod explore;
mod house;
mod invariants;
mod leftovers;
mod lending;
mod own_slots;
mod queues;
mod random;
mod reference;
mod rules;
mod team;
