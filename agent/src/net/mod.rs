//! Connections between two agents: no connection carries a byte of the trial before both ends have proved the secret.
//!
//! A server binds one address and admits one peer. Each TCP connection begins with Noise NNpsk0; after that, a control
//! connection stays encrypted, and a data connection carries the plain bytes to measure. A datagram is answered only
//! after its sender has echoed a cookie that was sent over the control connection.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fault::{Fault, OrFault, check};

mod datagram;
mod mesh;
mod noise;

pub use datagram::{admit_datagrams, drain, open_datagrams};
pub use mesh::{Mesh, introduce, meet};
pub use noise::{Control, number, parse_fault};

/// The longest duration of a handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// The maximum number of concurrent handshakes; a further one ends the oldest, since an honest handshake takes no
/// time.
const PENDING: usize = 64;
/// Stack of a handshake's thread: a handshake holds a few messages of 4 KiB.
const STACK_BYTES: usize = 256 * 1024;
/// Longer than any deadline: the last agent of a group may arrive late.
pub const FOREVER: Duration = Duration::from_secs(30 * 86_400);
/// An admitted connection that is silent for this long is closed.
pub const IDLE: Duration = Duration::from_secs(30);
/// From <linux/sockios.h>.
const SIOCOUTQNSD: libc::Ioctl = 0x894b;
const NEXT: &str = "see that both agents run, hold the same secret and can reach each other";

/// The purpose of a connection; sent encrypted, as the last step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Control,
    Data(u16),
}

/// The listening socket of an agent: bound to one address, open to the admitted addresses.
pub struct AgentListener {
    listener: TcpListener,
    admits: Vec<IpAddr>,
    secret: [u8; 32],
}

impl AgentListener {
    pub fn open(at: SocketAddr, admits: Vec<IpAddr>, secret: &[u8; 32]) -> Result<AgentListener, Fault> {
        let listener =
            TcpListener::bind(at).or_fault(format!("cannot listen on {at}"), "name an address of this machine")?;
        Ok(AgentListener { listener, admits, secret: *secret })
    }

    pub fn address(&self) -> Result<SocketAddr, Fault> {
        self.listener.local_addr().or_fault("cannot read the address", NEXT)
    }

    /// Sets the receive buffer of the connections to come, which also bounds the window that they offer.
    pub fn receive_buffer(&self, bytes: u64) -> Result<(), Fault> {
        set_buffer(&self.listener, libc::SO_RCVBUF, bytes)
    }

    /// Admits the control connection and the `count` data connections of the one client, then closes the port.
    ///
    /// Strangers are dropped without an answer, and so are peers without the secret; none of them can delay the
    /// others.
    pub fn admit_client(self, count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
        self.admit(|admitted, _| gather(admitted, count))
    }

    /// Admits a control and a data connection of each admitted agent, then closes the port. Drops strangers in the
    /// same way.
    pub fn admit_group(self) -> Result<Vec<(Control, TcpStream)>, Fault> {
        self.admit(gather_group)
    }

    fn admit<T>(self, gather: impl FnOnce(&Receiver<Admitted>, Vec<IpAddr>) -> Result<T, Fault>) -> Result<T, Fault> {
        let (tell, admitted) = channel();
        let listener = self.listener.try_clone().or_fault("cannot duplicate a socket", NEXT)?;
        let named = self.admits.clone();
        std::thread::spawn(move || self.guard(&tell));
        let gathered = gather(&admitted, named);
        // Wakes the guard, which then ends; the port closes with its last owner.
        unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
        gathered
    }

    /// Runs a separate handshake for each caller from an admitted address.
    fn guard(self, tell: &Sender<Admitted>) {
        let mut pending: VecDeque<(TcpStream, JoinHandle<()>)> = VecDeque::new();
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(caller) => caller,
                // `admit` shuts the socket down when all peers are in.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return,
                // Out of descriptors, or the caller hung up: accept the next one.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            if !self.admits.contains(&from.ip().to_canonical()) {
                continue;
            }
            pending.retain(|(_, handshake)| !handshake.is_finished());
            if pending.len() >= PENDING
                && let Some((oldest, handshake)) = pending.pop_front()
            {
                let _ = oldest.shutdown(Shutdown::Both); // ignored: it may have ended just now
                let _ = handshake.join(); // at once: its socket is shut. Without it more than PENDING could be open.
            }
            let Ok(twin) = stream.try_clone() else { continue };
            let (tell, secret) = (tell.clone(), self.secret);
            let handshake = move || {
                match noise::respond(&stream, &secret) {
                    // Nobody receives this after the last expected connection.
                    Ok((purpose, control)) => drop(tell.send((stream, purpose, control))),
                    // A duplicate of the descriptor would keep the connection open.
                    Err(_) => drop(stream.shutdown(Shutdown::Both)),
                }
            };
            if let Ok(handshake) = Builder::new().stack_size(STACK_BYTES).spawn(handshake) {
                pending.push_back((twin, handshake));
            }
        }
    }
}

/// Requests the size of a send or receive buffer; the kernel bounds it by its own maximum, which `buffer_bytes` shows.
pub fn set_buffer(socket: &impl AsRawFd, option: i32, bytes: u64) -> Result<(), Fault> {
    let (size, length) = (i32::try_from(bytes).unwrap_or(i32::MAX), size_of::<i32>() as u32);
    let code =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const size).cast(), length) };
    check(code.into()).map(drop).or_fault("cannot set the size of a socket's buffer", "use window_bytes=default")
}

