//! Lines of a text, found from byte offsets.

/// Turns byte offsets into line numbers, cheaply when the offsets grow.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), offset: 0, line: 1 }
    }

    /// The line, counted from 1, in which the byte at `offset` stands.
    pub(crate) fn at(&mut self, offset: usize) -> u64 {
        if offset < self.offset {
            self.offset = 0;
            self.line = 1;
        }
        let offset = offset.min(self.bytes.len());
        let passed = self.bytes.get(self.offset..offset).unwrap_or_default();
        self.line += count_newlines(passed);
        self.offset = offset;
        self.line
    }
}

/// The line, counted from 1, in which the byte at `offset` stands, in bytes that may be no text.
pub(crate) fn line_of(bytes: &[u8], offset: usize) -> u64 {
    1 + count_newlines(bytes.get(..offset).unwrap_or(bytes))
}

fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == b'\n')).sum()
}
