//! Connections between two agents: none carries a byte of the trial before both ends have shown the trial's secret.
//!
//! A server binds one address and admits one. Each TCP connection begins with Noise NNpsk0; then a control connection
//! goes on encrypted, and a data connection carries the plain bytes that are measured. A datagram is answered only
//! once its sender has echoed a cookie that went over the control connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::fault::{Fault, OrFault};
use crate::job::Peer;

mod datagram;
mod noise;

pub use datagram::{admit_datagrams, open_datagrams};
pub use noise::{Control, number};

/// A handshake takes no longer than this.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// An admitted connection that says nothing for so long is given up.
pub const IDLE: Duration = Duration::from_secs(30);
const NEXT: &str = "see that both agents run, hold the same secret and can reach each other";

/// What a connection is for; told under encryption, as the last step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Control,
    Data(u16),
}

/// A server's door: bound to one address, open to one.
pub struct Door {
    listener: TcpListener,
    admitted: IpAddr,
    secret: [u8; 32],
}

impl Door {
    pub fn open(peer: Peer, secret: &[u8; 32]) -> Result<Door, Fault> {
        let tried = format!("cannot listen on {}", peer.address);
        let listener = TcpListener::bind(peer.address).or_fault(tried, "name an address of this machine")?;
        Ok(Door { listener, admitted: peer.admitted, secret: *secret })
    }

    pub fn address(&self) -> Result<SocketAddr, Fault> {
        self.listener.local_addr().or_fault("cannot read the address", NEXT)
    }

    /// The next admitted connection. Strangers, and peers without the secret, are dropped unanswered.
    fn admit(&self) -> Result<(TcpStream, Purpose, Control), Fault> {
        loop {
            let (stream, from) = self.listener.accept().or_fault("cannot accept", NEXT)?;
            if from.ip() != self.admitted {
                continue;
            }
            if let Ok((purpose, control)) = noise::answer(&stream, &self.secret) {
                settle(&stream)?;
                return Ok((stream, purpose, control));
            }
        }
    }

    /// The control connection of the one client, then its `count` data connections in order.
    pub fn admit_client(&self, count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
        let (_, purpose, control) = self.admit()?;
        if purpose != Purpose::Control {
            return Err(Fault::failed("the client's first connection is not the control one", NEXT));
        }
        let mut data = Vec::new();
        for i in 0..count {
            let (stream, purpose, _) = self.admit()?;
            if purpose != Purpose::Data(i) {
                return Err(Fault::failed("the client's connections come out of order", NEXT));
            }
            data.push(stream);
        }
        Ok((control, data))
    }
}

/// A client's control connection, and `count` data connections.
pub fn connect(peer: Peer, secret: &[u8; 32], count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
    let one = |purpose| -> Result<(TcpStream, Control), Fault> {
        let tried = format!("cannot connect to {}", peer.address);
        let stream = connect_soon(peer.address).or_fault(tried, NEXT)?;
        let control = noise::ask(&stream, secret, purpose)?;
        settle(&stream)?;
        Ok((stream, control))
    };
    let (_, control) = one(Purpose::Control)?;
    let data = (0..count).map(|i| Ok(one(Purpose::Data(i))?.0)).collect::<Result<Vec<TcpStream>, Fault>>()?;
    Ok((control, data))
}

/// Connects within the handshake's time; a server that refuses gets a few more tries.
fn connect_soon(address: SocketAddr) -> io::Result<TcpStream> {
    let until = Instant::now() + Duration::from_millis(300);
    loop {
        match TcpStream::connect_timeout(&address, HANDSHAKE) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// The limits of an admitted connection.
fn settle(stream: &TcpStream) -> Result<(), Fault> {
    let set = stream.set_read_timeout(Some(IDLE)).and_then(|()| stream.set_write_timeout(Some(IDLE)));
    set.or_fault("cannot set a socket's limits", NEXT)
}

/// The address of the same family that means "any", with a free port.
fn any_port(ip: IpAddr) -> SocketAddr {
    let any = if ip.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    SocketAddr::new(any, 0)
}
