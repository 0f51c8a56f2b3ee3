//! The sending side: as fast as the kernel takes datagrams, or at a rate.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

use super::{HEAD_BYTES, NEXT};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, check};
use crate::pace::Work;

/// The most bytes, and the most datagrams, that the kernel cuts one send into.
const BURST_BYTES: usize = 65_000;
const BURST_DATAGRAMS: usize = 64;
/// Waits longer than this sleep first; the rest is spun, for a sleep ends late.
const SPIN_NS: u64 = 100_000;

/// Datagrams sent in each interval; the listener reads what the source has counted.
pub struct Sent {
    pub interval_s: f64,
    counts: Vec<AtomicU64>,
}

impl Sent {
    pub fn new(duration_s: f64, interval_s: f64) -> Sent {
        let count = (duration_s / interval_s - 1e-6).ceil().max(1.0) as usize;
        Sent { interval_s, counts: (0..count).map(|_| AtomicU64::new(0)).collect() }
    }

    pub fn of(&self, interval: u64) -> u64 {
        self.counts.get(interval as usize).map_or(0, |count| count.load(Acquire))
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Acquire)).sum()
    }

    pub fn intervals(&self) -> u64 {
        self.counts.len() as u64
    }

    fn add(&self, interval: usize, datagrams: u64) {
        self.counts[interval].fetch_add(datagrams, Release);
    }
}

pub struct Source<'a> {
    socket: UdpSocket,
    size: usize,
    /// The kernel cuts one send into datagrams.
    pub gso: bool,
    burst: Vec<u8>,
    sent: &'a Sent,
    number: u64,
    /// Time between datagrams, ns; `None` at full speed.
    gap_ns: Option<f64>,
    start_ns: Option<u64>,
}

impl<'a> Source<'a> {
    pub fn new(socket: UdpSocket, size: usize, rate: Option<u64>, sent: &'a Sent) -> Result<Source<'a>, Fault> {
        let burst = (BURST_BYTES / size).clamp(1, BURST_DATAGRAMS);
        let gap_ns = rate.map(|rate| size as f64 / rate as f64 * 1e9);
        let gso = gap_ns.is_none() && burst > 1 && segment(&socket, size).is_ok();
        let burst = vec![0x5a; if gso { burst * size } else { size }];
        // Without this a sleep may end 50 us late on top of all else.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Ok(Source { socket, size, gso, burst, sent, number: 0, gap_ns, start_ns: None })
    }

    /// Writes the heads of the burst's datagrams.
    #[inline]
    fn head(&mut self, interval: u32, now: u64) {
        if self.size < HEAD_BYTES {
            return;
        }
        for datagram in self.burst.chunks_mut(self.size) {
            datagram[..4].copy_from_slice(&interval.to_le_bytes());
            datagram[4..12].copy_from_slice(&self.number.to_le_bytes());
            datagram[12..20].copy_from_slice(&now.to_le_bytes());
            self.number += 1;
        }
    }

    /// Waits until the next datagram is due: sleeps the long part, spins the short one.
    fn wait(&self, start: u64, gap_ns: f64) -> u64 {
        let due = start + (self.number as f64 * gap_ns) as u64;
        loop {
            let now = now_ns();
            if now >= due {
                return now;
            }
            match due - now {
                left if left > SPIN_NS => std::thread::sleep(Duration::from_nanos(left - SPIN_NS)),
                _ => std::hint::spin_loop(),
            }
        }
    }

    fn send(&mut self) -> io::Result<usize> {
        match self.socket.send(&self.burst) {
            // The path can not take segments of this size: one datagram a send from now on.
            Err(error)
                if self.gso && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EMSGSIZE | libc::EIO)) =>
            {
                segment(&self.socket, 0)?;
                self.gso = false;
                self.burst.truncate(self.size);
                self.socket.send(&self.burst)
            }
            // The device's queue is full, or the receiver was not there for a moment: the datagram is lost, as others may be.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ECONNREFUSED)) => {
                Ok(self.burst.len())
            }
            other => other,
        }
    }
}

/// Lets the kernel cut each send into datagrams of `size`; 0 ends that.
fn segment(socket: &UdpSocket, size: usize) -> io::Result<()> {
    let size = size as i32;
    let (fd, length) = (socket.as_raw_fd(), size_of::<i32>() as u32);
    let code = unsafe { libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), length) };
    check(code.into()).map(drop)
}

impl Work for Source<'_> {
    fn batch(&mut self) -> Result<f64, Fault> {
        let start = *self.start_ns.get_or_insert_with(now_ns);
        let now = match self.gap_ns {
            Some(gap_ns) => self.wait(start, gap_ns),
            None => now_ns(),
        };
        let interval = ((now - start) as f64 * 1e-9 / self.sent.interval_s) as usize;
        let interval = interval.min(self.sent.counts.len() - 1);
        self.head(interval as u32, now);
        let length = self.send().or_fault("cannot send a datagram", NEXT)?;
        let datagrams = (length / self.size) as u64;
        self.sent.add(interval, datagrams);
        if self.size < HEAD_BYTES {
            self.number += datagrams;
        }
        Ok(datagrams as f64)
    }
}