/// Returns the size of a buffer as the kernel counts it: twice what was requested, because it keeps books in it.
pub fn buffer_bytes(socket: &impl AsRawFd, option: i32) -> u64 {
    let (mut size, mut length) = (0_i32, size_of::<i32>() as u32);
    unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw mut size).cast(), &mut length);
    }
    size.max(0) as u64
}

/// Returns the bytes in a connection's send buffer that the network has not accepted yet.
pub fn unsent(stream: &TcpStream) -> i32 {
    let mut bytes = 0_i32;
    unsafe { libc::ioctl(stream.as_raw_fd(), SIOCOUTQNSD, &raw mut bytes) };
    bytes
}

/// Returns what the kernel knows of a connection; `None` if it does not say.
pub fn tcp_info(stream: &TcpStream) -> Option<libc::tcp_info> {
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as u32;
    let (fd, at) = (stream.as_raw_fd(), (&raw mut info).cast());
    let code = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, at, &mut length) };
    (code == 0).then_some(info)
}

type Admitted = (TcpStream, Purpose, Control);

/// Waits until the control connection and every data connection have arrived, in any order.
fn gather(admitted: &Receiver<Admitted>, count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
    let mut control = None;
    let mut data: Vec<Option<TcpStream>> = (0..count).map(|_| None).collect();
    while control.is_none() || data.iter().any(Option::is_none) {
        let (stream, purpose, noise) = admitted.recv().or_fault("the port does not accept any more", NEXT)?;
        set_limits(&stream)?;
        let place = match purpose {
            Purpose::Control => control.replace(noise).map(drop),
            Purpose::Data(i) => match data.get_mut(usize::from(i)) {
                Some(place) => place.replace(stream).map(drop),
                None => Some(()),
            },
        };
        if place.is_some() {
            return Err(Fault::failed("the client opens more connections than the job has", NEXT));
        }
    }
    let control = control.ok_or_else(|| Fault::failed("no control connection", NEXT))?;
    Ok((control, data.into_iter().flatten().collect()))
}

/// Waits until every agent has arrived: each gets a number over its control connection, and sends it for its data one.
fn gather_group(admitted: &Receiver<Admitted>, mut named: Vec<IpAddr>) -> Result<Vec<(Control, TcpStream)>, Fault> {
    let mut group: Vec<(Control, Option<TcpStream>)> = Vec::new();
    while !named.is_empty() || group.iter().any(|(_, data)| data.is_none()) {
        let (stream, purpose, mut noise) = admitted.recv().or_fault("the port does not accept any more", NEXT)?;
        set_limits(&stream)?;
        let from = noise.remote()?.ip().to_canonical();
        let expected = match purpose {
            Purpose::Control => named.iter().position(|ip| *ip == from).map(|place| {
                named.swap_remove(place);
                noise.send(&json!({"number": group.len()}))?;
                group.push((noise, None));
                Ok(())
            }),
            Purpose::Data(i) => {
                let empty = group.get_mut(usize::from(i)).filter(|(_, data)| data.is_none());
                empty.map(|(control, data)| {
                    *data = (control.remote()?.ip().to_canonical() == from).then_some(stream);
                    data.as_ref().map(|_| ()).ok_or_else(|| Fault::failed("a peer came from another address", NEXT))
                })
            }
        };
        expected.unwrap_or_else(|| Err(Fault::failed("the peers open more connections than the job has", NEXT)))?;
    }
    Ok(group.into_iter().filter_map(|(control, data)| Some((control, data?))).collect())
}

/// Opens a client's control connection, and `count` data connections.
pub fn connect(to: SocketAddr, secret: &[u8; 32], count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
    let (_, control) = reach(to, secret, Purpose::Control)?;
    let data = (0..count).map(|i| Ok(reach(to, secret, Purpose::Data(i))?.0));
    Ok((control, data.collect::<Result<Vec<TcpStream>, Fault>>()?))
}

/// Opens the control and the data connection of one member of a group.
pub fn join(to: SocketAddr, secret: &[u8; 32]) -> Result<(Control, TcpStream), Fault> {
    let (_, mut control) = reach(to, secret, Purpose::Control)?;
    let i = number(&control.receive()?, "number")?;
    Ok((control, reach(to, secret, Purpose::Data(i as u16))?.0))
}

fn reach(to: SocketAddr, secret: &[u8; 32], purpose: Purpose) -> Result<(TcpStream, Control), Fault> {
    let stream = connect_soon(to).or_fault(format!("cannot connect to {to}"), NEXT)?;
    let control = noise::initiate(&stream, secret, purpose)?;
    set_limits(&stream)?;
    Ok((stream, control))
}

/// Connects within the time of the handshake; retries a few times if the server refuses.
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

/// Sets the limits of an admitted connection.
fn set_limits(stream: &TcpStream) -> Result<(), Fault> {
    let set = stream.set_read_timeout(Some(IDLE)).and_then(|()| stream.set_write_timeout(Some(IDLE)));
    set.or_fault("cannot set a socket's limits", NEXT)
}
