//! The sending side: as fast as the kernel accepts datagrams, or at a given rate.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{HEAD_BYTES, MARK, NEXT};
use crate::clock::{now_ns, wait_until};
use crate::fault::{Fault, OrFault, check};
use crate::pace::Work;
use crate::traffic_limiter::Limiter;

/// The most bytes, and the most datagrams, that the kernel splits one send into.
const BURST_BYTES: usize = 65_000;
const BURST_DATAGRAMS: usize = 64;

pub struct Source {
    socket: UdpSocket,
    size: usize,
    /// Whether the kernel splits one send into datagrams.
    pub gso: bool,
    burst: Vec<u8>,
    /// Datagrams that the kernel accepted, and those that it refused: the latter were never on the path.
    pub sent: u64,
    pub refused: u64,
    /// Time between datagrams, ns; `None` at full speed.
    gap_ns: Option<f64>,
    /// The number of datagrams due so far.
    due: u64,
    duration_ns: u64,
    start_ns: Option<u64>,
    limiter: Arc<Limiter>,
    /// Datagrams left before the next call of the limiter.
    granted: u64,
    /// Set when the server is gone, or has sent a message.
    pub unwanted: Arc<AtomicBool>,
}

impl Source {
    pub fn new(
        socket: UdpSocket,
        size: usize,
        rate: Option<u64>,
        duration_s: f64,
        limiter: Arc<Limiter>,
    ) -> Result<Source, Fault> {
        let burst = (BURST_BYTES / size).clamp(1, BURST_DATAGRAMS);
        let gap_ns = rate.map(|rate| size as f64 / rate as f64 * 1e9);
        let gso = gap_ns.is_none() && burst > 1 && segment(&socket, size).is_ok();
        let burst = vec![0x5a; if gso { burst * size } else { size }];
        // Without this, a sleep may end another 50 us late.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        let duration_ns = (duration_s * 1e9) as u64;
        Ok(Source {
            socket,
            size,
            gso,
            burst,
            sent: 0,
            refused: 0,
            gap_ns,
            due: 0,
            duration_ns,
            start_ns: None,
            limiter,
            granted: 0,
            unwanted: Arc::default(),
        })
    }

    /// Returns the number of datagrams that the next send may contain.
    #[inline]
    fn allowed(&mut self) -> Result<u64, Fault> {
        let whole = (self.burst.len() / self.size) as u64;
        if self.granted == 0 {
            let want = (self.limiter.grant() / whole).max(1) * whole;
            let granted = self.limiter.take(want, || queued(&self.socket) == 0);
            self.granted = granted.ok_or_else(|| self.limiter.refusal())?;
        }
        if self.unwanted.load(Relaxed) {
            return Err(Fault::failed("the server is gone", NEXT));
        }
        Ok(whole.min(self.granted))
    }

    /// Writes the heads of the burst's datagrams.
    #[inline]
    fn head(&mut self, now: u64) {
        if self.size < HEAD_BYTES {
            return;
        }
        for (datagram, number) in self.burst.chunks_mut(self.size).zip(self.sent..) {
            datagram[..4].copy_from_slice(&MARK);
            datagram[4..12].copy_from_slice(&number.to_le_bytes());
            datagram[12..20].copy_from_slice(&now.to_le_bytes());
        }
    }

    /// Waits until the next datagram is due; `false` if that is after the end of the run.
    fn wait(&mut self, gap_ns: f64) -> bool {
        let start = *self.start_ns.get_or_insert_with(now_ns);
        let due_ns = (self.due as f64 * gap_ns) as u64;
        self.due += 1;
        wait_until(start + due_ns.min(self.duration_ns));
        due_ns < self.duration_ns
    }

    /// Sends `bytes` bytes of the burst; returns the number of bytes that the kernel accepted.
    fn send(&mut self, bytes: usize) -> io::Result<usize> {
        match self.socket.send(&self.burst[..bytes]) {
            // The path cannot take segments of this size: send one datagram at a time from now on.
            Err(error)
                if self.gso && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EMSGSIZE | libc::EIO)) =>
            {
                segment(&self.socket, 0)?;
                self.gso = false;
                self.burst.truncate(self.size);
                self.socket.send(&self.burst)
            }
            // The device's queue is full, or an error reply to an earlier datagram arrived: this one was not sent.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ECONNREFUSED)) => Ok(0),
            other => other,
        }
    }
}

/// Makes the kernel split each send into datagrams of `size`; 0 turns that off.
fn segment(socket: &UdpSocket, size: usize) -> io::Result<()> {
    let size = size as i32;
    let (fd, length) = (socket.as_raw_fd(), size_of::<i32>() as u32);
    let code = unsafe { libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), length) };
    check(code.into()).map(drop)
}

/// Returns the bytes in the socket that the network has not accepted yet.
fn queued(socket: &UdpSocket) -> i32 {
    let mut bytes = 0_i32;
    unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    bytes
}

impl Drop for Source {
    fn drop(&mut self) {
        self.limiter.used(self.sent * self.size as u64);
    }
}

impl Work for Source {
    fn batch(&mut self) -> Result<f64, Fault> {
        if let Some(gap_ns) = self.gap_ns
            && !self.wait(gap_ns)
        {
            return Ok(0.0);
        }
        let allowed = self.allowed()?;
        self.head(now_ns());
        let length = self.send(allowed as usize * self.size).or_fault("cannot send a datagram", NEXT)?;
        let (whole, datagrams) = (allowed.min((self.burst.len() / self.size) as u64), (length / self.size) as u64);
        self.granted -= whole;
        self.sent += datagrams;
        self.refused += whole - datagrams;
        Ok(datagrams as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::{Caps, Item};
    use crate::traffic_limiter::Tolerance;

    fn limiter(caps: Caps, size: u64) -> Arc<Limiter> {
        let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: None, depth_s: 0.01 };
        Arc::new(Limiter::new(caps, Item { bytes: size, packets: 1 }, tolerance))
    }

    #[test]
    fn p15_a_byte_cap_cuts_a_burst_to_the_datagrams_that_are_left() {
        let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
        for rate in [None, Some(1 << 40)] {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(sink.local_addr().unwrap()).unwrap();
            let caps = Caps { bytes: Some(100_000), ..Caps::default() };
            let mut source = Source::new(socket, 1000, rate, 10.0, limiter(caps, 1000)).unwrap();
            let fault = (0..1000).find_map(|_| source.batch().err()).unwrap();
            assert_eq!((source.sent + source.refused, fault.outcome.name()), (100, "aborted"));
        }
    }

    #[test]
    fn datagrams_that_the_kernel_refuses_do_not_count_as_sent() {
        // No socket listens there: each answer "port unreachable" makes a later send fail.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(port).unwrap();
        let mut source = Source::new(socket, 100, Some(100_000_000), 1.0, limiter(Caps::default(), 100)).unwrap();
        let worked: f64 = (0..100).map(|_| source.batch().unwrap()).sum();
        assert!(source.refused > 0 && source.sent > 0, "{} {}", source.refused, source.sent);
        assert_eq!((source.sent + source.refused, source.sent as f64), (100, worked));
    }

    #[test]
    fn the_rate_is_never_exceeded() {
        let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(sink.local_addr().unwrap()).unwrap();
        let mut source = Source::new(socket, 1, Some(100), 0.05, limiter(Caps::default(), 1)).unwrap();
        let start = now_ns();
        while source.batch().unwrap() > 0.0 {}
        assert_eq!(source.sent, 5);
        assert!(now_ns() - start >= 50_000_000, "the rest of the run passes in silence");
    }
}
