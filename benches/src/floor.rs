//! The floors: the least that the same guarantee costs without Convoke.

use std::{
    collections::{BTreeSet, HashMap},
    hint::black_box,
    sync::Arc,
};

use tokio::{sync::Semaphore, task::JoinSet};

use convoke::{Message, SessionId};

use crate::work::{AGENTS, LIMIT};

/// A permit, a task and its end, one after the other.
pub(crate) async fn spawn(units: usize) {
    let slots = Arc::new(Semaphore::new(LIMIT));
    for _ in 0..units {
        let slot = Arc::clone(&slots).acquire_owned().await;
        let task = tokio::spawn(async move { drop(slot) });
        let _ = task.await;
    }
}

/// All tasks in a join set, behind one semaphore.
pub(crate) async fn join_set(units: usize) {
    let slots = Arc::new(Semaphore::new(LIMIT));
    let mut tasks = JoinSet::new();
    for _ in 0..units {
        let slots = Arc::clone(&slots);
        tasks.spawn(async move { drop(slots.acquire_owned().await) });
    }
    while tasks.join_next().await.is_some() {}
}

/// A look-up and two updates of an ordered map: taking a unit and giving it back.
pub(crate) fn ordered_map(units: usize) {
    let mut by_load: BTreeSet<(u32, usize)> = (0..AGENTS).map(|agent| (0, agent)).collect();
    let index = HashMap::from([("skill", 0)]);
    for _ in 0..units {
        black_box(index.get("skill"));
        let Some((load, agent)) = by_load.pop_first() else { return };
        by_load.insert((load + 1, agent));
        by_load.remove(&(load + 1, agent));
        by_load.insert((load, agent));
    }
}

/// A persistent vector of the same messages, a snapshot after each.
pub(crate) fn vector(units: usize) {
    let mut messages = imbl::Vector::new();
    for sequence in 0..units {
        // The same id, built alike: a session gives each message one.
        let id = SessionId::new(format!("host/{sequence}"));
        messages.push_back(Arc::new((id, Message::user("a line of text"))));
        black_box(messages.clone());
    }
}
