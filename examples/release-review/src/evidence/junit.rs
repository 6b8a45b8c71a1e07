//! JUnit XML: the dialect that test runners share, read event by event.

mod cases;
mod markup;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

pub(crate) use self::cases::TestCounts;
use self::{
    cases::{Cases, Identity, Run},
    markup::{Markup, attributes},
};
use super::{
    error::{EvidenceError, EvidenceErrorKind},
    lines::Lines,
    warning::Warning,
};

/// Deeper than any runner nests its suites.
const MAX_DEPTH: usize = 64;

/// Reads the test cases of one file.
///
/// Cases are counted and the totals of the suites are not, since runners count reruns into them.
pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<(TestCounts, Vec<Warning>), EvidenceError> {
    let markup = Markup::decode(bytes);
    let mut reader = Reader::from_str(markup.text());
    // A lone `&` in captured output is the runner's mistake and concerns no fact.
    reader.config_mut().allow_dangling_amp = true;
    let mut parser = Parser::new(file, &markup);
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let offset = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            parser.malformed(offset.max(start), error)
        })?;
        if matches!(event, Event::Eof) {
            return parser.finish(start);
        }
        let end = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        parser.event(&event, start, end)?;
    }
}

/// An open element.
#[derive(Debug)]
enum Element {
    Suites,
    Suite { index: usize },
    Case { identity: Identity, run: Run, line: u64 },
    Other,
}

#[derive(Debug)]
struct Parser<'a> {
    file: &'a str,
    markup: &'a Markup<'a>,
    lines: Lines<'a>,
    open: Vec<Element>,
    root_line: Option<u64>,
    suites: usize,
    declared_failures: bool,
    cases: Cases,
    odd_text: Option<(u64, &'static str)>,
}

impl<'a> Parser<'a> {
    fn new(file: &'a str, markup: &'a Markup<'a>) -> Self {
        Self {
            file,
            markup,
            lines: Lines::new(markup.text()),
            open: Vec::new(),
            root_line: None,
            suites: 0,
            declared_failures: false,
            cases: Cases::default(),
            odd_text: None,
        }
    }

