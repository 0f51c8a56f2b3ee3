//! The file of a disk probe: nameless from the first moment, filled with incompressible data whose every word is known.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::fault::{Fault, OrFault, check};
use crate::region::{Pages, Region};
use crate::rng::mix;

const FILL_BYTES: usize = 4 << 20;
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Bytes that an unprivileged writer may still use in `dir`.
pub fn free_bytes(dir: &Path) -> Result<u64, Fault> {
    let path = c_path(dir)?;
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    check(unsafe { libc::statvfs(path.as_ptr(), &mut facts) }.into())
        .or_fault(format!("cannot look at {}", dir.display()), "name a directory that exists")?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Whether files in `dir` live in memory alone.
pub fn in_memory(dir: &Path) -> bool {
    let mut facts: libc::statfs = unsafe { std::mem::zeroed() };
    let Ok(path) = c_path(dir) else { return false };
    let code = unsafe { libc::statfs(path.as_ptr(), &mut facts) };
    code == 0 && [TMPFS, RAMFS].contains(&(facts.f_type as i64))
}

fn c_path(dir: &Path) -> Result<CString, Fault> {
    CString::new(dir.as_os_str().as_bytes()).or_fault("a directory name with a NUL", "name another directory")
}

/// A read-write file in `dir` that has no name: nothing is left of it, however the process ends.
pub fn open(dir: &Path, flags: i32) -> io::Result<File> {
    let nameless =
        OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | flags).open(dir);
    match nameless {
        // A file system without O_TMPFILE: create, then unlink at once.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            let path = dir.join(format!(".cloudcmp-{}-{:x}", std::process::id(), crate::clock::now_ns()));
            let file =
                OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(flags).open(&path);
            std::fs::remove_file(&path).or_else(|gone| if file.is_ok() { Err(gone) } else { Ok(()) })?;
            file
        }
        other => other,
    }
}

/// Another handle of the same file, opened with other flags.
pub fn reopen(file: &File, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Word `index` of a file filled from `seed`.
#[inline]
pub fn word(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index))
}

/// Fills `buffer` with the words that a file filled from `seed` holds at `offset`, a multiple of 8.
pub fn pattern(seed: u64, offset: u64, buffer: &mut [u8]) {
    for (i, bytes) in buffer.chunks_mut(8).enumerate() {
        let word = word(seed, offset / 8 + i as u64).to_le_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
    }
}

/// Writes `bytes` of the pattern and sees them to the device.
pub fn fill(file: &File, bytes: u64, seed: u64) -> Result<(), Fault> {
    let tried = "cannot write the test file";
    let next = "name a directory with room, or a smaller file_bytes";
    // Room is taken at once where the file system can; elsewhere the writes find out.
    unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as i64) };
    let mut region = Region::new(FILL_BYTES.min(bytes as usize), Pages::Base)?;
    let buffer = region.as_slice();
    let mut offset = 0;
    while offset < bytes {
        let length = (bytes - offset).min(buffer.len() as u64) as usize;
        pattern(seed, offset, &mut buffer[..length]);
        file.write_all_at(&buffer[..length], offset).or_fault(tried, next)?;
        offset += length as u64;
    }
    file.sync_all().or_fault(tried, next)
}

/// Drops the file's pages from the page cache, so that reads go to the device.
pub fn drop_cache(file: &File) {
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// A second descriptor of the same open file, for one worker.
pub fn duplicate(file: &File) -> Result<File, Fault> {
    let fd = check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) }.into());
    let fd = fd.or_fault("cannot duplicate a descriptor", "raise the limit of open files")?;
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_nameless_and_holds_the_pattern() {
        let dir = std::env::temp_dir().join(format!("cloudcmp-scratch-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let file = open(&dir, 0).unwrap();
        fill(&file, 10_000, 7).unwrap();
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
        let (mut read, mut expected) = ([0_u8; 1000], [0_u8; 1000]);
        reopen(&file, 0).unwrap().read_exact_at(&mut read, 8000).unwrap();
        pattern(7, 8000, &mut expected);
        assert_eq!(read, expected);
        std::fs::remove_dir(&dir).unwrap();
    }
}
