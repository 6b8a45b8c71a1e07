//! Test reports of several runners, and the ways in which they say what happened.

use release_review::{Evidence, Fact, Thresholds, Warning};

use crate::support::{Files, RELEASE, TESTS, fixture, noon};

/// Total, passed, failed, skipped, flaky.
type Counts = [u64; 5];

fn test_fact(evidence: &Evidence) -> Fact {
    evidence.facts(noon()).scope("engineering").unwrap().facts()[0].clone()
}

fn counts(fact: &Fact) -> Counts {
    ["total", "passed", "failed", "skipped", "flaky"].map(|key| fact.value[key].as_u64().unwrap())
}

fn read(report: impl AsRef<[u8]>) -> (Counts, Vec<Warning>) {
    let evidence = Files::ready().with(TESTS, report).open().unwrap();
    (counts(&test_fact(&evidence)), evidence.warnings().to_vec())
}

fn check(cases: &str, expected: Counts) {
    let (found, _) = read(format!("<testsuites><testsuite name=\"s\">{cases}</testsuite></testsuites>"));
    assert_eq!(found, expected, "{cases}");
}

#[test]
fn reports_of_three_runners_are_counted() {
    assert_eq!(read(fixture("nextest/rerun.xml")).0, [4, 2, 2, 0, 1]);
    assert_eq!(read(fixture("pytest/rerun.xml")).0, [12, 6, 4, 2, 1]);
    assert_eq!(read(fixture("surefire/TEST-org.example.CartTest.xml")).0, [6, 3, 2, 1, 1]);
    assert_eq!(read(fixture("surefire/TEST-org.example.PriceTest.xml")).0, [2, 2, 0, 0, 0]);
}

#[test]
fn several_files_add_up_and_name_each_failure() {
    let evidence = Files::ready()
        .without(TESTS)
        .with("a/nextest.xml", fixture("nextest/rerun.xml"))
        .with("b/pytest.xml", fixture("pytest/rerun.xml"))
        .with("c/surefire.xml", fixture("surefire/TEST-org.example.CartTest.xml"))
        .open()
        .unwrap();
    let fact = test_fact(&evidence);
    assert_eq!(counts(&fact), [22, 11, 8, 3, 3]);
    assert_eq!(fact.text, "11 of 22 tests passed, 8 failed, 3 skipped, 3 only on a rerun");
    let failures: Vec<String> = fact.value["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| {
            format!("{} {}:{}", test["name"].as_str().unwrap(), test["file"].as_str().unwrap(), test["line"])
        })
        .collect();
    assert_eq!(failures[0], "ledger::tests::exits a/nextest.xml:4");
    assert_eq!(failures.len(), 8);
    // Three files and eight failures; pytest writes its report on one line, which is named once.
    assert_eq!(fact.sources.len(), 3 + 8 - 1);
}

#[test]
fn a_test_case_is_what_its_elements_say() {
    check("<testcase name='a'/>", [1, 1, 0, 0, 0]);
    check("<testcase name='a'><system-out/><properties/></testcase>", [1, 1, 0, 0, 0]);
    check("<testcase name='a'><failure/></testcase>", [1, 0, 1, 0, 0]);
    check("<testcase name='a'><error/></testcase>", [1, 0, 1, 0, 0]);
    check("<testcase name='a'><skipped/></testcase>", [1, 0, 0, 1, 0]);
    check("<testcase name='a' status='notrun'/>", [1, 0, 0, 1, 0]);
    check("<testcase name='a' result='suppressed'/>", [1, 0, 0, 1, 0]);
    check("<testcase name='a' status='failed'/>", [1, 0, 1, 0, 0]);
    check("<testcase name='a' status='run' result='completed'/>", [1, 1, 0, 0, 0]);
    for rerun in ["flakyFailure", "flakyError", "rerunFailure", "rerunError"] {
        check(&format!("<testcase name='a'><{rerun}/></testcase>"), [1, 1, 0, 0, 1]);
        check(&format!("<testcase name='a'><failure/><{rerun}/></testcase>"), [1, 0, 1, 0, 0]);
        check(&format!("<testcase name='a'><{rerun}/><error/></testcase>"), [1, 0, 1, 0, 0]);
    }
    check("<testcase name='a'><skipped/><failure/></testcase>", [1, 0, 1, 0, 0]);
    check("<testcase name='a'><rerunFailure><failure/></rerunFailure></testcase>", [1, 1, 0, 0, 1]);
}

