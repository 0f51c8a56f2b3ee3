//! The file of a disk probe: it never has a name, and holds incompressible data in which every word is known.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::fault::{Fault, OrFault, check};
use crate::memory_map::{MemoryMap, Pages};
use crate::rng::mix;

const PAGE_WORDS: u64 = 512;
/// Bytes of one write; two writers keep the device busy.
const PIECE_BYTES: usize = 1 << 20;
const FILLERS: usize = 2;
const FILL: &str = "cannot write the test file";
const FILL_NEXT: &str = "name a directory with room, or a smaller file_bytes";
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Returns the bytes that an unprivileged writer may still use in `dir`.
pub fn free_bytes(dir: &Path) -> Result<u64, Fault> {
    let path = c_path(dir)?;
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    check(unsafe { libc::statvfs(path.as_ptr(), &mut facts) }.into())
        .or_fault(format!("cannot look at {}", dir.display()), "name a directory that exists")?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Whether `dir` lies on a file system in memory.
pub fn in_memory(dir: &Path) -> bool {
    let mut facts: libc::statfs = unsafe { std::mem::zeroed() };
    let Ok(path) = c_path(dir) else { return false };
    let code = unsafe { libc::statfs(path.as_ptr(), &mut facts) };
    code == 0 && [TMPFS, RAMFS].contains(&(facts.f_type as i64))
}

fn c_path(dir: &Path) -> Result<CString, Fault> {
    CString::new(dir.as_os_str().as_bytes()).or_fault("a directory name with a NUL", "name another directory")
}

/// Opens a read-write file in `dir` without a name: nothing remains of it, however the process ends.
pub fn open(dir: &Path, flags: i32) -> io::Result<File> {
    let nameless =
        OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | flags).open(dir);
    match nameless {
        // For a file system without O_TMPFILE: create the file, then unlink it at once.
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

/// Opens another handle of the same file with other flags.
pub fn reopen(file: &File, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Data that no device can compress or deduplicate, and in which every word can be computed again.
///
/// One page of random words; each page of the file is this page exclusive-ored with a key of its own. As fast as
/// memory.
#[derive(Clone)]
pub struct Pattern {
    seed: u64,
    page: Box<[u64; PAGE_WORDS as usize]>,
}

impl Pattern {
    pub fn new(seed: u64) -> Pattern {
        Pattern { seed, page: Box::new(std::array::from_fn(|i| mix(seed ^ mix(i as u64)))) }
    }

    /// Returns word `index` of the file.
    #[inline]
    pub fn word(&self, index: u64) -> u64 {
        self.page[(index % PAGE_WORDS) as usize] ^ self.key(index / PAGE_WORDS)
    }

    #[inline]
    fn key(&self, page: u64) -> u64 {
        mix(self.seed.wrapping_add(page))
    }

    /// Turns a buffer with the pattern's beginning into the one for `offset`: each piece starts with a word of its
    /// own.
    #[inline]
    pub fn stamp(&self, offset: u64, buffer: &mut [u8]) {
        for (i, piece) in buffer.chunks_mut(STAMPED_BYTES).enumerate() {
            let stamp = mix(self.word(0) ^ (offset + (i * STAMPED_BYTES) as u64)).to_le_bytes();
            let length = piece.len().min(8);
            piece[..length].copy_from_slice(&stamp[..length]);
        }
    }

    /// Fills `buffer` with the file's content at `offset`, a multiple of 8.
    pub fn write(&self, offset: u64, buffer: &mut [u8]) {
        let (mut index, end) = (offset / 8, offset / 8 + (buffer.len() / 8) as u64);
        let (words, rest) = buffer.as_chunks_mut::<8>();
        let mut words = words;
        while index < end {
            let in_page = (index % PAGE_WORDS) as usize;
            let count = (PAGE_WORDS - in_page as u64).min(end - index) as usize;
            let (now, later) = words.split_at_mut(count);
            let key = self.key(index / PAGE_WORDS);
            for (bytes, word) in now.iter_mut().zip(&self.page[in_page..]) {
                *bytes = (word ^ key).to_le_bytes();
            }
            words = later;
            index += count as u64;
        }
        rest.copy_from_slice(&self.word(end).to_le_bytes()[..rest.len()]);
    }
}

/// Written data differ in every piece of this size, so that no device can deduplicate them.
const STAMPED_BYTES: usize = 4096;

/// Writes `bytes` of the pattern and flushes them to the device.
pub fn fill(file: &File, bytes: u64, pattern: &Pattern) -> Result<(), Fault> {
    // Reserves the space at once if the file system can; otherwise the writes fail when it is full.
    unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as i64) };
    let next = AtomicU64::new(0);
    let filled = std::thread::scope(|scope| {
        let fillers: Vec<_> = (0..FILLERS).map(|_| scope.spawn(|| fill_pieces(file, bytes, pattern, &next))).collect();
        let died = || Err(Fault::failed("a writer died", "report this"));
        fillers.into_iter().try_for_each(|filler| filler.join().unwrap_or_else(|_| died()))
    });
    filled.and_then(|()| file.sync_all().or_fault(FILL, FILL_NEXT))
}

/// Writes one piece after another until none is left.
fn fill_pieces(file: &File, bytes: u64, pattern: &Pattern, next: &AtomicU64) -> Result<(), Fault> {
    let mut region = MemoryMap::new(PIECE_BYTES.min(bytes as usize), Pages::Base)?;
    loop {
        let offset = next.fetch_add(PIECE_BYTES as u64, Relaxed);
        if offset >= bytes {
            return Ok(());
        }
        let length = (bytes - offset).min(PIECE_BYTES as u64) as usize;
        let buffer = &mut region.as_slice()[..length];
        pattern.write(offset, buffer);
        file.write_all_at(buffer, offset).or_fault(FILL, FILL_NEXT)?;
    }
}

/// Drops the file's pages from the page cache, so that reads go to the device.
pub fn drop_cache(file: &File) {
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Returns the share of the first `bytes` of our file that the page cache holds now.
pub fn resident_share(file: &File, bytes: u64) -> io::Result<f64> {
    let length = bytes as usize;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    let map = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let mut pages = vec![0_u8; length.div_ceil(page_bytes)];
    let status = check(unsafe { libc::mincore(map, length, pages.as_mut_ptr()) }.into());
    unsafe { libc::munmap(map, length) };
    status?;
    Ok(pages.iter().filter(|&&page| page & 1 == 1).count() as f64 / pages.len() as f64)
}

/// Duplicates the descriptor of the open file, for one worker.
pub fn duplicate(file: &File) -> Result<File, Fault> {
    let fd = check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) }.into());
    let fd = fd.or_fault("cannot duplicate a descriptor", "raise the limit of open files")?;
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_no_name_and_holds_the_pattern() {
        let dir = std::env::temp_dir().join(format!("cloudcmp-scratch-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let file = open(&dir, 0).unwrap();
        let pattern = Pattern::new(7);
        fill(&file, 2_500_001, &pattern).unwrap();
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
        let (mut read, mut expected) = ([0_u8; 1000], [0_u8; 1000]);
        for offset in [0, 8000, 2_499_000] {
            reopen(&file, 0).unwrap().read_exact_at(&mut read, offset).unwrap();
            pattern.write(offset, &mut expected);
            assert_eq!(read, expected);
            assert_eq!(read[..8], pattern.word(offset / 8).to_le_bytes());
        }
        assert_ne!(pattern.word(0), pattern.word(PAGE_WORDS), "no two pages are alike");
        std::fs::remove_dir(&dir).unwrap();
    }
}
