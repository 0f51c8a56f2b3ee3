//! One page over a new connection: the name, the connection, TLS, the first byte and the rest, each timed apart.
//!
//! Everything that can be prepared is prepared before the first clock read. Sockets block; between two clock reads there
//! is nothing but the phase that they time. The page's own time is the wall time from the question for the name to the
//! last byte, with the moments between phases.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::answer::{self, Head};
use super::dns::Resolver;
use super::kernel::{self, Connection};
use crate::clock::now_ns;

/// The phase of a page in which something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Dns,
    Connect,
    Tls,
    FirstByte,
    Transfer,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Dns => "dns",
            Step::Connect => "connect",
            Step::Tls => "tls",
            Step::FirstByte => "first_byte",
            Step::Transfer => "transfer",
        }
    }
}

/// Why a page did not come whole: in which phase, and a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub step: Step,
    pub reason: String,
}

impl Failure {
    pub fn new(step: Step, reason: impl Into<String>) -> Failure {
        Failure { step, reason: reason.into() }
    }

    pub fn of(step: Step, error: &std::io::Error) -> Failure {
        let reason = match error.kind() {
            ErrorKind::ConnectionRefused => "refused",
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "timed out",
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => "reset",
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "unreachable",
            ErrorKind::UnexpectedEof => "cut off",
            _ => return Failure::new(step, error.to_string()),
        };
        Failure::new(step, reason)
    }
}

/// The times of one page, ns. `dns` is `None` if no resolver was asked, `tls` without TLS.
#[derive(Clone, Debug)]
pub struct Page {
    pub dns: Option<u64>,
    pub connect: u64,
    pub tls: Option<u64>,
    pub first_byte: u64,
    pub transfer: u64,
    pub whole: u64,
    /// All addresses that the name led to, the one that was used first.
    pub addresses: Vec<IpAddr>,
    pub bytes: u64,
    pub head: Head,
    /// The connection as it began, and as it ended.
    pub began: Option<Connection>,
    pub ended: Option<Connection>,
}

/// Where the addresses of an endpoint come from.
pub enum Lookup {
    /// They are known: the host is an address, or this machine's own file lists it.
    Known(Vec<IpAddr>),
    Ask(Box<Resolver>),
}

/// Fetches one page again and again, each time over a new connection.
pub struct Visitor {
    pub host: String,
    pub port: u16,
    pub lookup: Lookup,
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// The whole request.
    pub request: Vec<u8>,
    /// The only right length of the body, if there is one.
    pub length: Option<u64>,
    /// The longest time of a page.
    pub patience: Duration,
    buffer: Vec<u8>,
}

/// The longest body that is read.
const MOST_BYTES: u64 = 1 << 30;
const BUFFER: usize = 256 * 1024;

/// A connection that may be encrypted.
enum Line {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Line {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Line::Plain(stream) => stream.write_all(bytes),
            Line::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    #[inline]
    fn receive(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Line::Plain(stream) => stream.read(bytes),
            Line::Tls(stream) => stream.read(bytes),
        }
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Line::Plain(stream) => stream,
            Line::Tls(stream) => &stream.sock,
        }
    }
}

impl Visitor {
    pub fn new(host: String, port: u16, lookup: Lookup, request: Vec<u8>, patience: Duration) -> Visitor {
        Visitor { host, port, lookup, tls: None, request, length: None, patience, buffer: vec![0; BUFFER] }
    }

