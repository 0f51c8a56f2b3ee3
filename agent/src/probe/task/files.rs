//! `disk`: a pass writes 64 files of 16 KiB and one of 4 MiB, waits for the device, reads them back and removes them.
//!
//! Each small file is flushed (fsync) before the next is created; each MiB of the large file is written synchronously
//! (O_DSYNC). The folder is flushed once per pass. Before the reads, the page cache is told to drop the files: the
//! reads come from the device, or from a cache that the guest cannot see. One check before the clock starts shows
//! whether this page cache obeys.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Part;
use super::answer::{bytes, expect};
use crate::fault::{Fault, OrFault};
use crate::scratch;
use crate::workdir::Workdir;

const FILES: usize = 64;
const FILE_BYTES: usize = 16 << 10;
const PIECES: usize = 4;
const PIECE_BYTES: usize = 1 << 20;
/// The maximum amount of data that one thread has in its folder.
const HELD_BYTES: u64 = (FILES * FILE_BYTES + PIECES * PIECE_BYTES) as u64;
const NEXT: &str = "name a directory with room that you may write to";

/// Creates the parent of all threads' folders.
pub fn workdir(dir: &Path, threads: usize) -> Result<Workdir, Fault> {
    if scratch::in_memory(dir) {
        let what = format!("{} lives in memory, which is no disk", dir.display());
        return Err(Fault::failed(what, "name a directory on the disk to be measured"));
    }
    let (free, wanted) = (scratch::free_bytes(dir)?, 2 * HELD_BYTES * threads as u64);
    if free < wanted {
        let what = format!("{} has {free} B free, and {threads} threads take {wanted} B", dir.display());
        return Err(Fault::failed(what, NEXT));
    }
    Workdir::new(dir)
}

/// Returns the share of a file that the page cache keeps after being told to drop it; `None` if that cannot be read.
pub fn kept(workdir: &Workdir) -> Result<Option<f64>, Fault> {
    let path = workdir.path().join("kept");
    fs::write(&path, bytes(111, PIECE_BYTES)).or_fault("cannot write a file", NEXT)?;
    let file = File::open(&path).or_fault("cannot open a file", NEXT)?;
    file.sync_all().or_fault("cannot write a file", NEXT)?;
    scratch::drop_cache(&file);
    let share = scratch::resident_share(&file, PIECE_BYTES as u64).ok();
    fs::remove_file(&path).or_fault("cannot remove a file", NEXT)?;
    Ok(share)
}

pub struct Files {
    folder: File,
    small: Vec<PathBuf>,
    large: PathBuf,
    data: Vec<u8>,
    buffer: Vec<u8>,
    wrong_files: u32,
}

impl Files {
    pub fn new(workdir: &Path, thread: usize) -> Result<Files, Fault> {
        let path = workdir.join(thread.to_string());
        fs::create_dir(&path).or_fault("cannot create a folder", NEXT)?;
        Ok(Files {
            small: (0..FILES).map(|i| path.join(format!("small-{i}"))).collect(),
            large: path.join("large"),
            folder: File::open(&path).or_fault("cannot open a folder", NEXT)?,
            data: bytes(110, PIECE_BYTES),
            buffer: vec![0; PIECE_BYTES],
            wrong_files: 0,
        })
    }

    /// Returns the content of a small file; no two small files have the same content.
    fn content(&self, i: usize) -> &[u8] {
        &self.data[512 * i..][..FILE_BYTES]
    }

    fn write(&self) -> Result<(), Fault> {
        for (i, path) in self.small.iter().enumerate() {
            let mut file = File::create_new(path).or_fault("cannot create a file", NEXT)?;
            file.write_all(self.content(i)).and_then(|()| file.sync_all()).or_fault("cannot write a file", NEXT)?;
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).custom_flags(libc::O_DSYNC).open(&self.large);
        let mut file = file.or_fault("cannot create a file", NEXT)?;
        for _ in 0..PIECES {
            file.write_all(&self.data).or_fault("cannot write a file", NEXT)?;
        }
        self.folder.sync_all().or_fault("cannot make a folder synchronous", NEXT)
    }

    fn read(&mut self) -> Result<(), Fault> {
        for i in 0..FILES {
            read(&uncached(&self.small[i])?, 0, &mut self.buffer[..FILE_BYTES])?;
            self.wrong_files += u32::from(self.buffer[..FILE_BYTES] != *self.content(i));
        }
        let large = uncached(&self.large)?;
        for piece in 0..PIECES {
            read(&large, piece * PIECE_BYTES, &mut self.buffer)?;
            self.wrong_files += u32::from(self.buffer != self.data);
        }
        Ok(())
    }

    fn remove(&self) -> Result<(), Fault> {
        let mut all = self.small.iter().chain([&self.large]);
        all.try_for_each(fs::remove_file).or_fault("cannot remove a file", NEXT)
    }
}

/// Opens a file and tells the page cache to drop it.
fn uncached(path: &Path) -> Result<File, Fault> {
    let file = File::open(path).or_fault("cannot open a file", NEXT)?;
    scratch::drop_cache(&file);
    Ok(file)
}

fn read(file: &File, offset: usize, buffer: &mut [u8]) -> Result<(), Fault> {
    file.read_exact_at(buffer, offset as u64).or_fault("cannot read a file", NEXT)
}

impl Part for Files {
    fn pass(&mut self) -> Result<(), Fault> {
        self.write()?;
        self.read()?;
        self.remove()
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect(self.wrong_files == 0, "what was read back from a file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_content_is_detected_and_nothing_is_left() {
        let dir = std::env::temp_dir().join(format!("cloudcmp-files-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let mut files = Files::new(&dir, 0).unwrap();
        files.pass().unwrap();
        files.verify().unwrap();
        assert_eq!(fs::read_dir(dir.join("0")).unwrap().count(), 0);
        files.write().unwrap();
        fs::write(&files.small[7], vec![0; FILE_BYTES]).unwrap();
        files.read().unwrap();
        assert_eq!(files.verify().unwrap_err().outcome.name(), "invalid");
        fs::write(&files.small[7], "short").unwrap();
        assert_eq!(files.read().unwrap_err().outcome.name(), "failed");
        files.remove().unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }
}
