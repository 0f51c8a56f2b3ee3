//! The mappings of a C program with shared libraries besides its own code, for a test that duplicates a process.
//!
//! Process creation is limited by the state that `fork` copies and the pages that the child must fault in again. The
//! original is dynamically linked with the C library; the agent is one static file, whose children were created 1.4
//! times as fast. Counted for a program that forks in a loop with glibc 2.36: 24 mappings and 17 faults per child; for
//! the agent: 13 and 10.

use std::os::fd::AsRawFd;

use super::process::binary;
use crate::fault::{Fault, OrFault};

/// Pieces of code, which a child faults in on access, and of data, which are copied on write.
const CODE: usize = 7;
const DATA: usize = 4;
const PAGE_BYTES: usize = 4096;

/// The mappings; they last as long as the process.
pub struct Mappings([*const u8; CODE]);

impl Mappings {
    /// Maps and touches them. Code and data alternate, so that the kernel does not merge several mappings.
    pub fn new() -> Result<Mappings, Fault> {
        let program = binary()?;
        let mut code = [std::ptr::null(); CODE];
        for (i, start) in code.iter_mut().enumerate() {
            *start = map(libc::PROT_READ, libc::MAP_PRIVATE, program.as_raw_fd())?;
            if i < DATA {
                let data = map(libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
                unsafe { data.cast_mut().write_volatile(1) };
            }
        }
        let mappings = Mappings(code);
        mappings.touch();
        Ok(mappings)
    }

    /// Reads a byte of each piece of code, like a child that calls into its libraries.
    #[inline]
    pub fn touch(&self) {
        for start in self.0 {
            let _ = unsafe { start.read_volatile() };
        }
    }
}

fn map(protection: i32, flags: i32, file: i32) -> Result<*const u8, Fault> {
    let map = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, file, 0) };
    let map = if map == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(map) };
    map.map(|map| map.cast::<u8>().cast_const()).or_fault("cannot map a page", "free memory")
}
