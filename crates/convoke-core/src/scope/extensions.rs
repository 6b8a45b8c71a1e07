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

/// A scope has few, so that a list is faster than a map, and an empty one takes no memory.
#[derive(Clone, Default)]
pub(super) struct Extensions(Vec<Entry>);

#[derive(Clone)]
struct Entry {
    kind: TypeId,
    is_inherited: bool,
    value: Arc<dyn Any + Send + Sync>,
}

impl Extensions {
    pub(super) fn insert<E: Extension>(&mut self, extension: E) {
        let kind = TypeId::of::<E>();
        self.0.retain(|entry| entry.kind != kind);
        self.0.push(Entry { kind, is_inherited: E::IS_INHERITED, value: Arc::new(extension) });
    }

    pub(super) fn get<E: Extension>(&self) -> Option<&E> {
        let kind = TypeId::of::<E>();
        self.0.iter().find(|entry| entry.kind == kind)?.value.downcast_ref()
    }

    pub(super) fn inherited(&self) -> Self {
        Self(self.0.iter().filter(|entry| entry.is_inherited).cloned().collect())
    }
}
