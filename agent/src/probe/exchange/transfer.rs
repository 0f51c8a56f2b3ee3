//! Transfers in both directions at once over several connections, by one thread that waits for none of them alone.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Instant;

use crate::fault::{Fault, OrFault, check};
use crate::net;
use crate::probe::group::NEXT;
use crate::traffic_limiter::Limiter;

/// The most bytes of one call, so that each connection has its turn soon.
const PIECE_BYTES: usize = 256 * 1024;
/// A peer whose network moves nothing checks at this interval whether it may still send.
const LOOK_MS: i32 = 500;

/// What is sent and received over one connection.
pub struct Lane<'a> {
    stream: &'a TcpStream,
    send: usize,
    receive: usize,
    sent: usize,
    received: usize,
}

impl<'a> Lane<'a> {
    pub fn new(stream: &'a TcpStream, send: usize, receive: usize) -> Lane<'a> {
        Lane { stream, send, receive, sent: 0, received: 0 }
    }

    /// Prepares the lane for the same transfer again.
    pub fn reset(&mut self) {
        (self.sent, self.received) = (0, 0);
    }

    fn ended(&self) -> bool {
        self.sent == self.send && self.received == self.receive
    }
}

/// The content of a transfer, by the lane's index.
pub trait Payload {
    /// Returns the bytes to send after the first `sent`.
    fn rest(&self, lane: usize, sent: usize) -> &[u8];

    /// Returns space for the bytes to receive after the first `received`.
    fn space(&mut self, lane: usize, received: usize) -> &mut [u8];

    /// Takes the `bytes` that came into that space.
    fn take(&mut self, lane: usize, received: usize, bytes: usize) -> Result<(), Fault>;
}

/// Moves payloads within the caps of the trial.
pub struct Transfer<'a> {
    limiter: &'a Limiter,
    /// Bytes that may be sent, each with one received.
    granted: u64,
    polls: Vec<libc::pollfd>,
}

