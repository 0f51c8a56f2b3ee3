//! The receiving side: counts and jitter of intervals by its own clock, from the first datagram on.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};
use std::time::Duration;

use serde_json::{Value, json};

use super::{HEAD_BYTES, MARK, NEXT};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, OrFault, check};
use crate::net::{drain, number};
use crate::traffic_limiter::Limiter;

/// The size of a read, which takes as much as the kernel has joined.
const READ_BYTES: usize = 65_536;
const READS: usize = 16;
/// After the sender has reported its count, silence of this length ends the wait for the rest.
const SILENCE: Duration = Duration::from_millis(50);

/// The result of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Time since the first datagram, s.
    pub end_s: f64,
    pub received: u64,
    /// Those of them whose number is below that of an earlier one (RFC 4737, section 3.3).
    pub reordered: u64,
    /// `None` for datagrams too small to contain a time.
    pub jitter_s: Option<f64>,
}

impl Tally {
    pub fn message(&self) -> Value {
        json!({"end_s": self.end_s, "received": self.received, "reordered": self.reordered, "jitter_s": self.jitter_s})
    }

    pub fn of(message: &Value) -> Result<Tally, Fault> {
        let tally = Tally {
            end_s: number(message, "end_s")?,
            received: number(message, "received")? as u64,
            reordered: number(message, "reordered")? as u64,
            jitter_s: message.get("jitter_s").and_then(Value::as_f64),
        };
        // No run is that long or fast: sums of a peer's numbers must not overflow.
        if tally.end_s > 0.0 && tally.end_s < 1e6 && tally.received < 1 << 40 && tally.reordered <= tally.received {
            return Ok(tally);
        }
        Err(Fault::failed("the server counted what can not be", "run the same agent on both sides"))
    }
}

/// Returns the non-empty intervals: an empty one lengthens the next, an empty last one lengthens the one before.
pub fn joined(tallies: &[Tally]) -> Vec<Tally> {
    let mut joined: Vec<Tally> = tallies.iter().filter(|tally| tally.received > 0).cloned().collect();
    if let (Some(last), Some(end)) = (joined.last_mut(), tallies.last()) {
        last.end_s = end.end_s;
    }
    joined
}

pub struct Sink {
    socket: UdpSocket,
    size: usize,
    buffers: Vec<Vec<u8>>,
    count: Count,
    idle: Duration,
    limiter: Arc<Limiter>,
}

