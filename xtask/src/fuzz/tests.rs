use super::{Request, SECONDS, request};

fn check(arguments: &[&str], expected: Result<(&[&str], u32), &str>) {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let asked = request(&owned(arguments), &owned(&["a", "b"])).map_err(|error| error.to_string());
    let expected = expected.map(|(targets, seconds)| Request { targets: owned(targets), seconds });
    assert_eq!(asked, expected.map_err(ToOwned::to_owned), "{arguments:?}");
}

#[test]
fn all_targets_run_unless_some_are_named() {
    check(&[], Ok((&["a", "b"], SECONDS)));
    check(&["b"], Ok((&["b"], SECONDS)));
    check(&["b", "--seconds", "7", "a"], Ok((&["b", "a"], 7)));
    check(&["c"], Err("no target `c`; there are `a`, `b`, and `--seconds N`"));
    for arguments in [&["--seconds"] as &[_], &["--seconds", "a"], &["--seconds", "0"]] {
        check(arguments, Err("`--seconds` takes how long each target runs, from 1"));
    }
}
