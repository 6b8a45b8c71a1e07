//! Numbers, ids and records as bytes: little-endian, each text and record behind its length.

use convoke_core::{Record, SignalId};

/// Puts bytes behind each other.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u32(&mut self, number: usize) {
        // Lengths are checked against limits that are far below this one.
        self.0.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn records(&mut self, records: &[Record]) {
        self.u32(records.len());
        for record in records {
            self.bytes(record.as_bytes());
        }
    }

    pub(super) fn signals<'a>(&mut self, ids: impl ExactSizeIterator<Item = &'a SignalId>) {
        self.u32(ids.len());
        ids.for_each(|id| self.bytes(id.as_str().as_bytes()));
    }
}

/// Takes bytes apart again; `None` where there are not enough, or where they are not what was asked for.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(length)
    }

    pub(super) fn id<T: for<'t> TryFrom<&'t str>>(&mut self) -> Option<T> {
        T::try_from(std::str::from_utf8(self.bytes()?).ok()?).ok()
    }

    /// As many as are said to follow.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        // Each takes at least its length, so that a wrong count asks for no more memory than there are bytes.
        let mut items = Vec::with_capacity(count.min(self.0.len() / 4));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }

    pub(super) fn records(&mut self) -> Option<Vec<Record>> {
        self.list(|reader| reader.bytes().map(Record::from))
    }

    pub(super) fn signals(&mut self) -> Option<Vec<SignalId>> {
        self.list(Reader::id)
    }
}
