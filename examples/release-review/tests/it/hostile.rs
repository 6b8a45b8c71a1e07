//! Evidence that is missing, linked, too large or otherwise not to be trusted.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};

use release_review::{Evidence, EvidenceError, EvidenceErrorKind};

use crate::support::{DEFECTS, Files, RELEASE, ROTA, RUNBOOK, TESTS};

type Change<'a> = &'a dyn Fn(&Path);

const LIMIT: u64 = 16 * 1024 * 1024;

/// The error of ready evidence after something was done to its directory.
fn after(change: impl Fn(&Path)) -> EvidenceError {
    let directory = Files::ready().write();
    change(directory.path());
    Evidence::open(directory.path()).unwrap_err()
}

#[test]
fn each_missing_file_is_named() {
    let table = [
        (RELEASE, "`release.toml`: is missing"),
        (TESTS, "`.`: holds no junit report (*.xml)"),
        (DEFECTS, "`.`: holds no defects.csv or defects.json"),
        (RUNBOOK, "`.`: holds no runbook.md or rollback.json"),
        (ROTA, "`.`: holds no oncall.json or an iCalendar file"),
    ];
    for (path, expected) in table {
        let error = Files::ready().without(path).open().unwrap_err();
        assert_eq!(error.kind(), EvidenceErrorKind::Missing);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let error = Evidence::open(Path::new("no/such/directory")).unwrap_err();
    assert_eq!(error.kind(), EvidenceErrorKind::Missing);
}

#[test]
fn two_files_of_one_kind_are_refused() {
    let table = [
        ("issues.json", "[]", "`issues.json`: stands beside `defects.csv`"),
        ("rollback.json", "{\"rollback\":true}", "`runbook.md`: stands beside `rollback.json`"),
        ("team.ics", "", "`team.ics`: stands beside `oncall.json`"),
        ("sources.json", "{}", "`sources.json`: stands beside release.toml"),
    ];
    for (path, content, expected) in table {
        let error = Files::ready().with(path, content).open().unwrap_err();
        assert_eq!(error.kind(), EvidenceErrorKind::Ambiguous);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let single = Files::single("{}").with("more.xml", "<testsuite/>").open().unwrap_err();
    assert_eq!(single.kind(), EvidenceErrorKind::Ambiguous);
}

#[test]
fn links_are_refused_wherever_they_stand() {
    let elsewhere = Files::ready().write();
    let target = |path: &str| elsewhere.path().join(path);
    let table: [(&str, Change<'_>); 4] = [
        (DEFECTS, &|directory| {
            fs::remove_file(directory.join(DEFECTS)).unwrap();
            symlink(target(DEFECTS), directory.join(DEFECTS)).unwrap();
        }),
        ("reports", &|directory| {
            fs::remove_dir_all(directory.join("reports")).unwrap();
            symlink(target("reports"), directory.join("reports")).unwrap();
        }),
        ("notes", &|directory| symlink("/dev/null", directory.join("notes")).unwrap()),
        ("reports/dangling.xml", &|directory| {
            symlink("nowhere", directory.join("reports/dangling.xml")).unwrap();
        }),
    ];
    for (path, change) in table {
        let error = after(change);
        assert_eq!((error.kind(), error.file()), (EvidenceErrorKind::Symlink, path), "{error}");
    }
}

#[test]
fn a_link_to_the_directory_itself_is_the_callers_own() {
    let directory = Files::ready().write();
    let home = tempfile::tempdir().unwrap();
    symlink(directory.path(), home.path().join("link")).unwrap();
    assert!(Evidence::open(&home.path().join("link")).is_ok());
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
    let pipe = after(|directory| {
        let made = Command::new("mkfifo").arg(directory.join("x.xml")).status().unwrap();
        assert!(made.success());
    });
    assert_eq!((pipe.kind(), pipe.file()), (EvidenceErrorKind::NotRegular, "x.xml"));
    let socket = after(|directory| drop(UnixListener::bind(directory.join("x.xml")).unwrap()));
    assert_eq!((socket.kind(), socket.file()), (EvidenceErrorKind::NotRegular, "x.xml"));
    let folder = after(|directory| {
        fs::remove_file(directory.join(RELEASE)).unwrap();
        fs::create_dir(directory.join(RELEASE)).unwrap();
    });
    assert_eq!((folder.kind(), folder.file()), (EvidenceErrorKind::Missing, RELEASE));
}

#[test]
fn a_file_of_16_mb_is_read_and_a_byte_more_is_not() {
    let sized = |size: u64| {
        move |directory: &Path| {
            let mut report = b"<testsuite><testcase name='a'/></testsuite>".to_vec();
            report.resize(usize::try_from(size).unwrap(), b'\n');
            fs::write(directory.join(TESTS), report).unwrap();
        }
    };
    let directory = Files::ready().write();
    sized(LIMIT)(directory.path());
    assert!(Evidence::open(directory.path()).is_ok());
    let error = after(sized(LIMIT + 1));
    assert_eq!((error.kind(), error.file()), (EvidenceErrorKind::Limit, TESTS), "{error}");
}

#[test]
fn too_many_files_and_too_deep_folders_are_refused() {
    let many = after(|directory| {
        for number in 0..1_000 {
            fs::write(directory.join(format!("{number}.txt")), "").unwrap();
        }
    });
    assert_eq!(many.kind(), EvidenceErrorKind::Limit, "{many}");
    let deep = after(|directory| fs::create_dir_all(directory.join("1/2/3/4/5/6/7/8/9")).unwrap());
    assert_eq!((deep.kind(), deep.file()), (EvidenceErrorKind::Limit, "1/2/3/4/5/6/7/8/9"), "{deep}");
}

#[test]
fn names_that_could_forge_a_line_are_refused_and_shown_escaped() {
    let error = after(|directory| fs::write(directory.join("a\n\u{1b}[31m.xml"), "<testsuite/>").unwrap());
    assert_eq!(error.kind(), EvidenceErrorKind::Malformed);
    assert_eq!(error.file(), "a\\n\\u{1b}[31m.xml");
    for (name, shown) in [("a\u{202e}lmx.xml", "a\\u{202e}lmx.xml"), ("a\u{200b}.txt", "a\\u{200b}.txt")] {
        let error = after(|directory| fs::write(directory.join(name), "").unwrap());
        assert_eq!((error.kind(), error.file()), (EvidenceErrorKind::Malformed, shown));
    }
    let error = after(|directory| fs::write(directory.join("a\\..\\x.xml"), "<testsuite/>").unwrap());
    assert_eq!(error.kind(), EvidenceErrorKind::Malformed);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let error = after(|directory| {
            fs::write(directory.join(std::ffi::OsStr::from_bytes(b"\xff.xml")), "<testsuite/>").unwrap();
        });
        assert_eq!(error.kind(), EvidenceErrorKind::Malformed);
    }
}

#[test]
fn files_that_nobody_reads_are_told_and_change_nothing() {
    let evidence = Files::ready().open().unwrap();
    let more = Files::ready().with("notes/README.txt", "x").with(".hidden", "x").open().unwrap();
    assert_eq!(more.unread(), ["notes/README.txt"]);
    assert_eq!(more.digest(), evidence.digest());
}

#[test]
fn text_that_is_no_utf_8_is_refused_with_its_line() {
    for (path, content) in [
        (RELEASE, b"release = \"R\"\n# \xff".as_slice()),
        (DEFECTS, b"id,severity,status\nD\xff,low,open\n"),
        (RUNBOOK, b"# Rollback\n\xff\n"),
        (ROTA, b"{\"shifts\":\n[\xff]}"),
    ] {
        let error = Files::ready().with(path, content).open().unwrap_err();
        assert_eq!((error.file(), error.line()), (path, Some(2)), "{error}");
        assert_eq!(error.kind(), EvidenceErrorKind::Malformed);
    }
}

#[test]
fn hostile_sizes_end_quickly() {
    let nested = "> ".repeat(100_000);
    assert!(Files::ready().with(RUNBOOK, nested).open().is_ok());
    let brackets = "[".repeat(1_000_000);
    assert!(Files::ready().with(RUNBOOK, brackets).open().is_ok());
    let tables = format!("release = \"R\"\nx = {}", "[".repeat(100_000));
    assert!(Files::ready().with(RELEASE, tables).open().is_err());
}

#[test]
fn an_error_shows_no_control_character_of_the_evidence() {
    let files = Files::ready().with(RELEASE, "release = \"R\"\n\"\\u001b[2Jready\" = 1\n");
    let refusal = files.refusal();
    assert!(refusal.starts_with("`release.toml:2`: unknown field"), "{refusal}");
    assert!(!refusal.chars().any(char::is_control), "{refusal:?}");
    let files = Files::ready().with(RELEASE, "release = \"R\"\n\"\u{202e}ydaer\u{3164}\" = 1\n");
    let refusal = files.refusal();
    assert!(refusal.contains("\\u{202e}ydaer\\u{3164}"), "{refusal:?}");
    assert!(refusal.is_ascii(), "{refusal:?}");
}

#[test]
fn names_and_titles_of_the_evidence_are_kept_without_hidden_characters() {
    let hidden = "a\u{202e}b\u{e0100}";
    let shown = "a\\u{202e}b\\u{e0100}";
    let evidence = Files::ready()
        .with(TESTS, format!("<testsuite><testcase name='{hidden}'><failure/></testcase></testsuite>"))
        .with(DEFECTS, format!("id,severity,status,title\nD-1,critical,open,{hidden}\n"))
        .with(
            ROTA,
            format!(
                r#"{{"shifts":[{{"who":"{hidden}","from":"2026-08-14T00:00:00Z","until":"2026-08-15T00:00:00Z"}}]}}"#
            ),
        );
    let facts = evidence.facts();
    let engineering = facts.scope("engineering").unwrap().facts();
    assert_eq!(engineering[0].value["failures"][0]["name"], shown);
    assert_eq!(engineering[1].value["defects"][0]["title"], shown);
    assert_eq!(facts.scope("operations").unwrap().facts()[1].value["who"][0], shown);
    let id = Files::ready().with(DEFECTS, format!("id,severity,status\n{hidden},critical,open\n")).refusal();
    assert!(id.starts_with("`defects.csv:2`: the id of a defect must not hold U+202E"), "{id}");
}
