//! The program: its exit statuses, what it prints, and that it writes nothing where it refuses.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::{DEFECTS, Files};

fn program(arguments: &[&str], evidence: &Path, directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_release-review"))
        .arg(evidence)
        .arg("--directory")
        .arg(directory)
        .args(arguments)
        .output()
        .unwrap()
}

fn shipped(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evidence").join(name)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_exit_status_says_ready_or_blocked() {
    for (name, code, said) in
        [("blocked", 3, "release REL-204 is blocked"), ("ready", 0, "release REL-205 is ready")]
    {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("review");
        let output = program(&[], &shipped(name), &directory);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stdout).starts_with(said), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains(&*directory.join("output/report.md").to_string_lossy()));
        assert!(text(&output.stderr).contains("engineering  verified"), "{}", text(&output.stderr));
        assert!(directory.join("output/report.json").is_file());
    }
}

#[test]
fn unusable_evidence_names_file_and_line_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("review");
    let evidence = Files::ready().with(DEFECTS, "id,severity,status\nD-1,high\n").write();
    let output = program(&[], evidence.path(), &directory);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("defects.csv:2"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let output = program(&[], Path::new("/nowhere/at/all"), &directory);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_quote_that_nothing_closes_is_unusable_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let defects = "id,severity,status,title\nD-1,low,open,\"unterminated\nD-2,critical,open,data loss\n";
    let evidence = Files::ready().with(DEFECTS, defects).write();
    let output = program(&[], evidence.path(), &folder.path().join("review"));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("defects.csv:2"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_report_has_the_mode_that_the_umask_allows() {
    for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("review");
        let output = Command::new("sh")
            .args(["-c", "umask $1; shift; exec \"$@\"", "sh", umask, env!("CARGO_BIN_EXE_release-review")])
            .arg(shipped("ready"))
            .arg("--directory")
            .arg(&directory)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        for file in ["output/report.json", "output/report.md"] {
            let mode = fs::metadata(directory.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{file} under {umask}");
        }
    }
}

#[test]
fn a_default_directory_of_another_user_is_refused() {
    let run = |temporary: &Path| {
        Command::new(env!("CARGO_BIN_EXE_release-review"))
            .arg(shipped("ready"))
            .args(["--id", "mine"])
            .env("TMPDIR", temporary)
            .output()
            .unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path()).status.code(), Some(0));
    assert_eq!(run(folder.path()).status.code(), Some(0));
    let directory = folder.path().join("release-review-mine");
    if std::os::unix::fs::chown(&directory, Some(54_321), None).is_err() {
        // Only root can give a directory away; what everybody else has at hand is the root's own.
        fs::remove_dir_all(&directory).unwrap();
        std::os::unix::fs::symlink("/", &directory).unwrap();
    }
    let output = run(folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("belongs to another user"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--directory"), "{}", text(&output.stderr));
}

#[test]
fn no_hidden_character_reaches_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("re\u{202e}view\u{e0100}");
    let evidence = Files::ready().write();
    for arguments in [&[][..], &["--json"], &["--goal", "another"], &["--goal", "another", "--json"]] {
        let output = program(arguments, evidence.path(), &directory);
        for stream in [&output.stdout, &output.stderr] {
            assert!(stream.is_ascii(), "{arguments:?}: {}", text(stream));
        }
        if arguments == ["--json"] {
            let opened: Value = serde_json::from_str(text(&output.stdout).lines().next().unwrap()).unwrap();
            assert_eq!(opened["directory"], *directory.to_string_lossy());
        }
    }
}

#[test]
fn a_result_that_was_changed_fails_the_review() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("review");
    assert_eq!(program(&[], &shipped("ready"), &directory).status.code(), Some(0));
    let result = fs::read_dir(directory.join("results")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&result).unwrap();
    bytes.push(b' ');
    fs::write(&result, bytes).unwrap();
    let output = program(&[], &shipped("ready"), &directory);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn who_asks_must_be_a_principal() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("review");
    let output = program(&["--principal", "mallory"], &shipped("blocked"), &directory);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("`mallory` is not among the principals"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn bad_arguments_are_refused_with_their_range() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (["--deadline", "0"], "1..=3600"),
        (["--mode", "sideways"], "parallel or serial"),
        (["--id", "../up"], "1 to 64"),
        (["--frobnicate", "yes"], "--frobnicate"),
    ] {
        let output = program(&arguments, &shipped("ready"), &folder.path().join("review"));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn help_explains_each_exit_status() {
    let output = Command::new(env!("CARGO_BIN_EXE_release-review")).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    for line in ["  0  ", "  1  ", "  2  ", "  3  ", "  4  "] {
        assert!(text(&output.stdout).contains(line), "{line}");
    }
}

#[test]
fn json_is_an_object_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = program(&["--json"], &shipped("blocked"), &folder.path().join("review"));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.first().unwrap()["event"], "opened");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["event"], &last["readiness"], &last["exit"]),
        (&"published".into(), &"blocked".into(), &3.into())
    );

    let output = program(&["--json"], Path::new("/nowhere/at/all"), &folder.path().join("other"));
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["exit"]), (&"failed".into(), &2.into()));
}

#[test]
fn another_request_in_the_same_directory_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("review");
    assert_eq!(program(&[], &shipped("ready"), &directory).status.code(), Some(0));
    let before = fs::read(directory.join("output/report.json")).unwrap();
    let output = program(&["--goal", "something else"], &shipped("ready"), &directory);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("different goal"), "{}", text(&output.stderr));
    assert_eq!(fs::read(directory.join("output/report.json")).unwrap(), before);
}

/// A reader of the project's front page sees what the program writes, not what it once wrote.
#[test]
fn the_readme_of_the_project_shows_the_real_report() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let shown: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix('>')).map(bare).collect();

    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("review");
    program(&[], &shipped("blocked"), &directory);
    let report = fs::read_to_string(directory.join("output/report.md")).unwrap();
    let written: Vec<&str> = report.lines().take_while(|line| *line != "## Sources").map(bare).collect();
    assert_eq!(shown.join("\n").trim(), written.join("\n").trim());
}

/// A line without what makes it a heading, whose level differs in the middle of another page.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '#']).trim_end()
}
