//! Writes that fail midway, on a file that the test holds.

use std::{
    error::Error as _,
    fs,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use parking_lot::Mutex;
use proptest::prelude::*;

use super::{Current, LineFile, Log};

/// A file in memory whose writes take so many bytes or fail, as planned.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    /// How much each coming write takes, the next one last; a write without a plan takes all, `0` is an error.
    plan: Vec<usize>,
    can_cut: bool,
}

impl Write for Fake {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.lock();
        let taken = disk.plan.pop().unwrap_or(bytes.len()).min(bytes.len());
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.bytes.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LineFile for Fake {
    fn cut(&mut self, bytes: u64, expected: u64) -> io::Result<()> {
        let mut disk = self.0.lock();
        if !disk.can_cut || disk.bytes.len() as u64 != expected {
            return Err(io::ErrorKind::Unsupported.into());
        }
        disk.bytes.truncate(usize::try_from(bytes).unwrap());
        Ok(())
    }
}

impl Fake {
    fn log(&self) -> Log {
        let current = Current { file: Box::new(self.clone()), bytes: 0, torn: 0, is_regular: true };
        Log { path: "events".into(), max_bytes: u64::MAX, kept: 0, current: Some(current) }
    }

    fn plan(&self, mut plan: Vec<usize>) {
        plan.reverse();
        self.0.lock().plan = plan;
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().bytes.clone()).unwrap()
    }
}

#[test]
fn a_short_write_goes_on() {
    let fake = Fake::default();
    fake.plan(vec![1, 2]);
    fake.log().append(b"good\n").unwrap();
    assert_eq!(fake.text(), "good\n");
}

#[test]
fn a_half_line_is_cut_off_at_once() {
    let fake = Fake::default();
    fake.0.lock().can_cut = true;
    let mut log = fake.log();
    log.append(b"first\n").unwrap();
    fake.plan(vec![3, 0]);
    let error = log.append(b"second\n").unwrap_err();
    assert_eq!(error.to_string(), "event log `events` cannot be written");
    assert_eq!(error.source().unwrap().to_string(), io::Error::from(io::ErrorKind::StorageFull).to_string());
    assert_eq!(fake.text(), "first\n");
    log.append(b"third\n").unwrap();
    assert_eq!(fake.text(), "first\nthird\n");
}

#[test]
fn a_half_line_that_cannot_be_cut_off_is_ended() {
    let fake = Fake::default();
    let mut log = fake.log();
    fake.plan(vec![3, 0]);
    log.append(b"first\n").unwrap_err();
    assert_eq!(fake.text(), "fir\n");
    log.append(b"second\n").unwrap();
    assert_eq!(fake.text(), "fir\nsecond\n");

    fake.0.lock().can_cut = true;
    fake.plan(vec![3, 0]);
    log.append(b"third\n").unwrap_err();
    assert_eq!(fake.text(), "fir\nsecond\n", "the ended line is counted");
}

#[test]
fn nothing_is_written_behind_a_half_line_that_nothing_can_be_done_about() {
    let fake = Fake::default();
    let mut log = fake.log();
    fake.plan(vec![3, 0, 0, 0]);
    log.append(b"first\n").unwrap_err();
    log.append(b"second\n").unwrap_err();
    assert_eq!(fake.text(), "fir");
    fake.0.lock().can_cut = true;
    log.append(b"third\n").unwrap();
    assert_eq!(fake.text(), "third\n");
}

/// A file that tells, when its lock is released, what its path names.
struct Held {
    path: PathBuf,
    found: Arc<Mutex<Option<String>>>,
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LineFile for Held {
    fn cut(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.found.lock() = Some(fs::read_to_string(&self.path).unwrap_or_else(|_| "nothing".into()));
    }
}

#[test]
fn a_full_file_is_locked_until_it_is_out_of_the_way() {
    for kept in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        fs::write(&path, "full\n").unwrap();
        let found = Arc::new(Mutex::new(None));
        let held = Held { path: path.clone(), found: Arc::clone(&found) };
        let current = Current { file: Box::new(held), bytes: 5, torn: 0, is_regular: true };
        let mut log = Log { path: path.clone(), max_bytes: 5, kept, current: Some(current) };
        log.append(b"next\n").unwrap();
        assert_eq!(found.lock().as_deref(), Some("nothing"), "{kept} kept");
        assert_eq!(fs::read_to_string(&path).unwrap(), "next\n");
    }
}

proptest! {
    /// Whatever fails: what was reported as written is there whole, in order; what is not is there at most as a start.
    #[test]
    fn a_good_line_never_continues_a_half_one(
        plan in prop::collection::vec(0_usize..6, 0..40),
        can_cut in prop::collection::vec(any::<bool>(), 12),
    ) {
        let fake = Fake::default();
        fake.plan(plan);
        let mut log = fake.log();
        let mut good = Vec::new();
        for (number, can_cut) in can_cut.into_iter().enumerate() {
            fake.0.lock().can_cut = can_cut;
            let line = format!("<{number:02}>");
            if log.append(format!("{line}\n").as_bytes()).is_ok() {
                good.push(line);
            }
        }
        let text = fake.text();
        // A whole line without its end may stand there although its write was reported as failed.
        let whole: Vec<&str> = text.lines().filter(|line| line.len() == 4).collect();
        prop_assert!(text.lines().all(|line| line.starts_with('<') && line.len() <= 4), "{text}");
        prop_assert!(good.iter().all(|line| whole.contains(&line.as_str())), "{text}");
        prop_assert!(whole.is_sorted(), "{text}");
    }
}