impl Sink {
    /// `time_s` is duration and interval; after `idle` without a datagram the sender is considered gone.
    pub fn new(
        socket: UdpSocket,
        size: usize,
        time_s: (f64, f64),
        idle: Duration,
        limiter: Arc<Limiter>,
    ) -> Result<Sink, Fault> {
        let (fd, on, length) = (socket.as_raw_fd(), 1_i32, size_of::<i32>() as u32);
        // An old kernel does not join datagrams: each read then gets one datagram.
        unsafe { libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_GRO, (&raw const on).cast(), length) };
        socket.set_read_timeout(Some(SILENCE)).or_fault("cannot set a socket's limits", NEXT)?;
        let buffers = vec![vec![0; READ_BYTES]; READS];
        Ok(Sink { socket, size, buffers, count: Count::new(time_s.0, time_s.1), idle, limiter })
    }

    /// Discards everything received so far: echoes of the cookie, which must not count as data.
    pub fn discard(&mut self) -> Result<(), Fault> {
        drain(&self.socket)
    }

    /// Counts until everything sent has arrived or the rest is lost. `sent` is u64::MAX while unknown.
    pub fn run(&mut self, sent: &AtomicU64) -> Result<Vec<Tally>, Fault> {
        let mut lengths = [0; READS];
        let mut last_read_ns = now_ns();
        loop {
            // Read before the socket is: silence counts only after the sender's report.
            let sent = sent.load(Acquire);
            if self.count.received >= sent {
                return self.count.close();
            }
            let reads = self.read(&mut lengths);
            let now = now_ns();
            match reads {
                Ok(reads) => {
                    last_read_ns = now;
                    let before = self.count.received;
                    for (buffer, &length) in self.buffers.iter().zip(&lengths[..reads]) {
                        for datagram in buffer[..length].chunks_exact(self.size) {
                            self.count.take(datagram, now);
                        }
                    }
                    let came = self.count.received - before;
                    self.limiter.check_flood(came).ok_or_else(|| self.limiter.refusal())?;
                }
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && sent < u64::MAX => {
                    return self.count.close();
                }
                Err(_) if u128::from(now - last_read_ns) > self.idle.as_nanos() => {
                    return Err(Fault::failed("the client has gone silent", NEXT));
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
                // A late answer to the cookie's echoes.
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => {}
                Err(error) => return Err(Fault::failed(format!("cannot receive: {error}"), NEXT)),
            }
        }
    }

    /// Reads available datagrams, at least one; returns the number of successful reads.
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

impl Drop for Sink {
    fn drop(&mut self) {
        self.limiter.used(self.count.received * self.size as u64);
    }
}

/// The completed intervals, and the current one.
struct Count {
    duration_ns: u64,
    interval_ns: f64,
    first_ns: Option<u64>,
    last_ns: u64,
    received: u64,
    reordered: u64,
    /// The number after the largest one so far.
    expected: u64,
    /// Datagrams received until the end of the last interval, and those of them that were reordered.
    counted: (u64, u64),
    tallies: Vec<Tally>,
    transit_ns: Option<i64>,
    jitter_ns: f64,
    timed: bool,
}

impl Count {
    fn new(duration_s: f64, interval_s: f64) -> Count {
        Count {
            duration_ns: (duration_s * 1e9) as u64,
            interval_ns: interval_s.min(duration_s) * 1e9,
            first_ns: None,
            last_ns: 0,
            received: 0,
            reordered: 0,
            expected: 0,
            counted: (0, 0),
            tallies: Vec::new(),
            transit_ns: None,
            jitter_ns: 0.0,
            timed: false,
        }
    }

    #[inline]
    fn take(&mut self, datagram: &[u8], now: u64) {
        let first = *self.first_ns.get_or_insert(now);
        while now - first >= self.end_ns() && self.end_ns() < self.duration_ns {
            self.end_interval(self.end_ns());
        }
        if let Some(head) = datagram.first_chunk::<HEAD_BYTES>()
            && head[..4] == MARK
        {
            let number = u64::from_le_bytes(head[4..12].try_into().unwrap_or_default());
            self.reordered += u64::from(number < self.expected);
            self.expected = self.expected.max(number.saturating_add(1));
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
    }

    /// Returns the end of the current interval, since the first datagram.
    fn end_ns(&self) -> u64 {
        let end_ns = ((self.tallies.len() + 1) as f64 * self.interval_ns).round() as u64;
        // A last interval of almost zero length is merged with the one before.
        if end_ns + 1000 >= self.duration_ns { self.duration_ns } else { end_ns }
    }

    fn end_interval(&mut self, end_ns: u64) {
        let jitter_s = self.timed.then_some(self.jitter_ns * 1e-9);
        let (received, reordered) = (self.received - self.counted.0, self.reordered - self.counted.1);
        self.tallies.push(Tally { end_s: seconds(end_ns), received, reordered, jitter_s });
        self.counted = (self.received, self.reordered);
    }

    /// Ends the last interval: at the end of the run, or with a datagram that came later.
    fn close(&mut self) -> Result<Vec<Tally>, Fault> {
        let Some(first) = self.first_ns else {
            return Err(Fault::failed("no datagram arrived", NEXT));
        };
        while self.end_ns() < self.duration_ns {
            self.end_interval(self.end_ns());
        }
        self.end_interval(self.duration_ns.max(self.last_ns - first));
        Ok(std::mem::take(&mut self.tallies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn datagram(sent: u64) -> Vec<u8> {
        numbered(0, sent)
    }

    fn numbered(number: u64, sent: u64) -> Vec<u8> {
        [&MARK[..], &number.to_le_bytes(), &sent.to_le_bytes()].concat()
    }

    #[test]
    fn a_datagram_after_one_with_a_larger_number_is_reordered_and_a_lost_one_is_not() {
        let mut count = Count::new(1.0, 1.0);
        for number in [0, 1, 5, 3, 4, 6, 2] {
            count.take(&numbered(number, 1), 7);
        }
        count.take(&numbered(u64::MAX, 1), 7);
        let tallies = count.close().unwrap();
        assert_eq!((tallies[0].received, tallies[0].reordered), (8, 3));
    }

    #[test]
    fn counts_by_its_own_clock_and_takes_jitter_from_transit_differences() {
        let mut count = Count::new(400e-9, 200e-9);
        // Sent every 100 ns, the third 160 ns late: J = 160/16, then J += (160 - J)/16.
        for (i, late) in [0, 0, 160, 0].into_iter().enumerate() {
            let sent = 1000 + 100 * i as u64;
            count.take(&datagram(sent), sent + 5000 + late);
        }
        let tallies = count.close().unwrap();
        assert_eq!(tallies.iter().map(|tally| tally.received).collect::<Vec<_>>(), [4]);
        assert!((tallies[0].jitter_s.unwrap() - (10.0 + 150.0 / 16.0) * 1e-9).abs() < 1e-15);
        assert!((tallies[0].end_s - 400e-9).abs() < 1e-15, "nobody sent for longer than that");
    }

    #[test]
    fn intervals_are_whole_and_empty_ones_join_their_neighbours() {
        let mut count = Count::new(5.0, 1.0);
        for at_s in [0.0, 0.5, 2.5, 2.6, 3.0] {
            count.take(&[0], 7 + (at_s * 1e9) as u64);
        }
        let tallies = count.close().unwrap();
        let counts = |tallies: &[Tally]| tallies.iter().map(|tally| (tally.end_s, tally.received)).collect::<Vec<_>>();
        assert_eq!(counts(&tallies), [(1.0, 2), (2.0, 0), (3.0, 2), (4.0, 1), (5.0, 0)]);
        assert_eq!(counts(&joined(&tallies)), [(1.0, 2), (3.0, 2), (5.0, 1)]);
        assert!(tallies.iter().all(|tally| tally.jitter_s.is_none()), "one byte carries no time");
        let mut late = Count::new(1.0, 1.0);
        [0, 1_500_000_000].into_iter().for_each(|now| late.take(&[0], now));
        assert_eq!(counts(&late.close().unwrap()), [(1.5, 2)]);
        assert!(Count::new(1.0, 1.0).close().unwrap_err().what.contains("no datagram"));
    }

    #[test]
    fn p15_a_silent_client_ends_the_wait_after_the_idle_time() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(&[1; 9], socket.local_addr().unwrap()).unwrap();
        let item = crate::caps::Item { bytes: 9, packets: 1 };
        let tolerance = crate::traffic_limiter::Tolerance { held_s: 1.0, warm_s: None, depth_s: 0.01 };
        let limiter = Arc::new(Limiter::new(crate::caps::Caps::default(), item, tolerance));
        let mut sink = Sink::new(socket, 9, (1.0, 1.0), Duration::from_millis(200), limiter).unwrap();
        let start = now_ns();
        let fault = sink.run(&AtomicU64::new(u64::MAX)).unwrap_err();
        assert!(fault.what.contains("silent") && (0.2..1.0).contains(&seconds(now_ns() - start)));
    }

    fn sane(tally: &Tally) -> bool {
        tally.end_s.is_finite() && tally.jitter_s.is_none_or(|jitter_s| jitter_s.is_finite() && jitter_s >= 0.0)
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_hostile_datagrams_never_panic_and_give_numbers(
            datagrams in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40)), 1..20),
            step in 0..2_000_000_000_u64,
        ) {
            let mut count = Count::new(5.0, 0.5);
            for (i, (marked, mut datagram)) in datagrams.into_iter().enumerate() {
                if marked && datagram.len() >= HEAD_BYTES {
                    datagram[..4].copy_from_slice(&MARK);
                }
                count.take(&datagram, 7 + i as u64 * step);
            }
            let tallies = count.close().unwrap();
            prop_assert!(tallies.iter().all(sane) && tallies.windows(2).all(|pair| pair[0].end_s < pair[1].end_s));
            prop_assert!(joined(&tallies).iter().all(|tally| tally.received > 0));
        }

        #[test]
        fn p28_hostile_tallies_never_panic(end_s in any::<f64>(), received in any::<f64>(), jitter_s in any::<f64>()) {
            let message = json!({"end_s": end_s, "received": received, "reordered": received / 2.0, "jitter_s": jitter_s});
            if let Ok(tally) = Tally::of(&message) {
                prop_assert!(tally.end_s > 0.0 && tally.received < 1 << 40);
            }
        }
    }
}