#[test]
fn a_test_that_is_listed_again_is_judged_by_its_last_run() {
    let (pass, fail, skip) = (
        "<testcase classname='c' name='a'/>",
        "<testcase classname='c' name='a'><failure/></testcase>",
        "<testcase classname='c' name='a'><skipped/></testcase>",
    );
    check(&[pass, fail].concat(), [1, 0, 1, 0, 0]);
    check(&[pass, pass].concat(), [1, 1, 0, 0, 1]);
    check(&[fail, pass, fail].concat(), [1, 0, 1, 0, 0]);
    check(&[fail, skip].concat(), [1, 0, 1, 0, 0]);
    check(&[skip, pass].concat(), [1, 1, 0, 0, 0]);
    check(&[pass, skip].concat(), [1, 1, 0, 0, 0]);
}

#[test]
fn a_pass_takes_a_failure_away_only_where_it_is_a_rerun() {
    let fail = "<testcase name='a'><failure/></testcase>";
    check(&[fail, "<testcase name='a'/>"].concat(), [1, 0, 1, 0, 0]);
    check(&[fail, fail, "<testcase name='a'/>"].concat(), [1, 0, 1, 0, 0]);
    check(&[fail, "<testcase name='a'><flakyFailure/></testcase>"].concat(), [1, 1, 0, 0, 1]);
    for place in ["file='x'", "line='1'", "file='x' line='1'"] {
        let fail = format!("<testcase name='a' {place}><failure/></testcase>");
        check(&format!("{fail}<testcase name='a' {place}/>"), [1, 1, 0, 0, 1]);
    }
}

#[test]
fn a_word_that_nobody_knows_is_no_pass() {
    for word in ["broken", "timeout", "aborted", "FAIL:", "passed with errors", "f\u{ad}ailed", "crashed"] {
        for key in ["status", "result"] {
            let (counts, warnings) = read(format!(
                "<testsuite><testcase name='a'/>\n<testcase name='b' {key}='{word}'/></testsuite>"
            ));
            assert_eq!(counts, [2, 1, 1, 0, 0], "{word}");
            assert_eq!((warnings.len(), warnings[0].line), (1, 2), "{word}: {warnings:?}");
            let shown = word.replace('\u{ad}', "\\u{ad}");
            assert!(warnings[0].text.contains(&format!("`{shown}` is not known")), "{warnings:?}");
        }
    }
    for (word, expected) in [
        ("failed ", [1, 0, 1, 0, 0]),
        (" Failure\n", [1, 0, 1, 0, 0]),
        (" skipped ", [1, 0, 0, 1, 0]),
        ("Passed ", [1, 1, 0, 0, 0]),
        ("run", [1, 1, 0, 0, 0]),
        ("completed", [1, 1, 0, 0, 0]),
        ("", [1, 1, 0, 0, 0]),
    ] {
        let (counts, warnings) = read(format!("<testsuite><testcase name='a' status='{word}'/></testsuite>"));
        assert_eq!((counts, warnings.len()), (expected, 0), "{word}: {warnings:?}");
    }
    let many = "<testcase name='a' status='broken'/>".repeat(30);
    let (_, warnings) = read(format!("<testsuite>{many}</testsuite>"));
    assert!(warnings.iter().any(|warning| warning.text == "10 more tests have a status that is not known"));
}

