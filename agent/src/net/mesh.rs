//! A data connection between every two agents of a group.
//!
//! The agents that join a listening one have one data connection to it. Here each of them opens a port on the address
//! by which it joined, sends its number over the control connection, and receives those of all others. It then connects
//! to the agents before it and admits those after it, all by the handshake with the trial's secret; then the port is
//! closed. No agent connects to an address that its own job does not name.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::{Admitted, AgentListener, Control, IDLE, NEXT, Purpose, number, reach, set_limits};
use crate::fault::{Fault, OrFault};

/// The connections of one agent to the others of its group; the agent that listened first has number 0.
pub struct Mesh {
    pub number: usize,
    /// By the other agent's number; `None` at the own one.
    pub streams: Vec<Option<TcpStream>>,
}

impl Mesh {
    /// Returns the connection to the agent of that number, counted around the group.
    pub fn to(&self, number: usize) -> Result<&TcpStream, Fault> {
        let stream = self.streams.get(number % self.streams.len()).and_then(Option::as_ref);
        stream.ok_or_else(|| Fault::failed("no connection to a peer", "report this"))
    }

    /// Returns the numbers of the others, beginning after the own one, so that not all send to the same one first.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        let count = self.streams.len();
        (1..count).map(move |i| (self.number + i) % count)
    }

    /// Closes all connections in both directions.
    pub fn close(&self) {
        let close = |stream: &TcpStream| drop(stream.shutdown(std::net::Shutdown::Both));
        self.streams.iter().flatten().for_each(close);
    }
}

/// Tells the joined agents each other's addresses, as the agent that they joined; returns when all are connected.
pub fn introduce(controls: &mut [Control], data: Vec<TcpStream>) -> Result<Mesh, Fault> {
    let address = |control: &mut Control| {
        let message = control.receive()?;
        let port = number(&message, "port")?;
        Ok(SocketAddr::new(control.remote()?.ip().to_canonical(), port as u16).to_string())
    };
    let group = controls.iter_mut().map(address).collect::<Result<Vec<String>, Fault>>()?;
    for (i, control) in controls.iter_mut().enumerate() {
        control.send(&json!({"place": i, "group": group}))?;
    }
    for control in controls.iter_mut() {
        let message = control.receive()?;
        if let Some(fault) = super::parse_fault(&message) {
            return Err(fault);
        }
    }
    Ok(Mesh { number: 0, streams: std::iter::once(None).chain(data.into_iter().map(Some)).collect() })
}

/// Connects a joined agent to the other joined ones, whose addresses its job names.
pub fn meet(control: &mut Control, data: TcpStream, named: &[IpAddr], secret: &[u8; 32]) -> Result<Mesh, Fault> {
    let own = control.local()?.ip();
    let listener = AgentListener::open(SocketAddr::new(own, 0), named.to_vec(), secret)?;
    control.send(&json!({"port": listener.address()?.port()}))?;
    control.wait(super::HANDSHAKE * 6, || true)?;
    let message = control.receive()?;
    if let Some(fault) = super::parse_fault(&message) {
        return Err(fault);
    }
    let (place, group) = read_group(&message, own.to_canonical(), named)?;
    let peers = listener.admit(|admitted, _| gather(admitted, &group, place, secret))?;
    control.send(&json!({"connected": true}))?;
    let streams = std::iter::once(Some(data)).chain(peers).collect();
    Ok(Mesh { number: place + 1, streams })
}

/// Reads the addresses of all joined agents and the own place among them, which must be those of the job.
fn read_group(message: &Value, own: IpAddr, named: &[IpAddr]) -> Result<(usize, Vec<SocketAddr>), Fault> {
    let list = message.get("group").and_then(Value::as_array);
    let parse = |text: &Value| text.as_str()?.parse::<SocketAddr>().ok();
    let group: Option<Vec<SocketAddr>> = list.and_then(|list| list.iter().map(parse).collect());
    let group = group.ok_or_else(|| Fault::failed("a control message lacks \"group\"", NEXT))?;
    let place = number(message, "place")? as usize;
    let mut others: Vec<IpAddr> = group.iter().map(SocketAddr::ip).collect();
    let mut named = named.to_vec();
    if place >= others.len() || others.remove(place) != own {
        return Err(Fault::failed("this agent is not in its group", NEXT));
    }
    others.sort_unstable();
    named.sort_unstable();
    if others != named {
        return Err(Fault::failed("the group has other peers than the job names", "name all peers in every job"));
    }
    Ok((place, group))
}

/// Connects to the agents before the own place, and waits for those after it.
fn gather(
    admitted: &Receiver<Admitted>,
    group: &[SocketAddr],
    place: usize,
    secret: &[u8; 32],
) -> Result<Vec<Option<TcpStream>>, Fault> {
    let mut streams: Vec<Option<TcpStream>> = group.iter().map(|_| None).collect();
    for (stream, &to) in streams.iter_mut().zip(&group[..place]) {
        *stream = Some(reach(to, secret, Purpose::Data(place as u16))?.0);
    }
    while streams[place + 1..].iter().any(Option::is_none) {
        let (stream, purpose, control) = admitted.recv_timeout(IDLE).or_fault("a peer does not connect", NEXT)?;
        set_limits(&stream)?;
        let from = control.remote()?.ip().to_canonical();
        let expected = match purpose {
            Purpose::Data(i) if usize::from(i) > place => {
                streams.get_mut(usize::from(i)).zip(group.get(usize::from(i)))
            }
            _ => None,
        };
        match expected {
            Some((empty @ None, at)) if at.ip() == from => *empty = Some(stream),
            _ => return Err(Fault::failed("the peers open more connections than the job has", NEXT)),
        }
    }
    Ok(streams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_group_other_than_the_jobs_is_refused() {
        let named = [ip("10.0.0.6"), ip("10.0.0.7")];
        let read = |message: Value| read_group(&message, ip("10.0.0.5"), &named);
        let (place, group) = read(json!({"place": 1, "group": ["10.0.0.7:1", "10.0.0.5:2", "10.0.0.6:3"]})).unwrap();
        assert_eq!((place, group.len()), (1, 3));
        for wrong in [
            json!({"place": 0, "group": ["10.0.0.7:1", "10.0.0.5:2", "10.0.0.6:3"]}),
            json!({"place": 3, "group": ["10.0.0.7:1", "10.0.0.5:2", "10.0.0.6:3"]}),
            json!({"place": 0, "group": ["10.0.0.5:1", "10.0.0.6:2"]}),
            json!({"place": 0, "group": ["10.0.0.5:1", "10.0.0.6:2", "10.0.0.8:3"]}),
            json!({"place": 0, "group": ["10.0.0.5:1", "10.0.0.6:2", "10.0.0.6:3"]}),
            json!({"place": 0, "group": ["10.0.0.5:1", "10.0.0.6:2", "10.0.0.7:3", "10.0.0.8:4"]}),
            json!({"place": 0, "group": ["10.0.0.5:1", "host:2", "10.0.0.7:3"]}),
            json!({"place": 0}),
            json!({"group": []}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_a_hostile_group_never_panics(
            place in any::<i64>(), group in proptest::collection::vec("[0-9.:a]{0,20}", 0..4)
        ) {
            let named = [ip("10.0.0.6")];
            let _ = read_group(&json!({"place": place, "group": group}), ip("10.0.0.5"), &named);
        }
    }
}
