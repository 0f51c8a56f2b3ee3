//! Datagrams between two admitted agents: the server answers no address that has not echoed its cookie.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Control, HANDSHAKE, IDLE, NEXT};
use crate::fault::{Fault, OrFault, check};

const COOKIE_BYTES: usize = 32;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// Opens the server's socket and connects it to the client once the client's address has echoed the cookie.
pub fn admit_datagrams(control: &mut Control) -> Result<UdpSocket, Fault> {
    let (socket, admitted) = (bind_local(control)?, control.remote()?.ip().to_canonical());
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
        if from.ip().to_canonical() == admitted && buffer[..length] == cookie {
            socket.connect(from).or_fault("cannot tie the datagram socket", NEXT)?;
            drain(&socket)?; // discards datagrams that arrived from other addresses before
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

/// Opens the client's socket: sends the cookie until the server confirms its arrival.
pub fn open_datagrams(control: &mut Control) -> Result<UdpSocket, Fault> {
    let offer = offer(&control.receive()?);
    let (port, cookie) = offer.ok_or_else(|| Fault::failed("the server offered no datagram port", NEXT))?;
    let (socket, mut server) = (bind_local(control)?, control.remote()?);
    server.set_port(port);
    socket.connect(server).or_fault("cannot tie the datagram socket", NEXT)?;
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

/// Binds a socket to the address of this end of the control connection.
fn bind_local(control: &Control) -> Result<UdpSocket, Fault> {
    let mut local = control.local()?;
    local.set_port(0);
    UdpSocket::bind(local).or_fault("cannot bind a datagram socket", NEXT)
}

/// Parses the port and the cookie in a server's offer.
pub fn offer(message: &Value) -> Option<(u16, Vec<u8>)> {
    let port = message.get("port")?.as_u64().and_then(|port| u16::try_from(port).ok())?;
    let hex = message.get("cookie")?.as_str()?;
    let digit = |i: usize| hex.get(2 * i..2 * i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    Some((port, (0..COOKIE_BYTES).map(digit).collect::<Option<Vec<u8>>>()?))
}

/// Discards all datagrams in a socket.
pub fn drain(socket: &UdpSocket) -> Result<(), Fault> {
    socket.set_nonblocking(true).or_fault("cannot set a socket's limits", NEXT)?;
    while socket.recv(&mut [0]).is_ok() {}
    socket.set_nonblocking(false).or_fault("cannot set a socket's limits", NEXT)
}

/// Returns unpredictable bytes.
fn cookie() -> Result<[u8; COOKIE_BYTES], Fault> {
    let mut bytes = [0_u8; COOKIE_BYTES];
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    check(got as i64).or_fault("no random numbers", "report this")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::thread;

    use super::*;
    use crate::net::{AgentListener, connect};
    use crate::rng::Rng;

    const SECRET: [u8; 32] = [9; 32];
    const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Returns the bytes received by sockets that did not send the right cookie from the right address.
    fn received_bytes(strangers: &[UdpSocket]) -> usize {
        let one = |socket: &UdpSocket| {
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            (0..).map_while(|_| socket.recv(&mut [0; 2048]).ok()).sum::<usize>()
        };
        strangers.iter().map(one).sum()
    }

    /// Sends hostile datagrams to a server's socket; nobody may receive a byte until the client's address sent the
    /// cookie.
    fn attack(attempts: usize, seed: u64) -> (usize, usize) {
        let listener = AgentListener::open("127.0.0.1:0".parse().unwrap(), vec![LOCALHOST], &SECRET).unwrap();
        let address = listener.address().unwrap();
        let server = thread::spawn(move || {
            let (mut control, _) = listener.admit_client(0).unwrap();
            admit_datagrams(&mut control).map(|socket| (socket, control))
        });
        let (mut control, _) = connect(address, &SECRET, 0).unwrap();
        let (port, cookie) = offer(&control.receive().unwrap()).unwrap();
        let strangers: Vec<UdpSocket> =
            ["127.0.0.1:0", "127.0.0.2:0"].iter().map(|own| UdpSocket::bind(own).unwrap()).collect();
        let mut rng = Rng::new(seed, 0);
        let mut sent = 0;
        for attempt in 0..attempts {
            let mut message: Vec<u8> = (0..rng.next() % 64).map(|_| rng.next() as u8).collect();
            if attempt % 3 == 0 {
                message.clone_from(&cookie);
                message[rng.next() as usize % COOKIE_BYTES] ^= 1 + (rng.next() % 255) as u8;
            }
            sent += strangers[attempt % 2].send_to(&message, ("127.0.0.1", port)).unwrap();
            // The right cookie from another address, as an attacker with a spoofed address would send it.
            strangers[1].send_to(&cookie, ("127.0.0.1", port)).unwrap();
        }
        let received_bytes = received_bytes(&strangers);
        assert!(!server.is_finished(), "none of that admits anybody");
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(&cookie, ("127.0.0.1", port)).unwrap();
        let (socket, _control) = server.join().unwrap().unwrap();
        assert_eq!(socket.peer_addr().unwrap(), client.local_addr().unwrap());
        assert_eq!(control.receive().unwrap()["admitted"], true);
        (sent, received_bytes)
    }

    #[test]
    fn p26_p28_no_datagram_is_answered_before_its_address_is_known() {
        let (sent, received_bytes) = attack(crate::hostile().cases as usize, 5);
        assert!(sent > 0 && received_bytes == 0, "{received_bytes} bytes answered to {sent}");
    }

    #[test]
    fn p25_both_ends_of_the_datagrams_are_bound_to_one_address() {
        let listener = AgentListener::open("127.0.0.1:0".parse().unwrap(), vec![LOCALHOST], &SECRET).unwrap();
        let address = listener.address().unwrap();
        let server = thread::spawn(move || {
            let (mut control, _) = listener.admit_client(0).unwrap();
            admit_datagrams(&mut control).unwrap().local_addr().unwrap()
        });
        let (mut control, _) = connect(address, &SECRET, 0).unwrap();
        let socket = open_datagrams(&mut control).unwrap();
        assert_eq!(socket.local_addr().unwrap().ip(), LOCALHOST);
        assert_eq!(socket.peer_addr().unwrap(), server.join().unwrap());
    }

    #[test]
    fn offers_of_any_kind_are_read_or_refused() {
        let hex = "0f".repeat(COOKIE_BYTES);
        assert_eq!(offer(&json!({"port": 7, "cookie": hex})), Some((7, vec![15; COOKIE_BYTES])));
        for wrong in [json!({"port": 70_000, "cookie": hex}), json!({"port": 7, "cookie": "0é0"}), json!([])] {
            assert_eq!(offer(&wrong), None);
        }
    }
}
