//! Values that a scope carries by their type.

use std::{
    any::{Any, TypeId},
    sync::Arc,
};

/// A value that a [`Scope`](super::Scope) can carry. One of each type.
pub trait Extension: Send + Sync + 'static {
    /// Whether a child scope has it too. `false` unless said, so that nothing is handed down by accident.
    const IS_INHERITED: bool = false;
}

/// A scope has few, so that a list is faster than a map; the first takes no memory of its own.
#[derive(Clone, Default)]
pub(super) struct Extensions {
    first: Option<Entry>,
    others: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    kind: TypeId,
    is_inherited: bool,
    value: Arc<dyn Any + Send + Sync>,
}

impl Extensions {
    pub(super) fn insert<E: Extension>(&mut self, extension: E) {
        let kind = TypeId::of::<E>();
        let entry = Entry { kind, is_inherited: E::IS_INHERITED, value: Arc::new(extension) };
        if self.first.as_ref().is_none_or(|first| first.kind == kind) {
            self.first = Some(entry);
        } else {
            self.others.retain(|entry| entry.kind != kind);
            self.others.push(entry);
        }
    }

    pub(super) fn get<E: Extension>(&self) -> Option<&E> {
        let kind = TypeId::of::<E>();
        self.all().find(|entry| entry.kind == kind)?.value.downcast_ref()
    }

    pub(super) fn inherited(&self) -> Self {
        let mut inherited = self.all().filter(|entry| entry.is_inherited).cloned();
        Self { first: inherited.next(), others: inherited.collect() }
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(&self.others)
    }
}
