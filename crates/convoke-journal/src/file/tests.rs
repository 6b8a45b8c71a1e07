//! The journal in files over a file system that forgets, fails and counts.

mod bytes;
mod costs;
mod faults;
mod readers;
mod script;
mod sim_disk;
