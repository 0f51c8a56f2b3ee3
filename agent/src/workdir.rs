//! A probe's own folder of named files, removed in every case.
//!
//! `scratch` serves probes whose file needs no name. A probe that creates, renames and lists files works in a folder
//! instead. The folder is removed when its probe ends, by the guard when a trial is cut off, and, if its process was
//! killed, at the next start of any agent in the same directory. A lock on the folder marks it as in use.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::fault::{Fault, OrFault};

const PREFIX: &str = ".cloudcmp-work-";
const PATIENCE: Duration = Duration::from_secs(2);

/// The folders of this process, for a guard that cannot wait for destructors.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A private folder that is removed with its content.
pub struct Workdir {
    path: PathBuf,
    _lock: File,
}

impl Workdir {
    /// Creates a folder in `dir`.
    pub fn new(dir: &Path) -> Result<Workdir, Fault> {
        let next = "name a directory that you may write to";
        let tried = || format!("cannot create a folder in {}", dir.display());
        loop {
            let path = dir.join(format!("{PREFIX}{}-{:x}", std::process::id(), crate::clock::now_ns()));
            DirBuilder::new().mode(0o700).create(&path).or_fault(tried(), next)?;
            // Between the two calls another agent may mistake the folder for one of a killed agent.
            if let Some(lock) = lock(&path) {
                OWN.lock().map(|mut own| own.push(path.clone())).or_fault(tried(), "report this")?;
                return Ok(Workdir { path, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workdir {
    fn drop(&mut self) {
        remove(&self.path, Instant::now() + PATIENCE);
        if let Ok(mut own) = OWN.lock() {
            own.retain(|path| path != &self.path);
        }
    }
}

/// Removes the folders of this process, while its threads may still use them.
pub fn remove_own() {
    let paths = OWN.lock().map(|own| own.clone()).unwrap_or_default();
    paths.iter().for_each(|path| remove(path, Instant::now() + PATIENCE));
}

/// Removes the folders that killed agents left in `dir`; returns their number.
pub fn sweep(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let mut removed = 0;
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(ours) {
        if let Some(_lock) = lock(&path) {
            remove(&path, Instant::now() + PATIENCE);
            removed += usize::from(!path.exists());
        }
    }
    removed
}

/// Locks a folder of this user that nobody holds; `None` if the folder is gone by then.
fn lock(path: &Path) -> Option<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let (held, mine) = (file.metadata().ok()?, unsafe { libc::geteuid() });
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    let there = std::fs::symlink_metadata(path).ok()?;
    (locked && held.uid() == mine && (there.dev(), there.ino()) == (held.dev(), held.ino())).then_some(file)
}

/// Removes a folder into which another process may still write.
fn remove(path: &Path, until: Instant) {
    while std::fs::remove_dir_all(path).is_err() && path.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("cloudcmp-{name}-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        dir
    }

    fn count(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn a_folder_is_removed_with_its_owner_and_folders_in_use_stay() {
        let dir = fresh("workdir");
        let (first, second) = (Workdir::new(&dir).unwrap(), Workdir::new(&dir).unwrap());
        std::fs::create_dir(first.path().join("sub")).unwrap();
        std::fs::write(first.path().join("sub/file"), "x").unwrap();
        assert_eq!((sweep(&dir), count(&dir)), (0, 2));
        drop(first);
        assert_eq!(count(&dir), 1);
        remove_own();
        assert_eq!(count(&dir), 0);
        drop(second);
        std::fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn sweep_removes_only_folders_of_killed_processes() {
        let dir = fresh("sweep");
        let dead = dir.join(format!("{PREFIX}1-dead"));
        std::fs::create_dir_all(dead.join("deep")).unwrap();
        std::fs::write(dead.join("deep/file"), "x").unwrap();
        std::fs::create_dir(dir.join("precious")).unwrap();
        std::os::unix::fs::symlink(dir.join("precious"), dir.join(format!("{PREFIX}link"))).unwrap();
        std::fs::write(dir.join(format!("{PREFIX}file")), "x").unwrap();
        assert_eq!(sweep(&dir), 1);
        assert!(!dead.exists() && dir.join("precious").exists() && count(&dir) == 3);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
