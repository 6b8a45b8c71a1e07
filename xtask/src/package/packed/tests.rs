use std::fs;

use super::mirror;

#[test]
fn mirroring_changes_only_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    for (folder, files) in [
        (&from, [("src/lib.rs", "new"), ("same.txt", "same")]),
        (&to, [("src/old.rs", "old"), ("same.txt", "same")]),
    ] {
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let before = fs::metadata(to.join("same.txt")).unwrap().modified().unwrap();
    mirror(&from, &to).unwrap();
    assert_eq!(fs::read_to_string(to.join("src/lib.rs")).unwrap(), "new");
    assert!(!to.join("src/old.rs").exists());
    assert_eq!(fs::metadata(to.join("same.txt")).unwrap().modified().unwrap(), before);
}
