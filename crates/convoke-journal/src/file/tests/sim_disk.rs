//! A file system in memory that knows what is durable, and fails where it is told to.
//!
//! It is as unkind as a real one may be: a name is durable only once its folder was synced, bytes only once their file was,
//! and what a sync has failed to write no later sync writes, unless it is written again.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::{Component, Path},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::file::files::{Files, OpenFile};

/// How long a sync takes, by the clock of this file system alone.
const SYNC: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct SimDisk(Arc<Mutex<State>>);

pub(super) struct State {
    nodes: Vec<Node>,
    began: Instant,
    pub(super) counts: Counts,
    fault: Option<(usize, Fault)>,
    /// Grows with each machine that this disk is put into, so that what an earlier one has open does nothing any more.
    machine: usize,
}

#[derive(Clone)]
struct Node {
    kind: Kind,
    is_locked: bool,
}

#[derive(Clone)]
enum Kind {
    File { now: Vec<u8>, durable: Vec<u8>, dirty: Vec<Range<usize>>, is_cut: bool },
    Folder { now: BTreeMap<String, usize>, durable: BTreeMap<String, usize> },
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Calls that change something.
    pub(super) changes: usize,
    pub(super) file_syncs: usize,
    pub(super) bytes: usize,
}

/// What happens at a call that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It fails and does nothing, and the next one works.
    Once,
    /// A write does one half, then fails; all else as `Once`.
    Half,
    /// It fails, and so does each one after it: the end of the machine.
    Forever,
    /// As `Forever`, a write does one half before.
    HalfForever,
}

/// What is left when a machine ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Crash {
    /// All that was written: the process alone has ended.
    Kill,
    /// What is durable, and nothing else.
    PowerLoss,
    /// What is durable, and some of what is not, by this seed.
    Some(u64),
}

impl SimDisk {
    pub(super) fn new() -> Self {
        let root = Node::folder();
        Self(Arc::new(Mutex::new(State {
            nodes: vec![root],
            began: Instant::now(),
            counts: Counts::default(),
            fault: None,
            machine: 0,
        })))
    }

    pub(super) fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// Lets the call of this number fail, counted from 0 over those that change something.
    pub(super) fn fail_at(&self, call: usize, fault: Fault) {
        let mut state = self.0.lock();
        state.fault = Some((state.counts.changes + call, fault));
    }

    /// Whether a fault was set and has not struck.
    pub(super) fn is_fault_left(&self) -> bool {
        let state = self.0.lock();
        state.fault.is_some_and(|(call, _)| call >= state.counts.changes)
    }

    /// What the next machine finds.
    pub(super) fn after(&self, crash: Crash) -> Self {
        let state = self.0.lock();
        let mut nodes = state.nodes.clone();
        let mut random = match crash {
            Crash::Some(seed) => seed | 1,
            _ => 0,
        };
        let mut coin = || {
            // xorshift64: https://doi.org/10.18637/jss.v008.i14
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random >> 32
        };
        for node in &mut nodes {
            node.is_locked = false;
            match (&mut node.kind, crash) {
                (Kind::File { dirty, is_cut, .. }, Crash::Kill) => {
                    // What is in memory alone stays so.
                    _ = (dirty, is_cut);
                }
                (Kind::Folder { .. }, Crash::Kill) => {}
                (Kind::File { now, durable, dirty, is_cut }, Crash::PowerLoss) => {
                    now.clone_from(durable);
                    dirty.clear();
                    *is_cut = false;
                }
                (Kind::Folder { now, durable }, Crash::PowerLoss) => now.clone_from(durable),
                (Kind::File { now, durable, dirty, is_cut }, Crash::Some(_)) => {
                    if *is_cut && coin() % 2 == 0 {
                        durable.truncate(now.len());
                    }
                    for range in dirty.drain(..) {
                        let written = coin() % 3;
                        let length = range.len();
                        let kept = match written {
                            0 => continue,
                            1 => range,
                            _ => {
                                let cut = usize::try_from(coin()).unwrap() % (length + 1);
                                if coin() % 2 == 0 {
                                    range.start..range.start + cut
                                } else {
                                    range.start + cut..range.end
                                }
                            }
                        };
                        copy(now, durable, kept);
                    }
                    *is_cut = false;
                    now.clone_from(durable);
                }
                (Kind::Folder { now, durable }, Crash::Some(_)) => {
                    // Names reach the disk in the order in which they were made, as in a journaling file system: all or none.
                    if coin() % 2 == 0 {
                        durable.clone_from(now);
                    }
                    now.clone_from(durable);
                }
            }
        }
        Self(Arc::new(Mutex::new(State {
            nodes,
            began: state.began,
            counts: Counts::default(),
            fault: None,
            machine: state.machine + 1,
        })))
    }

