//! Text of others in the report for people.

use std::fmt::Write as _;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use release_review::{
    AttemptError, Entry, RequestOptions, SynthesisEntry, escape, publish, roles, synthesize,
};

use crate::support::{DEFECTS, Files, RELEASE, ROTA, Review, TESTS, markdown};

/// The structure of a page without its words, and the words.
fn read(page: &str) -> (Vec<String>, String) {
    let options = Options::all() & !Options::ENABLE_SMART_PUNCTUATION;
    let mut structure: Vec<String> = Vec::new();
    let mut words = String::new();
    for event in Parser::new_ext(page, options) {
        match event {
            Event::Text(text) => {
                words.push_str(&text);
                if structure.last().is_none_or(|last| last != "text") {
                    structure.push("text".to_owned());
                }
            }
            Event::Code(_) => structure.push("code".to_owned()),
            other => structure.push(format!("{other:?}")),
        }
    }
    (structure, words)
}

/// Every place of the report in which text of others stands.
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("# ", "\n"),
    ("- ", "\n- more\n"),
    ("- “", "” — x:1\n"),
    ("a\n\n", "\n\nb"),
    ("### ", ": ready\n"),
];

fn renders_as_itself(text: &str) -> Result<(), TestCaseError> {
    let escaped = escape(text);
    prop_assert!(!escaped.contains('\n'));
    if escaped.is_empty() {
        return Ok(());
    }
    for (before, after) in PLACES {
        let (structure, words) = read(&format!("{before}{escaped}{after}"));
        let (expected, plain) = read(&format!("{before}word{after}"));
        prop_assert_eq!(structure, expected, "{:?} in {:?} is {:?}", text, before, escaped);
        let visible = visible(text);
        prop_assert_eq!(words, plain.replacen("word", &visible, 1));
    }
    for special in ['<', '>', '`', '*', '_', '[', ']', '#', '|', '~', '$', '@', '!'] {
        for (index, _) in escaped.match_indices(special) {
            prop_assert!(escaped[..index].ends_with('\\'), "{:?} in {:?}", special, escaped);
        }
    }
    Ok(())
}

/// What a reader is to see: one line, with the characters that hide or turn others spelled out.
fn visible(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut shown = String::new();
    for character in words.join(" ").chars() {
        let hidden = character.is_control()
            || matches!(u32::from(character), 0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5
                | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164
                | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
                | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff);
        if hidden {
            write!(shown, "U+{:04X}", u32::from(character)).unwrap();
        } else {
            shown.push(character);
        }
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn special_characters_render_as_themselves(text in r"[-+*_#>`|\\\[\]()!<&;:.~$^=@'{}0-9wx \n\t/%\x22]{0,40}") {
        renders_as_itself(&text)?;
    }

    #[test]
    fn any_text_renders_as_itself(text in r"\PC{0,40}") {
        renders_as_itself(&text)?;
    }

    #[test]
    fn controls_render_as_escapes(text in r"[\x00-\x1f\x7fa\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2028}\u{2029}]{0,20}") {
        renders_as_itself(&text)?;
    }
}

const PAYLOADS: [&str; 18] = [
    "# heading",
    "**bold** _em_ ~~gone~~",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "<script>alert(1)</script>",
    "&lt;b&gt; &#35;",
    "`code` ``more``",
    "| a | b | - | -",
    "1. one",
    "1) one",
    ": definition",
    "- [x] done",
    "> quote",
    "+ plus",
    "--- === ***",
    "https://evil.example www.evil.example mailto:a@b.example",
    "$x$ $$y$$ [^1]: note",
    "trailing backslash \\",
];

#[test]
fn the_payloads_render_as_themselves() {
    for payload in PAYLOADS {
        renders_as_itself(payload).unwrap();
    }
    assert_eq!(escape("https://a.b www.c"), "https\\://a.b www\\.c");
    assert_eq!(escape("a\r\nb\u{2028}c\u{202e}d"), "a b cU+202Ed");
    assert_eq!(
        escape("\u{115f}\u{3164}\u{17b4}\u{fe0f}\u{e0100}\u{2069}"),
        "U+115FU+3164U+17B4U+FE0FU+E0100U+2069"
    );
    assert_eq!(escape("12. a"), "12\\. a");
    assert_eq!(escape("48 of 50 tests passed, 2 failed"), "48 of 50 tests passed, 2 failed");
}

/// A report in which every text of others is the payload.
fn page(payload: &str) -> String {
    let json = serde_json::to_string(payload).unwrap();
    let xml = payload.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let csv = payload.replace('"', "\"\"");
    let files = Files::ready()
        .with(RELEASE, format!("release = {json}\nrelease_at = 2026-08-14T09:00:00Z\n"))
        .with(
            TESTS,
            format!(
                "<testsuite><testcase name=\"{xml}\"/><testcase name=\"{xml}\"><failure/></testcase></testsuite>"
            ),
        )
        .with(DEFECTS, format!("id,severity,status,title\n\"{csv}\",critical,open,\"{csv}\"\n"))
        .with(
            ROTA,
            format!(r#"{{"shifts":[{{"who":{json},"from":"2026-08-14T00:00:00Z","until":"2026-08-15T00:00:00Z"}}]}}"#),
        );
    let options = RequestOptions { goal: Some(payload.to_owned()), ..RequestOptions::default() };
    let review = Review::with(&files, options);
    let mut results = review.results();
    let engineering = results.remove(0);
    let agents = [roles::ENGINEERING, roles::OPERATIONS];
    let mut answer = synthesize(payload, &agents, std::slice::from_ref(&engineering));
    payload.clone_into(&mut answer.title);
    payload.clone_into(&mut answer.summary);
    payload.clone_into(&mut answer.sections[0].text);
    let outcome = release_review::Outcome {
        provider: payload.to_owned(),
        entries: vec![
            Entry::completed(roles::ENGINEERING, engineering.id(), 1, Vec::new()),
            Entry::failed(roles::OPERATIONS, vec![AttemptError::new(1, payload, payload)]),
        ],
        synthesis: SynthesisEntry { attempts: 1, errors: Vec::new(), synthesis: Some(answer) },
        stopped: Vec::new(),
    };
    std::fs::read_to_string(publish(&review.task, &outcome).unwrap().markdown).unwrap()
}

#[test]
fn no_text_of_others_forges_the_structure_of_a_report() {
    let (expected, _) = read(&page("word"));
    for payload in PAYLOADS {
        let page = page(payload);
        let (structure, words) = read(&page);
        assert_eq!(structure, expected, "{payload}\n{page}");
        assert!(words.matches(payload).count() >= 10, "{payload}\n{page}");
    }
}

#[test]
fn a_file_name_forges_nothing_either() {
    let name = "re`ports/[x](y) **b** <i>.xml";
    let review =
        Review::of(&Files::ready().without(TESTS).with(name, "<testsuite><testcase name='a'/></testsuite>"));
    let (_, words) = read(&markdown(&review));
    assert!(words.contains(name), "{words}");
    let plain = Review::of(&Files::ready());
    assert_eq!(read(&markdown(&review)).0, read(&markdown(&plain)).0);
}
