//! The handshake, and the encrypted control connection that may follow it.
//!
//! Noise_NNpsk0: the client proves with its first message that it holds the secret, the server with its answer. A
//! third message contains the connection's purpose; it makes a replay of the first message useless.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use snow::{Builder, HandshakeState, TransportState};

use super::{HANDSHAKE, IDLE, NEXT, Purpose};
use crate::fault::{Fault, OrFault, Outcome};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"cloudcmp-agent data 1";
/// The longest message, and thus the memory that a stranger can make the agent hold.
const LIMIT: usize = 4096;
const TAG: usize = 16;
/// A waiting end checks at this interval whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Time for which a side that stops waits for the other side's reason.
const PARTING: Duration = Duration::from_secs(1);

/// An encrypted connection that carries small JSON messages.
pub struct Control {
    stream: TcpStream,
    noise: TransportState,
}

impl Control {
    pub fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let mut sealed = [0_u8; LIMIT];
        let length = self.noise.write_message(message.to_string().as_bytes(), &mut sealed);
        let length = length.or_fault("cannot seal a control message", NEXT)?;
        write_framed(&self.stream, &sealed[..length]).or_fault("the peer is gone", NEXT)
    }

    pub fn receive(&mut self) -> Result<Value, Fault> {
        let (mut sealed, mut plain) = ([0_u8; LIMIT], [0_u8; LIMIT]);
        let length = read_framed(&self.stream, &mut sealed).or_fault("the peer is gone", NEXT)?;
        let opened = self.noise.read_message(&sealed[..length], &mut plain);
        let length = opened.or_fault("a control message is not the peer's", NEXT)?;
        serde_json::from_slice(&plain[..length]).or_fault("a control message is no JSON", NEXT)
    }

    /// Whether a message, or the connection's end, is ready to receive now.
    pub fn is_ready(&self) -> bool {
        let mut one = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        unsafe { libc::poll(&mut one, 1, 0) > 0 }
    }

    /// Sets the longest wait for a message from now on.
    pub fn set_timeout(&mut self, longest: Duration) -> Result<(), Fault> {
        self.stream.set_read_timeout(Some(longest)).or_fault("cannot set a socket's limits", NEXT)
    }

    /// Waits until a message or the connection's end is ready to receive; a fault if `goes_on` turns false.
    pub fn wait(&mut self, longest: Duration, mut goes_on: impl FnMut() -> bool) -> Result<(), Fault> {
        let until = Instant::now() + longest;
        self.set_timeout(LOOK)?;
        while Instant::now() < until && goes_on() {
            match self.stream.peek(&mut [0]) {
                Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
                _ => return self.set_timeout(IDLE),
            }
        }
        self.set_timeout(IDLE)?;
        Err(Fault::failed("the peer says nothing", NEXT))
    }

    /// Sends the peer the reason for the stop; returns the peer's reason if it is a reached cap, otherwise the given
    /// fault.
    pub fn exchange_faults(&mut self, fault: Fault) -> Fault {
        let what: String = fault.what.chars().take(500).collect();
        let sent = self.send(&json!({"fault": what, "outcome": fault.outcome.name()}));
        if fault.outcome == Outcome::Aborted || sent.is_err() || self.set_timeout(PARTING).is_err() {
            return fault;
        }
        let reply = self.receive().ok().and_then(|message| parse_fault(&message));
        reply.filter(|theirs| theirs.outcome == Outcome::Aborted).unwrap_or(fault)
    }

    /// Returns the address of this end.
    pub fn local(&self) -> Result<SocketAddr, Fault> {
        self.stream.local_addr().or_fault("cannot read the address", NEXT)
    }

    /// Returns the address of the other end.
    pub fn remote(&self) -> Result<SocketAddr, Fault> {
        self.stream.peer_addr().or_fault("cannot read the peer's address", NEXT)
    }

    pub fn try_clone_stream(&self) -> Result<TcpStream, Fault> {
        self.stream.try_clone().or_fault("cannot duplicate a connection", NEXT)
    }
}

/// Parses the fault in a message of the peer.
pub fn parse_fault(message: &Value) -> Option<Fault> {
    let what = message.get("fault")?.as_str()?;
    let aborted = message.get("outcome").and_then(Value::as_str) == Some(Outcome::Aborted.name());
    let outcome = if aborted { Outcome::Aborted } else { Outcome::Failed };
    Some(Fault { outcome, ..Fault::failed(format!("the peer says: {what}"), NEXT) })
}