#[test]
fn tests_that_differ_in_more_than_the_name_are_not_reruns() {
    check(
        "<testcase classname='c' name='a'><failure/></testcase><testcase classname='d' name='a'/>",
        [2, 1, 1, 0, 0],
    );
    check("<testcase name='a' line='1'><failure/></testcase><testcase name='a' line='2'/>", [2, 1, 1, 0, 0]);
    check("<testcase name='a' file='x'><failure/></testcase><testcase name='a' file='y'/>", [2, 1, 1, 0, 0]);
    check(
        "<testcase name='a'><failure/></testcase></testsuite><testsuite name='s'><testcase name='a'/>",
        [2, 1, 1, 0, 0],
    );
}

#[test]
fn a_rerun_in_the_list_is_remarked() {
    let (_, warnings) =
        read("<testsuite>\n<testcase name='a'><failure/></testcase>\n<testcase name='a'/></testsuite>");
    assert_eq!(warnings.len(), 1);
    assert_eq!((warnings[0].file.as_str(), warnings[0].line), (TESTS, 2));
    assert!(warnings[0].text.contains("listed 2 times"), "{warnings:?}");
    assert!(warnings[0].text.ends_with("which failed"), "{warnings:?}");
}

#[test]
fn totals_of_suites_do_not_count() {
    let report = "<testsuites tests='9' failures='0'><testsuite tests='7' failures='0' errors='0'>\
                  <testsuite tests='7'><testcase name='a'><failure/></testcase></testsuite>\
                  <testcase name='b'/></testsuite></testsuites>";
    assert_eq!(read(report).0, [2, 1, 1, 0, 0]);
    let (counts, warnings) = read("<testsuite tests='1' errors='1'><testcase name='a'/></testsuite>");
    assert_eq!(counts, [1, 1, 0, 0, 0]);
    assert!(warnings[0].text.contains("totals speak of failures"), "{warnings:?}");
}

#[test]
fn a_suite_that_broke_down_has_failed() {
    check("<error message='no database'/><testcase name='a'/>", [2, 1, 1, 0, 0]);
}

#[test]
fn a_report_that_breaks_the_standard_where_nobody_looks_is_read() {
    let odd: [(&[u8], &str); 6] = [
        (b"\x1b[31mred\x08", "a character that xml does not allow"),
        (b"<![CDATA[\x00]]>", "a character that xml does not allow"),
        (b"&nbsp;", "an unknown entity"),
        (b"&#27;", "an unknown entity"),
        (b"this & that", "a lone `&`"),
        (b"caf\xe9", "bytes that are not utf-8"),
    ];
    for (text, remark) in odd {
        let start: &[u8] = b"<testsuite><testcase name='a'>\n<system-out>";
        let report = [start, text, b"</system-out></testcase></testsuite>"].concat();
        let (counts, warnings) = read(&report);
        assert_eq!(counts, [1, 1, 0, 0, 0], "{remark}");
        assert_eq!(warnings.len(), 1, "{remark}: {warnings:?}");
        assert!(warnings[0].text.contains(remark) && warnings[0].line == 2, "{remark}: {warnings:?}");
    }
}

#[test]
fn an_empty_report_and_a_copied_one_are_remarked() {
    let (counts, warnings) = read("<testsuites/>");
    assert_eq!(counts, [0; 5]);
    assert_eq!(warnings[0].text, "holds no test case");
    let report = "<testsuite><testcase name='a'/></testsuite>";
    let evidence = Files::ready().with(TESTS, report).with("reports/zz.xml", report).open().unwrap();
    assert_eq!(counts_of(&evidence), [2, 2, 0, 0, 0]);
    assert!(evidence.warnings()[0].text.contains("same content as reports/tests.xml"));
}

fn counts_of(evidence: &Evidence) -> Counts {
    counts(&test_fact(evidence))
}

