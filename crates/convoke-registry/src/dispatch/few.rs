//! Lists of what there is mostly one of.

use smallvec::SmallVec;

/// The first takes no memory of its own. The order is of no account.
pub(super) type Few<T> = SmallVec<[T; 1]>;

/// Takes out the one at an index without a search; gives the one that has this index from now on, if one does.
pub(super) fn take_out<T: Copy>(list: &mut Few<T>, index: usize) -> Option<T> {
    if index < list.len() {
        list.swap_remove(index);
    }
    list.get(index).copied()
}
