//! The endpoint of one trial: bodies of any size over HTTP/1.1, to the vantage point that its job names.
//!
//! The folder itself is a page of one byte. A request needs the trial's secret in its path, and comes from the vantage point's address; any other connection is
//! closed without a byte. Serves one connection after the other, as one vantage point asks, and one request on each.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::kernel;
use crate::fault::{Fault, OrFault};
use crate::traffic_limiter::Limiter;

/// The longest body, bytes.
pub const MOST_BYTES: u64 = 64 << 20;
const NEXT: &str = "see that the vantage point runs and can be reached";
const PATIENCE: Duration = Duration::from_secs(30);
const LONGEST_REQUEST: usize = 4096;
const PIECE: usize = 64 * 1024;

/// Returns the first folder of the URLs of a trial: half of its secret, in hexadecimal digits.
pub fn folder(secret: &[u8; 32]) -> String {
    secret[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves until the process ends; a fault if a cap is reached.
pub fn serve(listener: &TcpListener, admits: &[IpAddr], folder: &str, limiter: &Limiter) -> Result<(), Fault> {
    let piece = vec![b'.'; PIECE];
    loop {
        let (stream, from) = listener.accept().or_fault("cannot accept connections", NEXT)?;
        if !admits.contains(&from.ip().to_canonical()) {
            continue;
        }
        // Its faults are the vantage point's, which tells of them.
        if let Some(bytes) = request(&stream, folder) {
            limiter.take_operation(bytes).ok_or_else(|| limiter.refusal())?;
            let _ = answer(&stream, bytes, &piece);
            limiter.used(bytes);
        }
    }
}

/// Reads a request; returns the length of the body that it asks for, `None` if it asks for nothing of ours.
fn request(mut stream: &TcpStream, folder: &str) -> Option<u64> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    let (mut bytes, mut had) = ([0_u8; LONGEST_REQUEST], 0);
    while !bytes[..had].windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut bytes[had..]) {
            Ok(more @ 1..) => had += more,
            _ => return None,
        }
    }
    asked(std::str::from_utf8(&bytes[..had]).ok()?, folder)
}

fn asked(request: &str, folder: &str) -> Option<u64> {
    let path = request.strip_prefix("GET /")?.split(' ').next()?.strip_prefix(folder)?;
    if path.is_empty() {
        return Some(1);
    }
    let number = path.strip_prefix("/bytes/")?;
    number.parse().ok().filter(|&bytes| bytes <= MOST_BYTES && number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn answer(mut stream: &TcpStream, bytes: u64, piece: &[u8]) -> std::io::Result<()> {
    let own = kernel::connection(stream).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nConnection: close\r\nX-Cloudcmp-Kernel: initial_window={} mss={}\r\n\r\n",
        own.window_segments, own.own_mss
    );
    // The head travels with the first bytes of the body.
    let first = (bytes as usize).min(PIECE);
    stream.write_all(&[head.as_bytes(), &piece[..first]].concat())?;
    let mut left = bytes as usize - first;
    while left > 0 {
        let now = left.min(PIECE);
        stream.write_all(&piece[..now])?;
        left -= now;
    }
    // The vantage point closes first, so that this end remembers no connection.
    stream.read(&mut [0; 16]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_request_with_the_secret_is_answered() {
        let folder = folder(&[0xab; 32]);
        let get = |path: &str| asked(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"), &folder);
        assert_eq!(get(&format!("/{folder}/bytes/2097152")), Some(2_097_152));
        assert_eq!((get(&format!("/{folder}/bytes/0")), get(&format!("/{folder}"))), (Some(0), Some(1)));
        for wrong in ["/bytes/5", &format!("/{folder}/bytes/+5"), &format!("/{folder}/bytes/67108865"), "/"] {
            assert_eq!(get(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_requests_of_any_text_never_panic(text in r"(GET /ab/bytes/)?\PC{0,30}") {
            prop_assert!(asked(&text, "ab").is_none_or(|bytes| bytes <= MOST_BYTES));
        }
    }
}
