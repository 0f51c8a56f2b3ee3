//! The receiving side: counts, spans and jitter by the sender's interval.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde_json::{Value, json};

use super::{HEAD_BYTES, NEXT};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault, check};
use crate::net::{IDLE, number};

/// A read takes as much as the kernel has joined.
const READ_BYTES: usize = 65_536;
const READS: usize = 16;
/// After the run's time, silence of this length ends it.
const SILENCE: Duration = Duration::from_millis(50);

/// What came of one interval.
pub struct Tally {
    pub interval: u64,
    pub received: u64,
    /// From the last datagram of the interval before to the last of this one.
    pub span_s: f64,
    /// `None` for datagrams too small to carry a time.
    pub jitter_s: Option<f64>,
}

impl Tally {
    pub fn message(&self) -> Value {
        let (received, span_s) = (self.received, self.span_s);
        json!({"interval": self.interval, "received": received, "span_s": span_s, "jitter_s": self.jitter_s})
    }

    pub fn of(message: &Value) -> Result<Tally, Fault> {
        Ok(Tally {
            interval: number(message, "interval")? as u64,
            received: number(message, "received")? as u64,
            span_s: number(message, "span_s")?,
            jitter_s: message.get("jitter_s").and_then(Value::as_f64),
        })
    }
}

pub struct Sink {
    socket: UdpSocket,
    size: usize,
    duration_ns: u64,
    buffers: Vec<Vec<u8>>,
    count: Count,
}

impl Sink {
    pub fn new(socket: UdpSocket, size: usize, duration_s: f64) -> Result<Sink, Fault> {
        let (fd, on, length) = (socket.as_raw_fd(), 1_i32, size_of::<i32>() as u32);
        // An old kernel joins nothing: then each read is one datagram.
        unsafe { libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_GRO, (&raw const on).cast(), length) };
        socket.set_read_timeout(Some(SILENCE)).or_fault("cannot set a socket's limits", NEXT)?;
        let buffers = vec![vec![0; READ_BYTES]; READS];
        Ok(Sink { socket, size, duration_ns: (duration_s * 1e9) as u64, buffers, count: Count::default() })
    }

    /// Counts until the run's time is over and nothing comes any more; tells of each interval as the next begins.
    pub fn run(&mut self, tell: &Sender<Tally>) -> Result<(), Fault> {
        let mut last = now_ns();
        let mut lengths = [0; READS];
        loop {
            let reads = self.read(&mut lengths);
            let now = now_ns();
            match reads {
                Ok(reads) => {
                    last = now;
                    for (buffer, &length) in self.buffers.iter().zip(&lengths[..reads]) {
                        for datagram in buffer[..length].chunks_exact(self.size) {
                            self.count.take(datagram, now, tell)?;
                        }
                    }
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
                    let over = self.count.first_ns.is_some_and(|first| now - first >= self.duration_ns);
                    if over {
                        return self.count.close(tell);
                    }
                    if now - last > IDLE.as_nanos() as u64 {
                        return Err(Fault::failed("no datagram came for 30 s", NEXT));
                    }
                }
                // An answer to the cookie's echoes that came late.
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => {}
                Err(error) => return Err(Fault::failed(format!("cannot receive: {error}"), NEXT)),
            }
        }
    }

    /// Reads what is there, at least one; returns how many reads gave something.
    fn read(&mut self, lengths: &mut [usize; READS]) -> io::Result<usize> {
        let mut parts: [libc::iovec; READS] = unsafe { std::mem::zeroed() };
        let mut headers: [libc::mmsghdr; READS] = unsafe { std::mem::zeroed() };
        for ((part, header), buffer) in parts.iter_mut().zip(&mut headers).zip(&mut self.buffers) {
            *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        let (fd, wait) = (self.socket.as_raw_fd(), libc::MSG_WAITFORONE);
        let got = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), READS as u32, wait as _, std::ptr::null_mut()) };
        let got = check(got.into())? as usize;
        for (length, header) in lengths.iter_mut().zip(&headers[..got]) {
            *length = header.msg_len as usize;
        }
        Ok(got)
    }
}

/// The interval that is being counted.
#[derive(Default)]
struct Count {
    interval: u64,
    received: u64,
    first_ns: Option<u64>,
    /// When the interval before this one ended.
    since_ns: u64,
    last_ns: u64,
    transit_ns: Option<i64>,
    jitter_ns: f64,
    timed: bool,
}

impl Count {
    #[inline]
    fn take(&mut self, datagram: &[u8], now: u64, tell: &Sender<Tally>) -> Result<(), Fault> {
        if self.first_ns.is_none() {
            (self.first_ns, self.since_ns) = (Some(now), now);
        }
        if let Some(head) = datagram.first_chunk::<HEAD_BYTES>() {
            let interval = u64::from(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
            // A latecomer of an interval already told counts to the present one: no datagram is dropped.
            while interval > self.interval {
                self.close(tell)?;
            }
            let sent = u64::from_le_bytes(head[12..20].try_into().unwrap_or_default());
            let transit = now.wrapping_sub(sent) as i64;
            if let Some(before) = self.transit_ns.replace(transit) {
                let change = transit.wrapping_sub(before).unsigned_abs() as f64;
                self.jitter_ns += (change - self.jitter_ns) / 16.0;
                self.timed = true;
            }
        }
        self.received += 1;
        self.last_ns = now;
        Ok(())
    }

    /// Tells of the interval and begins the next.
    fn close(&mut self, tell: &Sender<Tally>) -> Result<(), Fault> {
        let mut span_s = seconds(self.last_ns.saturating_sub(self.since_ns));
        if self.interval == 0 && self.received > 1 {
            // The very first datagram starts the clock; its own share of time is that of the others.
            span_s *= self.received as f64 / (self.received - 1) as f64;
        }
        let jitter_s = self.timed.then_some(self.jitter_ns * 1e-9);
        let tally = Tally { interval: self.interval, received: self.received, span_s, jitter_s };
        self.interval += 1;
        self.received = 0;
        self.since_ns = self.last_ns;
        tell.send(tally).or_fault("the control thread is gone", "report this")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn datagram(interval: u32, sent: u64) -> Vec<u8> {
        [&interval.to_le_bytes()[..], &0_u64.to_le_bytes(), &sent.to_le_bytes()].concat()
    }

    #[test]
    fn counts_by_interval_and_takes_jitter_from_transit_differences() {
        let (tell, tallies) = channel();
        let mut count = Count::default();
        // Sent every 100 ns, the third 160 ns late: J = 160/16, then J += (160 - J)/16.
        for (i, late) in [0, 0, 160, 0].into_iter().enumerate() {
            let sent = 1000 + 100 * i as u64;
            count.take(&datagram(0, sent), sent + 5000 + late, &tell).unwrap();
        }
        count.take(&datagram(2, 2000), 7000, &tell).unwrap();
        let first = tallies.try_recv().unwrap();
        assert_eq!((first.interval, first.received), (0, 4));
        assert!((first.jitter_s.unwrap() - (10.0 + 150.0 / 16.0) * 1e-9).abs() < 1e-15);
        assert!((first.span_s - 300e-9 * 4.0 / 3.0).abs() < 1e-15);
        assert_eq!(tallies.try_recv().unwrap().received, 0, "an interval of which nothing came");
    }
}