    /// Fetches the page once.
    pub fn visit(&mut self) -> Result<Page, Failure> {
        let client = self.tls.as_ref().map(|(config, name)| ClientConnection::new(Arc::clone(config), name.clone()));
        let client = client.transpose().map_err(|error| Failure::new(Step::Tls, error.to_string()))?;
        let start = now_ns();
        let until = start + self.patience.as_nanos() as u64;
        let (addresses, dns) = match &mut self.lookup {
            Lookup::Known(addresses) => (addresses.clone(), None),
            Lookup::Ask(resolver) => resolver.ask(&self.host).map(|(found, ns)| (found, Some(ns)))?,
        };
        let ip = *addresses.first().ok_or_else(|| Failure::new(Step::Dns, "no address"))?;
        let (stream, connect) = connect(SocketAddr::new(ip, self.port), until)?;
        let began = kernel::connection(&stream);
        let (mut line, tls) = match client {
            None => (Line::Plain(stream), None),
            Some(client) => greet(client, stream).map(|(line, ns)| (line, Some(ns)))?,
        };
        let asked = now_ns();
        line.send(&self.request).map_err(|error| Failure::of(Step::FirstByte, &error))?;
        let mut had = self.receive(&mut line, 0, Step::FirstByte)?;
        let came = now_ns();
        if had == 0 {
            return Err(Failure::new(Step::FirstByte, "cut off"));
        }
        let head = loop {
            match answer::read(&self.buffer[..had]) {
                Ok(Some(head)) => break head,
                Ok(None) => {}
                Err(reason) => return Err(Failure::new(Step::FirstByte, reason)),
            }
            match self.receive(&mut line, had, Step::FirstByte)? {
                0 => return Err(Failure::new(Step::FirstByte, "cut off")),
                more => had += more,
            }
        };
        let (bytes, end) = self.body(&mut line, &head, (had - head.bytes) as u64, came, until)?;
        if !(200..300).contains(&head.status) {
            return Err(Failure::new(Step::FirstByte, format!("status {}", head.status)));
        }
        let ended = kernel::connection(line.stream());
        let (first_byte, transfer, whole) = (came - asked, end - came, end - start);
        Ok(Page { dns, connect, tls, first_byte, transfer, whole, addresses, bytes, head, began, ended })
    }

    fn receive(&mut self, line: &mut Line, at: usize, step: Step) -> Result<usize, Failure> {
        line.receive(&mut self.buffer[at..]).map_err(|error| Failure::of(step, &error))
    }

    /// Reads the body to its end; returns its bytes, and when the last of them came.
    fn body(
        &mut self,
        line: &mut Line,
        head: &Head,
        mut bytes: u64,
        mut last: u64,
        until: u64,
    ) -> Result<(u64, u64), Failure> {
        let failed = |reason: &str| Err(Failure::new(Step::Transfer, reason));
        if let (Some(right), Some(length), 200..=299) = (self.length, head.length, head.status)
            && right != length
        {
            return failed("wrong length");
        }
        while head.length.is_none_or(|length| bytes < length) {
            match line.receive(&mut self.buffer) {
                Ok(0) if head.length.is_none() => break,
                Ok(0) => return failed("cut off"),
                Ok(more) => {
                    last = now_ns();
                    bytes += more as u64;
                }
                // Servers that end with the connection often do not say so in TLS.
                Err(error) if head.length.is_none() && error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(Failure::of(Step::Transfer, &error)),
            }
            if last > until {
                return failed("timed out");
            }
            if bytes > MOST_BYTES {
                return failed("longer than 1 GiB");
            }
        }
        if head.length.is_some_and(|length| bytes > length) {
            return failed("longer than it says");
        }
        Ok((bytes, last))
    }
}

/// Connects, and sets what every later wait may take.
fn connect(to: SocketAddr, until: u64) -> Result<(TcpStream, u64), Failure> {
    let failed = |error: &std::io::Error| Failure::of(Step::Connect, error);
    let left = Duration::from_nanos(until.saturating_sub(now_ns()).max(1));
    let start = now_ns();
    let stream = TcpStream::connect_timeout(&to, left);
    let took = now_ns() - start;
    let stream = stream.map_err(|error| failed(&error))?;
    let left = Some(Duration::from_nanos(until.saturating_sub(now_ns()).max(1_000)));
    let limits = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(left));
    limits.and_then(|()| stream.set_write_timeout(left)).map_err(|error| failed(&error))?;
    Ok((stream, took))
}

/// Runs the handshake of TLS.
fn greet(mut client: ClientConnection, mut stream: TcpStream) -> Result<(Line, u64), Failure> {
    let start = now_ns();
    while client.is_handshaking() {
        if let Err(error) = client.complete_io(&mut stream) {
            let failure = Failure::of(Step::Tls, &error);
            // What rustls refuses is about the certificate, and comes as data that is not valid.
            return Err(Failure { reason: failure.reason.chars().take(120).collect(), ..failure });
        }
    }
    let took = now_ns() - start;
    Ok((Line::Tls(Box::new(StreamOwned::new(client, stream))), took))
}