impl<'a> Transfer<'a> {
    /// Creates one for up to `lanes` connections.
    pub fn new(limiter: &'a Limiter, lanes: usize) -> Transfer<'a> {
        Transfer { limiter, granted: 0, polls: Vec::with_capacity(lanes) }
    }

    /// Takes a grant for bytes that are sent elsewhere.
    pub fn pay(&mut self, bytes: u64) -> Result<(), Fault> {
        while self.granted < bytes {
            let more = self.limiter.take(self.limiter.grant(), || true).ok_or_else(|| self.limiter.refusal())?;
            self.granted = self.granted.saturating_add(more);
        }
        self.granted -= bytes;
        Ok(())
    }

    /// Sends and receives until all lanes have ended.
    pub fn run(&mut self, lanes: &mut [Lane], payload: &mut impl Payload) -> Result<(), Fault> {
        let mut idle_since: Option<Instant> = None;
        while !lanes.iter().all(Lane::ended) {
            let mut moved = false;
            for i in 0..lanes.len() {
                moved |= self.send(i, lanes, payload)?;
                moved |= receive(i, &mut lanes[i], payload)?;
            }
            if moved {
                idle_since = None;
                continue;
            }
            if idle_since.get_or_insert_with(Instant::now).elapsed() > net::IDLE {
                return Err(Fault::failed("a peer neither sends nor receives", NEXT));
            }
            if !self.limiter.allows() {
                return Err(self.limiter.refusal());
            }
            self.wait(lanes);
        }
        Ok(())
    }

    fn send(&mut self, i: usize, lanes: &mut [Lane], payload: &impl Payload) -> Result<bool, Fault> {
        let left = lanes[i].send - lanes[i].sent;
        if left == 0 {
            return Ok(false);
        }
        if self.granted == 0 {
            let starved = || lanes.iter().all(|lane| net::unsent(lane.stream) == 0);
            let granted = self.limiter.take(self.limiter.grant(), starved);
            self.granted = granted.ok_or_else(|| self.limiter.refusal())?;
        }
        let rest = payload.rest(i, lanes[i].sent);
        let most = left.min(rest.len()).min(PIECE_BYTES).min(usize::try_from(self.granted).unwrap_or(usize::MAX));
        let (fd, at, flags) =
            (lanes[i].stream.as_raw_fd(), rest.as_ptr().cast(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        let sent = unsafe { libc::send(fd, at, most, flags) };
        let Some(sent) = now(sent as i64).or_fault("a peer is gone", NEXT)? else { return Ok(false) };
        lanes[i].sent += sent;
        self.granted -= sent as u64;
        Ok(true)
    }

    /// Sleeps until a lane can go on, for a moment at most.
    fn wait(&mut self, lanes: &[Lane]) {
        self.polls.clear();
        for lane in lanes.iter().filter(|lane| !lane.ended()) {
            let sends = if lane.sent < lane.send { libc::POLLOUT } else { 0 };
            let receives = if lane.received < lane.receive { libc::POLLIN } else { 0 };
            self.polls.push(libc::pollfd { fd: lane.stream.as_raw_fd(), events: sends | receives, revents: 0 });
        }
        unsafe { libc::poll(self.polls.as_mut_ptr(), self.polls.len() as libc::nfds_t, LOOK_MS) };
    }
}

fn receive(i: usize, lane: &mut Lane, payload: &mut impl Payload) -> Result<bool, Fault> {
    let left = lane.receive - lane.received;
    if left == 0 {
        return Ok(false);
    }
    let space = payload.space(i, lane.received);
    let (most, at) = (left.min(space.len()).min(PIECE_BYTES), space.as_mut_ptr().cast());
    let came = unsafe { libc::recv(lane.stream.as_raw_fd(), at, most, libc::MSG_DONTWAIT) };
    match now(came as i64).or_fault("a peer is gone", NEXT)? {
        None => Ok(false),
        Some(0) => Err(Fault::failed("a peer is gone: it closed its connection", NEXT)),
        Some(came) => {
            payload.take(i, lane.received, came)?;
            lane.received += came;
            Ok(true)
        }
    }
}

/// Returns the bytes that a call moved; `None` if it would have waited.
fn now(code: i64) -> io::Result<Option<usize>> {
    match check(code) {
        Ok(bytes) => Ok(Some(bytes as usize)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
pub mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::caps::{Caps, Item};
    use crate::net::Mesh;
    use crate::traffic_limiter::{SENDER_DEPTH_S, Tolerance};

    /// Returns a limiter without caps.
    pub fn free() -> Limiter {
        let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: None, depth_s: SENDER_DEPTH_S };
        Limiter::new(Caps::default(), Item { bytes: 2, packets: 0 }, tolerance)
    }

    /// Connects `count` peers to each other on this machine.
    pub fn meshes(count: usize) -> Vec<Mesh> {
        let row = |number| Mesh { number, streams: (0..count).map(|_| None).collect() };
        let mut meshes: Vec<Mesh> = (0..count).map(row).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for (i, j) in (0..count).flat_map(|i| (0..i).map(move |j| (i, j))) {
            meshes[i].streams[j] = Some(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            meshes[j].streams[i] = Some(listener.accept().unwrap().0);
        }
        meshes
    }

    /// Bytes that count up, and what came of them.
    struct Counting(Vec<u8>, Vec<u8>);

    impl Payload for Counting {
        fn rest(&self, _: usize, sent: usize) -> &[u8] {
            &self.0[sent..]
        }

        fn space(&mut self, _: usize, received: usize) -> &mut [u8] {
            &mut self.1[received..]
        }

        fn take(&mut self, _: usize, _: usize, _: usize) -> Result<(), Fault> {
            Ok(())
        }
    }

    /// Sends and receives more than the buffers of a connection hold, in both directions, by one thread on each side.
    #[test]
    fn both_sides_send_more_than_the_network_holds_and_neither_waits_for_the_other() {
        let meshes = meshes(2);
        let bytes = 20_000_000;
        std::thread::scope(|scope| {
            for mesh in &meshes {
                scope.spawn(move || {
                    let mut payload = Counting((0..bytes).map(|i| i as u8).collect(), vec![0; bytes]);
                    let mut lanes = [Lane::new(mesh.to(mesh.number + 1).unwrap(), bytes, bytes)];
                    Transfer::new(&free(), 1).run(&mut lanes, &mut payload).unwrap();
                    assert!(payload.0 == payload.1);
                });
            }
        });
    }

    #[test]
    fn a_peer_that_leaves_in_the_middle_is_noticed_at_once() {
        let meshes = meshes(2);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                meshes[1].close();
            });
            let mut payload = Counting(vec![1; 8], vec![0; 100]);
            let mut lanes = [Lane::new(meshes[0].to(1).unwrap(), 8, 100)];
            let fault = Transfer::new(&free(), 1).run(&mut lanes, &mut payload).unwrap_err();
            assert!(fault.what.contains("a peer is gone"), "{}", fault.what);
        });
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