/// Returns a finite number from a control message.
pub fn number(message: &Value, key: &str) -> Result<f64, Fault> {
    let found = message.get(key).and_then(Value::as_f64);
    found.ok_or_else(|| Fault::failed(format!("a control message lacks {key:?}"), "run the same agent on both sides"))
}

/// Runs the client's side of the handshake.
pub fn initiate(stream: &TcpStream, secret: &[u8; 32], purpose: Purpose) -> Result<Control, Fault> {
    let run = || -> Result<Control, Fault> {
        let limits = Limits::begin(stream)?;
        let mut noise = state(secret, true)?;
        let mut buffer = [0_u8; LIMIT];
        send_step(&limits, &mut noise)?;
        let length = limits.receive(&mut buffer)?;
        noise.read_message(&buffer[..length], &mut [0; LIMIT]).or_fault("the secrets differ", NEXT)?;
        let mut noise = noise.into_transport_mode().or_fault("the handshake is not whole", NEXT)?;
        let code = match purpose {
            Purpose::Control => [0, 0, 0],
            Purpose::Data(i) => [1, i.to_be_bytes()[0], i.to_be_bytes()[1]],
        };
        let length = noise.write_message(&code, &mut buffer).or_fault("cannot seal the purpose", NEXT)?;
        limits.send(&buffer[..length])?;
        Ok(Control { stream: stream.try_clone().or_fault("cannot duplicate a connection", NEXT)?, noise })
    };
    run().map_err(|fault| Fault { what: format!("handshake: {}", fault.what), ..fault })
}

/// Runs the server's side of the handshake.
pub fn respond(stream: &TcpStream, secret: &[u8; 32]) -> Result<(Purpose, Control), Fault> {
    let limits = Limits::begin(stream)?;
    let mut noise = state(secret, false)?;
    let (mut buffer, mut plain) = ([0_u8; LIMIT], [0_u8; LIMIT]);
    let length = limits.receive(&mut buffer)?;
    noise.read_message(&buffer[..length], &mut plain).or_fault("the secrets differ", NEXT)?;
    send_step(&limits, &mut noise)?;
    let mut noise = noise.into_transport_mode().or_fault("the handshake is not whole", NEXT)?;
    let length = limits.receive(&mut buffer)?;
    let length = noise.read_message(&buffer[..length], &mut plain).or_fault("a replayed handshake", NEXT)?;
    let purpose = match plain[..length] {
        [0, 0, 0] => Purpose::Control,
        [1, high, low] => Purpose::Data(u16::from_be_bytes([high, low])),
        _ => return Err(Fault::failed("a connection of unknown purpose", NEXT)),
    };
    let stream = stream.try_clone().or_fault("cannot duplicate a connection", NEXT)?;
    Ok((purpose, Control { stream, noise }))
}

fn state(secret: &[u8; 32], client: bool) -> Result<HandshakeState, Fault> {
    let pattern = PATTERN.parse().or_fault("noise", "report this")?;
    let builder = Builder::new(pattern).psk(0, secret).and_then(|builder| builder.prologue(PROLOGUE));
    let builder = builder.or_fault("noise", "report this")?;
    let state = if client { builder.build_initiator() } else { builder.build_responder() };
    state.or_fault("noise", "report this")
}

fn send_step(limits: &Limits, noise: &mut HandshakeState) -> Result<(), Fault> {
    let mut buffer = [0_u8; LIMIT];
    let length = noise.write_message(&[], &mut buffer).or_fault("noise", "report this")?;
    limits.send(&buffer[..length])
}

/// The connection of a handshake: every read gets only the remaining time of the whole handshake.
struct Limits<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Limits<'_> {
    fn begin(stream: &TcpStream) -> Result<Limits<'_>, Fault> {
        stream.set_nodelay(true).or_fault("cannot set a socket's limits", NEXT)?;
        stream.set_write_timeout(Some(HANDSHAKE)).or_fault("cannot set a socket's limits", NEXT)?;
        Ok(Limits { stream, until: Instant::now() + HANDSHAKE })
    }

    fn send(&self, message: &[u8]) -> Result<(), Fault> {
        write_framed(self.stream, message).or_fault("the peer is gone", NEXT)
    }

    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Fault> {
        read_framed(self, buffer).or_fault("the peer said nothing that fits", NEXT)
    }
}

impl Read for &Limits<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