    fn event(&mut self, event: &Event<'_>, start: usize, end: usize) -> Result<(), EvidenceError> {
        match event {
            Event::Start(tag) => self.begin(tag, start, end),
            Event::Empty(tag) => {
                self.begin(tag, start, end)?;
                self.end(start)
            }
            Event::End(_) => self.end(start),
            Event::DocType(_) => {
                Err(self.malformed(start, "declares a document type, which no test runner writes: remove it"))
            }
            Event::Decl(declaration) => match declaration.encoding() {
                None => Ok(()),
                Some(Ok(name)) if ["utf-8", "us-ascii", "ascii"].contains(&name.to_lowercase().as_str()) => {
                    Ok(())
                }
                Some(_) => Err(self.malformed(start, "is not in utf-8: convert it and its declaration")),
            },
            Event::Text(text) => self.content(text, start, end),
            Event::CData(text) => self.content(text, start, end),
            Event::GeneralRef(entity) => {
                let known = if entity.is_char_ref() {
                    entity.resolve_char_ref().is_ok_and(|resolved| resolved.is_some_and(markup::is_xml_char))
                } else {
                    quick_xml::escape::resolve_predefined_entity(entity).is_some()
                };
                if !known {
                    self.remark(start, "an unknown entity");
                }
                self.refuse_outside(start)
            }
            Event::Comment(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn begin(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<(), EvidenceError> {
        if self.open.len() == MAX_DEPTH {
            let line = self.lines.at(start);
            let reason = format!("nests elements more than {MAX_DEPTH} deep, which no test runner does");
            return Err(EvidenceError::at(EvidenceErrorKind::Limit, self.file, line, reason));
        }
        let name = tag.local_name();
        let element = match (self.open.last_mut(), name.as_ref()) {
            (None, "testsuites" | "testsuite") if self.root_line.is_some() => {
                return Err(self.malformed(start, "has a second root element"));
            }
            (None, "testsuites") => {
                self.root_line = Some(self.lines.at(start));
                Element::Suites
            }
            (None | Some(Element::Suites | Element::Suite { .. }), "testsuite") => {
                self.suite(tag, start, end)?
            }
            (None, other) => {
                let reason = format!(
                    "begins with `{other}` instead of `testsuites` or `testsuite`, so it is no junit report: \
                     move it out of the evidence"
                );
                return Err(self.malformed(start, reason));
            }
            (Some(Element::Suites | Element::Suite { .. }), "testcase") => self.case(tag, start, end)?,
            (_, "testcase") => return Err(self.malformed(start, "has a `testcase` outside of a `testsuite`")),
            (Some(Element::Suites | Element::Suite { .. }), "failure" | "error") => {
                // A suite that broke down outside of its tests has not passed.
                let line = self.lines.at(start);
                self.cases.broken_suite(line);
                Element::Other
            }
            (Some(Element::Case { run, .. }), child) => {
                run.child(child);
                Element::Other
            }
            (Some(_), _) => Element::Other,
        };
        self.open.push(element);
        Ok(())
    }

    fn suite(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<Element, EvidenceError> {
        let line = self.lines.at(start);
        self.root_line.get_or_insert(line);
        let [failures, errors] = self.attributes(tag, ["failures", "errors"], start, end)?;
        let declares =
            |count: Option<String>| count.is_some_and(|count| count.trim().parse().unwrap_or(0_u64) > 0);
        self.declared_failures |= declares(failures) || declares(errors);
        self.suites += 1;
        Ok(Element::Suite { index: self.suites })
    }

    fn case(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<Element, EvidenceError> {
        let keys = ["name", "classname", "file", "line", "status", "result"];
        let [name, class, file, row, status, result] = self.attributes(tag, keys, start, end)?;
        let Some(name) = name else {
            return Err(self.malformed(start, "has a `testcase` without a `name`"));
        };
        let suite = match self.open.last() {
            Some(Element::Suite { index }) => *index,
            _ => 0,
        };
        let line = self.lines.at(start);
        let (run, unknown) = Run::from_attributes(status.as_deref(), result.as_deref());
        if let Some(word) = unknown {
            self.cases.unknown_word(word, line);
        }
        let identity = Identity { suite, class, name, file, row };
        Ok(Element::Case { identity, run, line })
    }

    fn end(&mut self, start: usize) -> Result<(), EvidenceError> {
        if let Some(Element::Case { identity, run, line }) = self.open.pop() {
            self.cases.add(identity, run, line).map_err(|reason| {
                let line = self.lines.at(start);
                EvidenceError::at(EvidenceErrorKind::Limit, self.file, line, reason)
            })?;
        }
        Ok(())
    }

    fn content(&mut self, text: &str, start: usize, end: usize) -> Result<(), EvidenceError> {
        if let Some(offset) = text.find(|character| !markup::is_xml_char(character)) {
            self.remark(start + offset, "a character that xml does not allow");
        }
        if let Some(offset) = self.markup.invalid_within(start, end) {
            self.remark(offset, "bytes that are not utf-8");
        }
        if let Some(offset) = text.find('&') {
            self.remark(start + offset, "a lone `&`");
        }
        if text.trim().is_empty() { Ok(()) } else { self.refuse_outside(start) }
    }

    /// Text beside the root element means that this is not one document.
    fn refuse_outside(&mut self, start: usize) -> Result<(), EvidenceError> {
        if self.open.is_empty() {
            Err(self.malformed(start, "has text outside of the root element"))
        } else {
            Ok(())
        }
    }

    fn remark(&mut self, offset: usize, what: &'static str) {
        if self.odd_text.is_none() {
            self.odd_text = Some((self.lines.at(offset), what));
        }
    }

    fn attributes<const N: usize>(
        &mut self,
        tag: &BytesStart<'_>,
        keys: [&str; N],
        start: usize,
        end: usize,
    ) -> Result<[Option<String>; N], EvidenceError> {
        if let Some(offset) = self.markup.invalid_within(start, end) {
            return Err(self.malformed(offset, "is not utf-8 in a tag that counts: save the file as utf-8"));
        }
        attributes(tag, keys).map_err(|reason| self.malformed(start, reason))
    }

    fn malformed(&mut self, offset: usize, reason: impl std::fmt::Display) -> EvidenceError {
        EvidenceError::malformed(self.file, self.lines.at(offset), reason)
    }

    fn finish(mut self, end: usize) -> Result<(TestCounts, Vec<Warning>), EvidenceError> {
        let Some(root_line) = self.root_line else {
            return Err(self.malformed(end, "holds no xml element: is the test run complete?"));
        };
        if !self.open.is_empty() {
            return Err(self.malformed(end, "ends in the middle of an element: is the test run complete?"));
        }
        let (counts, mut warnings) = self.cases.finish(self.file, root_line);
        if let Some((line, what)) = self.odd_text {
            let text = format!("holds {what} in text that no fact uses; the file was read all the same");
            warnings.push(Warning::new(self.file, line, &text));
        }
        if counts.total == 0 {
            warnings.push(Warning::new(self.file, root_line, "holds no test case"));
        } else if self.declared_failures && counts.failed == 0 && counts.flaky == 0 {
            let text = "a suite's totals speak of failures, but no test case failed; the test cases count";
            warnings.push(Warning::new(self.file, root_line, text));
        }
        Ok((counts, warnings))
    }
}
