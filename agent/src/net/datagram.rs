//! Datagrams between two admitted agents: the server answers no address that has not echoed its cookie.

use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Control, HANDSHAKE, IDLE, NEXT, any_port};
use crate::fault::{Fault, OrFault, check};
use crate::job::Peer;

const COOKIE_BYTES: usize = 32;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// The server's socket, tied to the client once its address has echoed the cookie.
pub fn admit_datagrams(peer: Peer, control: &mut Control) -> Result<UdpSocket, Fault> {
    let bound = UdpSocket::bind((peer.address.ip(), 0));
    let socket = bound.or_fault("cannot bind a datagram socket", NEXT)?;
    let port = socket.local_addr().or_fault("cannot read the address", NEXT)?.port();
    let cookie = cookie()?;
    let hex: String = cookie.iter().map(|byte| format!("{byte:02x}")).collect();
    control.send(&json!({"port": port, "cookie": hex}))?;
    let until = Instant::now() + HANDSHAKE;
    let mut buffer = [0_u8; COOKIE_BYTES + 1];
    loop {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left)).or_fault("cannot set a socket's limits", NEXT)?;
        let (length, from) = socket.recv_from(&mut buffer).or_fault("no datagram brought the cookie", NEXT)?;
        if from.ip() == peer.admitted && buffer[..length] == cookie {
            socket.connect(from).or_fault("cannot tie the datagram socket", NEXT)?;
            break;
        }
        if Instant::now() >= until {
            return Err(Fault::failed("no datagram brought the cookie", NEXT));
        }
    }
    control.send(&json!({"admitted": true}))?;
    socket.set_read_timeout(Some(IDLE)).or_fault("cannot set a socket's limits", NEXT)?;
    Ok(socket)
}

/// The client's socket: sends the cookie until the server says that it came.
pub fn open_datagrams(server: IpAddr, control: &mut Control) -> Result<UdpSocket, Fault> {
    let offer = control.receive()?;
    let port = offer.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let hex = offer.get("cookie").and_then(Value::as_str).unwrap_or_default();
    let digit = |i: usize| hex.get(2 * i..2 * i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let cookie: Option<Vec<u8>> = (0..COOKIE_BYTES).map(digit).collect();
    let (Some(port), Some(cookie)) = (port, cookie) else {
        return Err(Fault::failed("the server offered no datagram port", NEXT));
    };
    let socket = UdpSocket::bind(any_port(server)).or_fault("cannot bind a datagram socket", NEXT)?;
    socket.connect((server, port)).or_fault("cannot tie the datagram socket", NEXT)?;
    let until = Instant::now() + HANDSHAKE;
    let answer = control.try_clone_stream()?;
    loop {
        socket.send(&cookie).or_fault("cannot send the cookie", NEXT)?;
        answer.set_read_timeout(Some(TRY_AGAIN)).or_fault("cannot set a socket's limits", NEXT)?;
        if answer.peek(&mut [0; 1]).is_ok_and(|length| length > 0) {
            break;
        }
        if Instant::now() >= until {
            return Err(Fault::failed("the server saw no cookie", NEXT));
        }
    }
    answer.set_read_timeout(Some(IDLE)).or_fault("cannot set a socket's limits", NEXT)?;
    control.receive()?;
    socket.set_read_timeout(Some(IDLE)).or_fault("cannot set a socket's limits", NEXT)?;
    Ok(socket)
}

/// Bytes that nobody can guess.
fn cookie() -> Result<[u8; COOKIE_BYTES], Fault> {
    let mut bytes = [0_u8; COOKIE_BYTES];
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    check(got as i64).or_fault("no random numbers", "report this")?;
    Ok(bytes)
}
