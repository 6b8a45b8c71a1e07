//! The latest keys of a row without end.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

/// The latest entries, each under its key, so many at most: the oldest goes when there are more.
#[derive(Clone, Debug)]
pub(crate) struct Recent<K, V> {
    most: usize,
    order: VecDeque<K>,
    entries: HashMap<K, V>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, order: VecDeque::new(), entries: HashMap::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Adds an entry; one that is there already keeps its place and its value.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.contains(&key) {
            return;
        }
        if self.order.len() >= self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.entries.insert(key, value);
    }

    /// From the oldest to the latest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order.iter().filter_map(|key| Some((key, self.entries.get(key)?)))
    }
}

#[cfg(test)]
mod tests;
