//! A reader of another process, at the worst moment.

use std::{io, path::Path, sync::Arc, time::Instant};

use convoke_core::{Journal, JournalErrorKind, ReadFrom};
use parking_lot::Mutex;

use super::{
    script::{self, Progress, journal},
    sim_disk::{Crash, SimDisk},
};
use crate::{
    FileJournal, Retain,
    file::{
        files::{Files, OpenFile},
        writer::Settings,
    },
};

/// Gives other bytes for the newest segment so many times, as somebody sees them who reads while the owner cuts.
struct Mixed {
    disk: SimDisk,
    left: Mutex<usize>,
}

impl Files for Mixed {
    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk.names(folder)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = self.disk.read(path)?;
        let mut left = self.left.lock();
        if path.ends_with("segment-00000000000000000013") && *left > 0 {
            *left -= 1;
            // In the first of two frames.
            bytes[60] ^= 1;
        }
        Ok(bytes)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.disk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.disk.open(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.create_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_folder(path)
    }

    fn now(&self) -> Instant {
        self.disk.now()
    }
}

#[tokio::test(start_paused = true)]
async fn what_looks_damaged_once_is_looked_at_again() {
    let disk = SimDisk::new();
    Progress::default().play(&journal(&disk), &mut None).await.unwrap();
    let expected = journal(&disk).read(&script::log(), ReadFrom::Latest).await.unwrap();
    for times in 0..3 {
        let mixed = Mixed { disk: disk.after(Crash::Kill), left: Mutex::new(times) };
        let settings = Settings { retain: Retain::default(), compact_at_least: 1 };
        let reader = FileJournal::new("/".into(), Arc::new(mixed), settings);
        let read = reader.read(&script::log(), ReadFrom::Latest).await;
        match read {
            Ok(contents) => assert!(times < 2 && contents == expected, "{times}"),
            Err(error) => assert_eq!((times, error.kind()), (2, JournalErrorKind::Damaged)),
        }
    }
}
