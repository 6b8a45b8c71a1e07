//! What the machine's own file system does.

use crate::file::{disk::Disk, files::Files, line::Lock};

#[test]
fn a_lock_is_free_once_it_is_let_go_also_where_somebody_has_its_file_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    Disk.create(&path).unwrap();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // As a process has it that was forked off and has not run its program yet.
    let _inherited = file.try_clone().unwrap();
    let lock = Lock(Box::new(file));
    assert!(lock.0.try_lock().unwrap());
    let other = Disk.open(&path).unwrap();
    assert!(!other.try_lock().unwrap());
    drop(lock);
    assert!(other.try_lock().unwrap());
}

#[test]
fn a_file_is_written_where_it_is_told_and_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = Disk.create(&path).unwrap();
    file.write_at(0, b"hello, world").unwrap();
    file.write_at(7, b"W").unwrap();
    file.cut(8).unwrap();
    file.sync().unwrap();
    assert_eq!(
        (file.read().unwrap(), Disk.read(&path).unwrap()),
        (b"hello, W".to_vec(), b"hello, W".to_vec())
    );
    assert_eq!(Disk.create(&path).err().unwrap().kind(), std::io::ErrorKind::AlreadyExists);
    Disk.sync_folder(folder.path()).unwrap();
    assert_eq!(Disk.names(folder.path()).unwrap(), ["file"]);
}
