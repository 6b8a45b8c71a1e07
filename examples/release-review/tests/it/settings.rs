//! `release.toml`.

use release_review::{Mode, Request, RequestOptions};

use crate::support::{Files, RELEASE, noon};

fn refused(content: &str, expected: &str) {
    let refusal = Files::ready().with(RELEASE, content).refusal();
    assert!(refusal.starts_with(expected), "{content}: {refusal}");
}

#[test]
fn every_mistake_is_named_with_its_line() {
    refused("", "`release.toml:1`: missing field `release`");
    refused("release = \"R\"\nreleased = true\n", "`release.toml:2`: unknown field `released`");
    refused(
        "release = \"R\"\n[thresholds]\nmax_failed = 3\n",
        "`release.toml:3`: unknown field `max_failed`",
    );
    refused("release = \"R\"\n\n[thresholds]\nmax_skipped = -1\n", "`release.toml:4`: ");
    refused("release = \"R\"\nrelease = \"S\"\n", "`release.toml:2`: duplicate key");
    refused("\nrelease = \" \"\n", "`release.toml:2`: `release` must not be blank");
    refused(
        "release = \"a\\nb\"\n",
        "`release.toml:1`: `release` must not hold the control character U+000A",
    );
    refused(
        &format!("release = \"{}\"\n", "r".repeat(101)),
        "`release.toml:1`: `release` has 101 characters, at most 100",
    );
    refused(
        "release = \"R\"\nrelease_at = 2026-08-14T09:00:00\n",
        "`release.toml:2`: `release_at` needs a date, a time and an offset",
    );
    refused("release = \"R\"\nrelease_at = 2026-08-14\n", "`release.toml:2`: `release_at` needs a date");
    refused("release = \"R\"\nrelease_at = \"soon\"\n", "`release.toml:2`: ");
    refused(
        "release = \"R\"\nprincipals = [\"ada\", \"../x\"]\n",
        "`release.toml:2`: a name has 1 to 64 of the characters",
    );
    refused(
        "release = \"R\"\nprincipals = [\"ada\", \"ada\"]\n",
        "`release.toml:2`: `principals` lists `ada` twice",
    );
    refused("release = \"R\"\nmode = \"all at once\"\n", "`release.toml:2`: unknown variant");
    refused(
        "release = \"R\"\ngoal = \"a\\u0007\"\n",
        "`release.toml:2`: `goal` must not hold the control character U+0007",
    );
    refused("release = \"R\n", "`release.toml:1`: ");
    refused("release = \"R\"\n\n[thresholds]\nmin_tests = 0\n", "`release.toml:4`: `min_tests` is 0");
    refused("release = \"R\"\nthresholds = { min_tests = 0 }\n", "`release.toml:2`: `min_tests` is 0");
}

#[test]
fn hidden_characters_are_refused_in_release_and_goal() {
    for code in [
        0x200b, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0x115f, 0x3164, 0x17b4,
        0xfe0f,
    ] {
        refused(
            &format!("release = \"R\\u{code:04x}\"\n"),
            &format!("`release.toml:1`: `release` must not hold U+{code:04X}"),
        );
        refused(
            &format!("release = \"R\"\ngoal = \"g\\u{code:04x}\"\n"),
            &format!("`release.toml:2`: `goal` must not hold U+{code:04X}"),
        );
    }
    refused("release = \"R\u{e0041}\"\n", "`release.toml:1`: `release` must not hold U+E0041");
    refused("release = \"R\u{e0100}\"\n", "`release.toml:1`: `release` must not hold U+E0100");
    let goal = Some("go\u{202e}al".to_owned());
    let evidence = Files::ready().open().unwrap();
    let options = RequestOptions { goal, ..RequestOptions::default() };
    let error = Request::new(&evidence, noon(), options).unwrap_err().to_string();
    assert_eq!(error, "the goal must not hold U+202E, which hides text or turns its direction");
}

#[test]
fn what_the_caller_says_wins_over_the_file() {
    let settings =
        "release = \"R\"\ngoal = \"from the file\"\nmode = \"serial\"\nprincipals = [\"ada\", \"grace\"]\n";
    let evidence = Files::ready().with(RELEASE, settings).open().unwrap();
    let ada = RequestOptions { principal: Some("ada".to_owned()), ..RequestOptions::default() };
    let request = Request::new(&evidence, noon(), ada.clone()).unwrap();
    assert_eq!((request.goal(), request.mode()), ("from the file", Mode::Serial));
    let options = RequestOptions {
        goal: Some("from the caller".to_owned()),
        mode: Some(Mode::Parallel),
        id: Some("review-1".to_owned()),
        ..ada
    };
    let request = Request::new(&evidence, noon(), options).unwrap();
    assert_eq!(
        (request.goal(), request.mode(), request.id().as_str()),
        ("from the caller", Mode::Parallel, "review-1")
    );
}

#[test]
fn requests_out_of_range_are_refused() {
    let evidence = Files::ready().with(RELEASE, "release = \"R\"\nprincipals = [\"ada\"]\n").open().unwrap();
    let ada = || RequestOptions { principal: Some("ada".to_owned()), ..RequestOptions::default() };
    let refused = |options: RequestOptions, expected: &str| {
        let error = Request::new(&evidence, noon(), options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(RequestOptions::default(), "`operator` is not among the principals of release.toml: ada");
    for id in ["", ".", "..", "a/b", "a b", "ä", &"a".repeat(65), "a\n"] {
        refused(RequestOptions { id: Some(id.to_owned()), ..ada() }, "a name has 1 to 64 of the characters");
    }
    refused(
        RequestOptions { goal: Some("a".repeat(2_001)), ..ada() },
        "the goal has 2001 characters, at most 2000",
    );
    refused(RequestOptions { goal: Some("a\u{1b}".to_owned()), ..ada() }, "U+001B");
    refused(RequestOptions { goal: Some("  ".to_owned()), ..ada() }, "the goal must not be blank");
    let longest = RequestOptions { id: Some("a".repeat(64)), goal: Some("g\n\t".repeat(600)), ..ada() };
    assert!(Request::new(&evidence, noon(), longest).is_ok());
}

#[test]
fn the_default_id_comes_from_the_sources() {
    let id = |files: &Files, at: &str| {
        let evidence = files.open().unwrap();
        Request::new(&evidence, at.parse().unwrap(), RequestOptions::default()).unwrap().id().to_string()
    };
    let (one, other) = ("2026-08-14T12:00:00Z", "2027-01-01T00:00:00Z");
    assert_eq!(id(&Files::ready(), one), id(&Files::ready(), other));
    assert_ne!(id(&Files::ready(), one), id(&Files::ready().with("more.xml", "<testsuite/>"), one));
}