    /// All files by their paths.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.0.lock();
        let mut files = BTreeMap::new();
        let mut folders = vec![(String::new(), 0)];
        while let Some((path, node)) = folders.pop() {
            match &state.nodes[node].kind {
                Kind::File { now, .. } => _ = files.insert(path, now.clone()),
                Kind::Folder { now, .. } => {
                    folders.extend(now.iter().map(|(name, node)| (format!("{path}/{name}"), *node)));
                }
            }
        }
        files
    }

    /// Puts other bytes in a file, behind everybody's back.
    pub(super) fn replace(&self, path: &str, bytes: &[u8]) {
        let mut state = self.0.lock();
        let node = state.find(Path::new(path)).unwrap();
        state.nodes[node].kind =
            Kind::File { now: bytes.to_vec(), durable: bytes.to_vec(), dirty: vec![], is_cut: false };
    }
}

impl Node {
    fn folder() -> Self {
        Self { kind: Kind::Folder { now: BTreeMap::new(), durable: BTreeMap::new() }, is_locked: false }
    }

    fn file() -> Self {
        let kind = Kind::File { now: vec![], durable: vec![], dirty: vec![], is_cut: false };
        Self { kind, is_locked: false }
    }
}

fn copy(from: &[u8], to: &mut Vec<u8>, range: Range<usize>) {
    let range = range.start.min(from.len())..range.end.min(from.len());
    if to.len() < range.end {
        to.resize(range.end, 0);
    }
    to[range.clone()].copy_from_slice(&from[range]);
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl State {
    /// Counts a change; an error where it is to fail, `true` where it is to do one half before.
    fn change(&mut self) -> Result<(), bool> {
        let call = self.counts.changes;
        self.counts.changes += 1;
        match self.fault {
            Some((at, Fault::Once)) if at == call => Err(false),
            Some((at, Fault::Half | Fault::HalfForever)) if at == call => Err(true),
            Some((at, Fault::Forever | Fault::HalfForever)) if at <= call => Err(false),
            _ => Ok(()),
        }
    }

    fn checked(&mut self) -> io::Result<()> {
        self.change().map_err(|_| io::Error::other("fails on purpose"))
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut node = 0;
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            let Kind::Folder { now, .. } = &self.nodes[node].kind else { return Err(missing()) };
            node = *now.get(name.to_str().unwrap()).ok_or_else(missing)?;
        }
        Ok(node)
    }

    fn entries(&mut self, folder: &Path) -> io::Result<&mut BTreeMap<String, usize>> {
        let node = self.find(folder)?;
        match &mut self.nodes[node].kind {
            Kind::Folder { now, .. } => Ok(now),
            Kind::File { .. } => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn add(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        let number = self.nodes.len();
        let entries = self.entries(path.parent().unwrap())?;
        let name = path.file_name().unwrap().to_str().unwrap();
        if entries.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        entries.insert(name.to_owned(), number);
        self.nodes.push(node);
        Ok(number)
    }

    fn is_empty_folder(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, Kind::Folder { now, .. } if now.is_empty())
    }
}

struct SimFile {
    disk: SimDisk,
    node: usize,
    machine: usize,
    is_locked: Mutex<bool>,
}

impl SimDisk {
    fn handle(&self, node: usize) -> Box<dyn OpenFile> {
        let machine = self.0.lock().machine;
        Box::new(SimFile { disk: self.clone(), node, machine, is_locked: Mutex::new(false) })
    }
}

impl Files for SimDisk {
    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        Ok(self.0.lock().entries(folder)?.keys().cloned().collect())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.0.lock();
        match &state.nodes[state.find(path)?].kind {
            Kind::File { now, .. } => Ok(now.clone()),
            Kind::Folder { .. } => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let node = {
            let mut state = self.0.lock();
            state.checked()?;
            state.add(path, Node::file())?
        };
        Ok(self.handle(node))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let node = self.0.lock().find(path)?;
        Ok(self.handle(node))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.checked()?;
        if state.find(path).is_err() {
            state.add(path, Node::folder())?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.checked()?;
        let node = state.find(from)?;
        if let Ok(there) = state.find(to)
            && matches!(state.nodes[there].kind, Kind::Folder { .. })
            && !state.is_empty_folder(there)
        {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.entries(from.parent().unwrap())?.remove(from.file_name().unwrap().to_str().unwrap());
        let name = to.file_name().unwrap().to_str().unwrap().to_owned();
        state.entries(to.parent().unwrap())?.insert(name, node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.checked()?;
        let name = path.file_name().unwrap().to_str().unwrap();
        state.entries(path.parent().unwrap())?.remove(name).map(|_| ()).ok_or_else(missing)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.checked()?;
        let node = state.find(path)?;
        if !state.is_empty_folder(node) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        state.entries(path.parent().unwrap())?.remove(name);
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.checked()?;
        let node = state.find(path)?;
        if let Kind::Folder { now, durable } = &mut state.nodes[node].kind {
            durable.clone_from(now);
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        let state = self.0.lock();
        state.began + SYNC * u32::try_from(state.counts.file_syncs).unwrap()
    }
}

impl OpenFile for SimFile {
    fn read(&self) -> io::Result<Vec<u8>> {
        match &self.disk.0.lock().nodes[self.node].kind {
            Kind::File { now, .. } => Ok(now.clone()),
            Kind::Folder { .. } => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let (written, done) = match state.change() {
            Ok(()) => (bytes, Ok(())),
            Err(true) => (&bytes[..bytes.len() / 2], Err(io::Error::from(io::ErrorKind::StorageFull))),
            Err(false) => (&bytes[..0], Err(io::Error::from(io::ErrorKind::StorageFull))),
        };
        state.counts.bytes += written.len();
        let start = usize::try_from(offset).unwrap();
        if let Kind::File { now, dirty, .. } = &mut state.nodes[self.node].kind
            && !written.is_empty()
        {
            let end = start + written.len();
            if now.len() < end {
                now.resize(end, 0);
            }
            now[start..end].copy_from_slice(written);
            dirty.push(start..end);
        }
        done
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let done = state.checked();
        state.counts.file_syncs += 1;
        if let Kind::File { now, durable, dirty, is_cut } = &mut state.nodes[self.node].kind {
            // Where it fails, what it was to write is taken for written all the same.
            let dirty = std::mem::take(dirty);
            if done.is_ok() {
                if std::mem::take(is_cut) {
                    durable.truncate(now.len());
                }
                for range in dirty {
                    copy(now, durable, range);
                }
            }
        }
        done
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        state.checked()?;
        if let Kind::File { now, is_cut, .. } = &mut state.nodes[self.node].kind {
            now.truncate(usize::try_from(length).unwrap());
            *is_cut = true;
        }
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.disk.0.lock();
        let is_free = !std::mem::replace(&mut state.nodes[self.node].is_locked, true);
        *self.is_locked.lock() |= is_free;
        Ok(is_free)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        if std::mem::take(&mut *self.is_locked.lock()) && state.machine == self.machine {
            state.nodes[self.node].is_locked = false;
        }
        Ok(())
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        OpenFile::unlock(self).unwrap();
    }
}
