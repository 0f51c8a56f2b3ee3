//! One echo of ICMP, and the time until it comes back.
//!
//! Uses the kernel's own datagram sockets of ICMP where this user's group may open them, else a raw socket, which needs
//! the right to. Without either, nobody can ping from here.

use std::io::{Error, ErrorKind};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::clock::now_ns;
use crate::rng::mix;

pub struct Pinger {
    socket: OwnedFd,
    v4: bool,
    raw: bool,
    id: u16,
    sequence: u16,
    token: u64,
}

const HEADER: usize = 8;
const PAYLOAD: usize = 56;

impl Pinger {
    /// Opens a socket to one address; an echo that takes longer than `patience` is lost.
    pub fn open(to: IpAddr, patience: Duration) -> std::io::Result<Pinger> {
        let (domain, protocol) = match to {
            IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP),
            IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6),
        };
        let open = |kind: i32| {
            let socket = unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) };
            if socket < 0 { Err(Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(socket) }) }
        };
        let (socket, raw) = match open(libc::SOCK_DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => (open(libc::SOCK_RAW)?, true),
        };
        connect(&socket, to)?;
        let limit = libc::timeval { tv_sec: patience.as_secs() as i64, tv_usec: patience.subsec_micros().into() };
        let length = size_of::<libc::timeval>() as u32;
        let at = (&raw const limit).cast();
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, at, length) };
        let token = mix(now_ns() ^ u64::from(std::process::id()));
        Ok(Pinger { socket, v4: to.is_ipv4(), raw, id: token as u16, sequence: 0, token })
    }

    /// Sends one echo; returns the time until it came back, ns, or `None` if it was lost.
    pub fn ping(&mut self) -> std::io::Result<Option<u64>> {
        self.sequence = self.sequence.wrapping_add(1);
        self.token = mix(self.token);
        let message = self.message();
        let mut answer = [0_u8; 512];
        let start = now_ns();
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            return Err(Error::last_os_error());
        }
        loop {
            let fd = self.socket.as_raw_fd();
            let length = unsafe { libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0) };
            let end = now_ns();
            if length < 0 {
                let error = Error::last_os_error();
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(None),
                    ErrorKind::Interrupted => continue,
                    _ => Err(error),
                };
            }
            if self.is_own(&answer[..length as usize]) {
                return Ok(Some(end - start));
            }
        }
    }

    fn message(&self) -> [u8; HEADER + PAYLOAD] {
        let mut message = [0; HEADER + PAYLOAD];
        message[0] = if self.v4 { 8 } else { 128 };
        message[4..6].copy_from_slice(&self.id.to_be_bytes());
        message[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        message[8..16].copy_from_slice(&self.token.to_be_bytes());
        let sum = checksum(&message); // of IPv6 the kernel's own
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        message
    }

    /// Whether a message is the answer to the last echo; a raw socket gives those of everybody, after the IP header.
    fn is_own(&self, message: &[u8]) -> bool {
        let skip = if self.raw && self.v4 { usize::from(message.first().unwrap_or(&0) & 15) * 4 } else { 0 };
        let Some(echo) = message.get(skip..).filter(|echo| echo.len() >= HEADER + 8) else { return false };
        echo[0] == if self.v4 { 0 } else { 129 }
            && echo[6..8] == self.sequence.to_be_bytes()
            && echo[8..16] == self.token.to_be_bytes()
    }
}

fn connect(socket: &OwnedFd, to: IpAddr) -> std::io::Result<()> {
    let done = match to {
        IpAddr::V4(ip) => {
            let mut at: libc::sockaddr_in = unsafe { std::mem::zeroed() };
            at.sin_family = libc::AF_INET as u16;
            at.sin_addr.s_addr = u32::from_ne_bytes(ip.octets());
            let length = size_of::<libc::sockaddr_in>() as u32;
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const at).cast(), length) }
        }
        IpAddr::V6(ip) => {
            let mut at: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
            at.sin6_family = libc::AF_INET6 as u16;
            at.sin6_addr.s6_addr = ip.octets();
            let length = size_of::<libc::sockaddr_in6>() as u32;
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const at).cast(), length) }
        }
    };
    if done < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Returns the Internet checksum (RFC 1071) of a message of even length whose own field is 0.
fn checksum(message: &[u8]) -> u16 {
    let sum: u32 = message.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers_if_this_user_may_ask() {
        for to in ["127.0.0.1", "::1"] {
            let Ok(mut pinger) = Pinger::open(to.parse().unwrap(), Duration::from_secs(1)) else {
                eprintln!("skipped: no ICMP to {to} for this user");
                continue;
            };
            for _ in 0..3 {
                let ns = pinger.ping().unwrap().unwrap();
                assert!(ns > 0 && ns < 1_000_000_000, "{ns}");
            }
        }
    }

    #[test]
    fn a_checksum_with_its_own_field_is_all_ones() {
        let mut message = *b"\x08\x00\x00\x00\xab\xcd\xff\xfe-payload";
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&message), 0);
    }
}
