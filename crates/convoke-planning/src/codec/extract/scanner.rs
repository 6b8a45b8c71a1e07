//! Where a JSON object ends.

/// How deep an object may nest; the parser that reads it goes no deeper either.
const MAX_DEPTH: usize = 127;

/// What begins with a brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// A whole object.
    Object {
        /// The byte behind it.
        end: usize,
        /// Whether it has a field `steps` itself.
        has_steps: bool,
    },
    /// No JSON; the byte that shows it.
    Broken {
        /// The byte.
        at: usize,
        /// Whether a name and a colon came before, which is rare in prose.
        has_field: bool,
    },
    /// JSON as far as the text goes.
    CutOff {
        /// As of what is broken.
        has_field: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Array,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    KeyOrEnd,
    Key,
    Colon,
    Value,
    ValueOrEnd,
    CommaOrEnd,
}

pub(super) struct Scanner<'t> {
    bytes: &'t [u8],
    position: usize,
    open: Vec<Inside>,
    has_steps: bool,
    has_field: bool,
}

/// Why it is no object.
enum Trouble {
    CutOff,
    Unexpected { at: usize },
}

impl<'t> Scanner<'t> {
    /// Begins at a brace.
    pub(super) fn new(bytes: &'t [u8], start: usize) -> Self {
        Self { bytes, position: start, open: Vec::new(), has_steps: false, has_field: false }
    }

    pub(super) fn scan(mut self) -> Scan {
        let mut expect = Expect::Value;
        loop {
            let at = self.position;
            let Some(byte) = self.next() else { return self.ends(&Trouble::CutOff) };
            expect = match (expect, byte) {
                (_, b' ' | b'\t' | b'\r' | b'\n') => expect,
                (Expect::KeyOrEnd | Expect::Key, b'"') => match self.string() {
                    Ok(key) => {
                        self.has_steps |= self.open.len() == 1 && key == b"steps";
                        Expect::Colon
                    }
                    Err(trouble) => return self.ends(&trouble),
                },
                (Expect::Colon, b':') => {
                    self.has_field = true;
                    Expect::Value
                }
                (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') if self.open.len() < MAX_DEPTH => {
                    let (inside, first) = match byte {
                        b'{' => (Inside::Object, Expect::KeyOrEnd),
                        _ => (Inside::Array, Expect::ValueOrEnd),
                    };
                    self.open.push(inside);
                    first
                }
                (Expect::Value | Expect::ValueOrEnd, b'"') => match self.string() {
                    Ok(_) => Expect::CommaOrEnd,
                    Err(trouble) => return self.ends(&trouble),
                },
                (Expect::Value | Expect::ValueOrEnd, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                    self.word();
                    Expect::CommaOrEnd
                }
                (Expect::CommaOrEnd, b',') => match self.open.last() {
                    Some(Inside::Object) => Expect::Key,
                    _ => Expect::Value,
                },
                (Expect::CommaOrEnd | Expect::KeyOrEnd, b'}')
                    if self.open.last() == Some(&Inside::Object) =>
                {
                    self.open.pop();
                    if self.open.is_empty() {
                        return Scan::Object { end: self.position, has_steps: self.has_steps };
                    }
                    Expect::CommaOrEnd
                }
                (Expect::CommaOrEnd | Expect::ValueOrEnd, b']')
                    if self.open.last() == Some(&Inside::Array) =>
                {
                    self.open.pop();
                    Expect::CommaOrEnd
                }
                _ => return self.ends(&Trouble::Unexpected { at }),
            };
        }
    }

    fn ends(&self, trouble: &Trouble) -> Scan {
        let has_field = self.has_field;
        match *trouble {
            Trouble::CutOff => Scan::CutOff { has_field },
            Trouble::Unexpected { at } => Scan::Broken { at, has_field },
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.position).copied();
        self.position += usize::from(byte.is_some());
        #[cfg(test)]
        super::tests::count_byte();
        byte
    }

    /// Goes behind the string whose first quote was read, and gives what is between the quotes.
    fn string(&mut self) -> Result<&'t [u8], Trouble> {
        let start = self.position;
        loop {
            let at = self.position;
            match self.next().ok_or(Trouble::CutOff)? {
                b'"' => return Ok(self.bytes.get(start..at).unwrap_or_default()),
                b'\\' => {
                    self.next().ok_or(Trouble::CutOff)?;
                }
                0..=0x1f => return Err(Trouble::Unexpected { at }),
                _ => {}
            }
        }
    }

    /// Goes behind a number, `true`, `false` or `null`.
    fn word(&mut self) {
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'+' | b'-') =
            self.bytes.get(self.position)
        {
            self.position += 1;
        }
    }
}
