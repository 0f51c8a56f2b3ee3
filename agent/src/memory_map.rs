//! Memory directly from the kernel: page-aligned, with a stated page size, first touched by its user.

use crate::fault::{Fault, OrFault, check};

pub const HUGE_BYTES: usize = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The base page size, even if the kernel would use huge pages.
    Base,
    /// Transparent huge pages, as far as the kernel provides them.
    Huge,
}

/// An anonymous mapping, aligned to a huge page, unmapped on drop.
pub struct MemoryMap {
    map: *mut u8,
    map_bytes: usize,
    start: *mut u8,
    bytes: usize,
}

unsafe impl Send for MemoryMap {}

impl MemoryMap {
    /// Maps `bytes` zero bytes without touching them.
    pub fn new(bytes: usize, pages: Pages) -> Result<MemoryMap, Fault> {
        let next = "use a smaller size, or free memory";
        let map_bytes = bytes.next_multiple_of(HUGE_BYTES) + HUGE_BYTES;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let map = unsafe { libc::mmap(std::ptr::null_mut(), map_bytes, protection, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            return Err(Fault::failed(format!("cannot map {bytes} bytes: {error}"), next));
        }
        let map = map.cast::<u8>();
        let start = unsafe { map.add(map.align_offset(HUGE_BYTES)) };
        let advice = if pages == Pages::Huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        let region = MemoryMap { map, map_bytes, start, bytes };
        // A kernel without huge pages rejects both; `huge_bytes` reads afterwards how many there are.
        let _ = check(unsafe { libc::madvise(start.cast(), bytes.next_multiple_of(HUGE_BYTES), advice) }.into());
        Ok(region)
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn as_slice(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Returns the memory as numbers; every bit pattern is valid.
    pub fn as_f64(&mut self) -> &mut [f64] {
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.bytes / 8) }
    }

    /// Returns the bytes of the mapping that huge pages hold, from `/proc/self/smaps`.
    pub fn huge_bytes(&self) -> Result<u64, Fault> {
        let text = std::fs::read_to_string("/proc/self/smaps").or_fault("cannot read smaps", "mount /proc")?;
        let (first, last) = (self.map as u64, self.map as u64 + self.map_bytes as u64);
        let (mut inside, mut total) = (false, 0);
        for line in text.lines() {
            if let Some((low, high)) = bounds(line) {
                inside = low < last && high > first;
            } else if let (true, Some(rest)) = (inside, line.strip_prefix("AnonHugePages:")) {
                let kib = rest.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
                total += kib.unwrap_or(0) * 1024;
            }
        }
        Ok(total)
    }
}

/// Parses the addresses in the header line of a mapping.
fn bounds(line: &str) -> Option<(u64, u64)> {
    let (low, high) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?))
}

impl Drop for MemoryMap {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.map.cast(), self.map_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_aligned_zeroes_and_base_pages_are_not_huge() {
        let mut region = MemoryMap::new(3 << 20, Pages::Base).unwrap();
        assert_eq!(region.as_ptr() as usize % HUGE_BYTES, 0);
        assert!(region.as_slice().iter().all(|&byte| byte == 0));
        region.as_slice().fill(1);
        assert_eq!(region.huge_bytes().unwrap(), 0);
    }
}
