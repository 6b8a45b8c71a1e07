use std::cell::Cell;

use super::*;

thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// Called by the scanner for each byte that it reads.
pub(super) fn count_byte() {
    READ.set(READ.get() + 1);
}

fn found(text: &str) -> Result<&str, String> {
    object(text).map_err(|error| match error {
        CodecError::Malformed(source) => format!("malformed: {source}"),
        error => error.to_string(),
    })
}

#[test]
fn one_object_is_found_whatever_stands_around_it() {
    let check = |text: &str, expected: &str| assert_eq!(found(text).as_deref(), Ok(expected), "{text}");
    check(r#"{"steps":[]}"#, r#"{"steps":[]}"#);
    check("Sure!\n```json\n{\"steps\": []}\n```\nDone.", "{\"steps\": []}");
    check(r#"x {"goal":"} { \" \\","steps":[{"a":[{}]}]} y"#, r#"{"goal":"} { \" \\","steps":[{"a":[{}]}]}"#);
    // Braces of prose, before, behind and close by.
    check(r#"{x} and {name} { {"steps":[1]} {"#, r#"{"steps":[1]}"#);
    check("{ü}{\"steps\":[\"ü\"]}", "{\"steps\":[\"ü\"]}");
    check("a stray {\"quote\nand {\"steps\":[]}", "{\"steps\":[]}");
    // An example before, a field `steps` further down, none at all.
    check(r#"like {"id":"a"}: {"goal":"g","steps":[]}"#, r#"{"goal":"g","steps":[]}"#);
    check(r#"{"plan":{"steps":[]}}"#, r#"{"plan":{"steps":[]}}"#);
    check(r#"{"steps":[-1.5e+3,true,null]}"#, r#"{"steps":[-1.5e+3,true,null]}"#);
    // The only one that is whole.
    check(r#"{"goal":"g",} again: {"steps":[]}"#, r#"{"steps":[]}"#);
}

#[test]
fn what_is_not_exactly_one_object_is_an_error() {
    let check = |text: &str, expected: &str| assert_eq!(found(text), Err(expected.to_owned()), "{text}");
    check("", "answer has no JSON object; ask for one");
    check("no {braces} here }", "answer has no JSON object; ask for one");
    check("[1, 2]", "answer has no JSON object; ask for one");
    check(
        r#"{"goal":"g","steps":[{"id":"a"},"#,
        "answer ends within its JSON object; ask for a shorter one, or allow more tokens",
    );
    check(
        r#"{"steps":[]} better: {"steps":["#,
        "answer ends within its JSON object; ask for a shorter one, or allow more tokens",
    );
    check(
        r#"{"steps":[]} or {"steps":[1]}"#,
        "answer has 2 JSON objects that could be the plan; ask for exactly one",
    );
    check(
        r#"{"a":1}{"b":2}{"c":3}"#,
        "answer has 3 JSON objects that could be the plan; ask for exactly one",
    );
    check(r#"{"goal":"g","steps":[{"id":"a"},]}"#, "malformed: trailing comma at line 1 column 33");
    check(
        "{\"goal\":\"g\nh\",\"steps\":[{\"id\":\"a\"}]}",
        "malformed: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 10",
    );
}

/// The texts on which a scanner that begins again at each brace takes time with the square of their length.
#[test]
fn no_byte_is_read_more_than_twice() {
    for part in [
        "{",
        "{\"",
        "{\"a\":",
        "{\"a\":[",
        "{{\"a\":1}",
        "{\"a\":{}x",
        "{\"a\":\"",
        "{} ",
        "{\"a\":[{},",
        "\\",
        "{'a':1}",
    ] {
        let text = part.repeat(1_000);
        READ.set(0);
        let _ = object(&text);
        assert!(READ.get() <= 2 * text.len(), "{part}: {} of {}", READ.get(), text.len());
    }
}