fn write_framed(mut stream: &TcpStream, message: &[u8]) -> io::Result<()> {
    let mut framed = (message.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    stream.write_all(&framed)
}

fn read_framed(mut stream: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = [0_u8; 2];
    stream.read_exact(&mut length)?;
    let length = u16::from_be_bytes(length) as usize;
    if length < TAG || length > buffer.len() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.read_exact(&mut buffer[..length])?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn same_secret_is_admitted_and_messages_pass() {
        let (client, server) = pair();
        let client_side = thread::spawn(move || initiate(&client, &[7; 32], Purpose::Data(300)).unwrap());
        let (purpose, mut control) = respond(&server, &[7; 32]).unwrap();
        assert_eq!(purpose, Purpose::Data(300));
        control.send(&json!({"t_s": 1.5})).unwrap();
        assert_eq!(number(&client_side.join().unwrap().receive().unwrap(), "t_s").unwrap(), 1.5);
    }

    #[test]
    fn another_secret_or_random_bytes_are_refused_without_an_answer() {
        let (client, server) = pair();
        let client_side = thread::spawn(move || initiate(&client, &[8; 32], Purpose::Control).is_err());
        assert!(respond(&server, &[7; 32]).is_err());
        drop(server);
        assert!(client_side.join().unwrap());
        let (mut client, server) = pair();
        client.write_all(&[0, 64]).unwrap();
        client.write_all(&[1; 64]).unwrap();
        assert!(respond(&server, &[7; 32]).is_err());
        drop(server);
        assert_eq!(client.read(&mut [0; 8]).unwrap_or(0), 0);
    }

    #[test]
    fn a_replayed_first_message_is_refused() {
        let secret = [7; 32];
        let mut first = [0_u8; LIMIT];
        let length = state(&secret, true).unwrap().write_message(&[], &mut first).unwrap();
        for _ in 0..2 {
            let (client, server) = pair();
            write_framed(&client, &first[..length]).unwrap();
            write_framed(&client, &[0; 19]).unwrap();
            assert!(respond(&server, &secret).is_err());
        }
    }

    /// Generates a stranger's bytes, in frames with right or wrong lengths, after a first message that may be right.
    fn hostile_stream() -> impl Strategy<Value = (u8, Vec<Vec<u8>>, usize, u8)> {
        let message = proptest::collection::vec(any::<u8>(), 0..200);
        (0..4_u8, proptest::collection::vec(message, 0..4), any::<usize>(), 1..=255_u8)
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_hostile_handshakes_never_panic_and_are_never_admitted((kind, messages, at, flip) in hostile_stream()) {
            let (mut client, server) = pair();
            let mut first = [0_u8; LIMIT];
            let length = state(&[7; 32], true).unwrap().write_message(&[], &mut first).unwrap();
            if kind == 1 {
                first[at % length] ^= flip;
            }
            let mut bytes = Vec::new();
            if kind < 2 {
                bytes.extend_from_slice(&(length as u16).to_be_bytes());
                bytes.extend_from_slice(&first[..length]);
            }
            for message in &messages {
                if kind < 3 {
                    bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
                }
                bytes.extend_from_slice(message);
            }
            client.write_all(&bytes).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            prop_assert!(respond(&server, &[7; 32]).is_err());
            drop(server);
            let mut received = Vec::new();
            let _ = client.read_to_end(&mut received); // ignored: a reset is an end, too
            let most = if kind == 0 { 2 + length } else { 0 };
            prop_assert!(received.len() <= most, "{} bytes for {} of kind {}", received.len(), bytes.len(), kind);
        }

        #[test]
        fn p28_hostile_servers_never_panic_a_client((kind, messages, ..) in hostile_stream()) {
            let (client, mut server) = pair();
            for message in &messages {
                let framed = if kind < 3 { (message.len() as u16).to_be_bytes().to_vec() } else { Vec::new() };
                server.write_all(&[framed, message.clone()].concat()).unwrap();
            }
            server.shutdown(std::net::Shutdown::Write).unwrap();
            prop_assert!(initiate(&client, &[7; 32], Purpose::Control).is_err());
        }

        #[test]
        fn p28_control_messages_of_a_peer_never_panic(text in r#"\{("(fault|outcome|port|cookie|end_s|received|jitter_s)":("[a-z0-9\u{e9}]{0,70}"|-?[0-9]{1,20}|1e400|null),?){0,4}\}"#) {
            if let Ok(message) = serde_json::from_str::<Value>(&text) {
                let _ = (parse_fault(&message), number(&message, "end_s"), crate::net::datagram::offer(&message));
            }
        }
    }
}