#[test]
fn thresholds_move_the_numbers_and_say_so() {
    let report = "<testsuite><testcase name='a'/><testcase name='b'><flakyError/></testcase>\
                  <testcase name='c'><skipped/></testcase></testsuite>";
    let table = [
        ("", "2 of 3 tests passed, 1 skipped, 1 only on a rerun", "ready"),
        ("max_skipped = 1", "2 of 3 tests passed, 1 skipped, 1 only on a rerun", "ready"),
        (
            "max_skipped = 0",
            "2 of 3 tests passed, 1 skipped (at most 0 allowed), 1 only on a rerun",
            "blocked",
        ),
        ("max_flaky = 0", "2 of 3 tests passed, 1 skipped, 1 only on a rerun (at most 0 allowed)", "blocked"),
        (
            "min_tests = 3",
            "2 of 3 tests passed, 1 skipped, 1 only on a rerun, 2 ran (at least 3 must)",
            "blocked",
        ),
    ];
    for (thresholds, text, verdict) in table {
        let settings = format!("release = \"R\"\n[thresholds]\n{thresholds}\n");
        let facts = Files::ready().with(RELEASE, settings).with(TESTS, report).facts();
        let scope = facts.scope("engineering").unwrap();
        assert_eq!((scope.facts()[0].text.as_str(), scope.verdict().to_string().as_str()), (text, verdict));
    }
    let expected = Thresholds { min_tests: 1, max_skipped: None, max_flaky: None, max_open_critical: 0 };
    assert_eq!(Thresholds::default(), expected);
}

#[test]
fn a_report_that_cannot_be_judged_is_refused_with_its_line() {
    let deep = format!("<testsuite>{}", "<testsuite>".repeat(64));
    let crowded = (0..65).map(|n| format!(" a{n}=''")).collect::<Vec<_>>().concat();
    let crowded = format!("<testsuite>\n<testcase{crowded}/></testsuite>");
    let bomb =
        "<?xml version='1.0'?>\n<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>\n<testsuite/>";
    let table: [(&[u8], u64, &str); 20] = [
        (b"", 1, "holds no xml element"),
        (b"plain text\n", 1, "text outside of the root element"),
        (b"<testsuite>\n<testcase name='a'>", 2, "ends in the middle of an element"),
        (
            b"<testsuite>\n<testcase name='a'></testsuite>",
            2,
            "expected `</testcase>`, but `</testsuite>` was found",
        ),
        (b"<coverage/>", 1, "no junit report"),
        (b"<testsuite/>\n<testsuite/>", 2, "second root element"),
        (b"<testsuite/>\ntrailing", 1, "text outside of the root element"),
        (b"<testsuite>\n<testcase classname='a'/></testsuite>", 2, "without a `name`"),
        (b"<testsuite>\n<testcase name='a' name='b'/></testsuite>", 2, "malformed attribute"),
        (b"<testsuite>\n<testcase name='&who;'/></testsuite>", 2, "malformed value of `name`"),
        (b"<testsuite>\n<testcase name='\x00'/></testsuite>", 2, "U+0000 in `name`"),
        (b"<testsuite>\n<testcase name='&#0;'/></testsuite>", 2, "malformed value of `name`"),
        (b"<testsuite>\n<testcase name='\xff'/></testsuite>", 2, "is not utf-8 in a tag that counts"),
        (b"<testsuite><x>\n<testcase name='a'/></x></testsuite>", 2, "outside of a `testsuite`"),
        (b"<testcase name='a'/>", 1, "no junit report"),
        (b"<?xml version='1.0' encoding='UTF-16'?>\n<testsuite/>", 1, "is not in utf-8"),
        (b"\xff\xfe<\x00", 1, "text outside of the root element"),
        (bomb.as_bytes(), 2, "declares a document type"),
        (deep.as_bytes(), 1, "nests elements more than 64 deep"),
        (crowded.as_bytes(), 2, "more than 64 attributes"),
    ];
    for (report, line, reason) in table {
        let error = Files::ready().with(TESTS, report).open().unwrap_err();
        let shown = String::from_utf8_lossy(report);
        assert_eq!((error.file(), error.line()), (TESTS, Some(line)), "{shown}: {error}");
        assert!(error.reason().contains(reason), "{shown}: {error}");
    }
}
