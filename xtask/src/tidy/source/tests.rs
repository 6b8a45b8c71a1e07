use super::code_only;

/// In what is expected, `_` stands for a byte that became a space.
fn check(text: &str, expected: &str) {
    let code = code_only(text);
    assert_eq!(code, expected.replace('_', " "), "{text}");
    assert_eq!(code.len(), text.len(), "{text}");
}

#[test]
fn comments_become_spaces() {
    check("a // b\nc", "a ____\nc");
    check("a /* /* c */ d */ e", "a _______________ e");
    check("a /* open", "a _______");
    check("//! ä\nx", "______\nx");
}

#[test]
fn strings_keep_their_quotes() {
    check(r#"f("a // b")"#, r#"f("______")"#);
    check(r#"f("a \" b", c)"#, r#"f("______", c)"#);
    check("f(\"a\nb\")", "f(\"_\n_\")");
    check(r##"f(r#"a " b"#, c)"##, r##"f(r#"_____"#, c)"##);
    check(r#"f(br"\", c)"#, r#"f(br"_", c)"#);
    check(r#"ptr"x""#, r#"ptr"_""#);
    check("\"open", "\"____");
}

#[test]
fn characters_are_told_from_lifetimes() {
    check(r#"f('"', 'a', '\'', '\u{1F600}', b'\\')"#, r"f(___, ___, ____, ___________, b____)");
    check("fn f<'a>(x: &'a str) -> &'static str {", "fn f<'a>(x: &'a str) -> &'static str {");
    check("'outer: loop { break 'outer; }", "'outer: loop { break 'outer; }");
}

#[test]
fn raw_identifiers_are_code() {
    check("r#mod r#\"mod\"#", "r#mod r#\"___\"#");
}
