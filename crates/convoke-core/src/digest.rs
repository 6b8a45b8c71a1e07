//! The digest of a request: whether two requests ask for the same work.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use crate::{Message, Role, TaskRequest};

/// Names the form that is hashed; a change of it takes another name, so that an old digest never meets a new one.
const FORM: &str = "convoke request 1";

/// What a request asks for, as a SHA-256: two requests have the same digest if they ask for the same work.
///
/// It covers the input, the data, the messages, the required skills (as a set), the preferred agent, the answer to a
/// pause and the metadata. Who asks, when and where is left out: id, session, timeout, capacity policy, resume token,
/// trace id. Fields of JSON objects count in any order; data that is `null` counts as none, as it does in JSON. The
/// same request has the same digest in every process and version of this crate. As text it is 64 hexadecimal digits.
///
/// ```
/// use convoke_core::TaskRequest;
///
/// let request = TaskRequest::new("Draft text").with_id("draft").requiring("review");
/// assert_eq!(request.digest(), TaskRequest::new("Draft text").requiring("review").digest());
/// assert_ne!(request.digest(), TaskRequest::new("Draft another text").requiring("review").digest());
/// assert_eq!(request.digest().to_string().len(), 64);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestDigest([u8; 32]);

impl RequestDigest {
    pub(crate) fn of(request: &TaskRequest) -> Self {
        let mut form = Form(Sha256::new());
        form.text(FORM);
        form.text(&request.input);
        form.data(request.data.as_ref());
        form.count(request.messages.len());
        for message in &request.messages {
            form.message(message);
        }
        let mut skills: Vec<&str> = request.required_skills.iter().map(AsRef::as_ref).collect();
        skills.sort_unstable();
        skills.dedup();
        form.count(skills.len());
        for skill in skills {
            form.text(skill);
        }
        form.option(request.preferred_agent.as_ref().map(AsRef::as_ref));
        form.count(usize::from(request.resume.is_some()));
        if let Some(resume) = &request.resume {
            form.value(&resume.answer);
        }
        form.object(&request.metadata);
        Self(form.0.finalize().into())
    }

    /// The bytes of the SHA-256.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// What is hashed: each part says what it is and how long it is, so that no two lists of parts look the same.
struct Form(Sha256);

impl Form {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text);
    }

    fn option(&mut self, text: Option<&str>) {
        self.count(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn data(&mut self, data: Option<&Value>) {
        self.value(data.unwrap_or(&Value::Null));
    }

    fn message(&mut self, message: &Message) {
        self.0.update(match message.role {
            Role::User => b"u",
            Role::Agent => b"a",
            Role::Tool => b"t",
            Role::System => b"s",
        });
        self.text(&message.text);
        self.data(message.data.as_ref());
        self.option(message.call.as_ref().map(AsRef::as_ref));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.update(b"n"),
            Value::Bool(false) => self.0.update(b"f"),
            Value::Bool(true) => self.0.update(b"t"),
            Value::Number(number) => {
                self.0.update(b"#");
                self.number(number);
            }
            Value::String(text) => {
                self.0.update(b"s");
                self.text(text);
            }
            Value::Array(items) => {
                self.0.update(b"a");
                self.count(items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(fields) => {
                self.0.update(b"o");
                self.object(fields);
            }
        }
    }

    /// By its text, which tells all integers of 64 bits apart, as a double would not.
    fn number(&mut self, number: &Number) {
        // The two zeros are equal.
        if number.is_f64() && number.as_f64() == Some(0.0) {
            self.text("0.0");
        } else {
            self.text(&number.to_string());
        }
    }

    /// Sorted here: the order of a map is a feature of `serde_json` that any crate of a program may switch on.
    fn object(&mut self, fields: &Map<String, Value>) {
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_unstable_by_key(|(key, _)| *key);
        self.count(fields.len());
        for (key, value) in fields {
            self.text(key);
            self.value(value);
        }
    }
}

impl fmt::Display for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestDigest({self})")
    }
}

impl Serialize for RequestDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map(Self).ok_or_else(|| de::Error::custom("request digest is not 64 hexadecimal digits"))
    }
}

fn parse(text: &str) -> Option<[u8; 32]> {
    let (digits, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; 32];
    if digits.len() != bytes.len() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// Lower case alone, so that a digest has one text.
fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}
