//! A list of what there is mostly one of.

/// Its order is of no account, so that one is taken out by its index without a search.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Few<T> {
    /// Takes no memory of its own.
    first: Option<T>,
    others: Vec<T>,
}

impl<T: Copy> Few<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.others.iter().copied())
    }

    /// Adds one; gives its index.
    pub(super) fn push(&mut self, one: T) -> usize {
        let index = self.len();
        if index == 0 {
            self.first = Some(one);
        } else {
            self.others.push(one);
        }
        index
    }

    /// Takes out the one at an index; gives the one that has this index from now on, if one does.
    pub(super) fn remove(&mut self, index: usize) -> Option<T> {
        let Some(last) = self.others.pop() else {
            self.first = None;
            return None;
        };
        let vacated = match index.checked_sub(1) {
            None => self.first.as_mut(),
            Some(index) => self.others.get_mut(index),
        };
        *vacated? = last;
        Some(last)
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}
