//! The roles of a trial in its job: this agent's role, the other targets, and whom it therefore admits or connects to.
//!
//! A target is one machine, a service, or a URL. A machine is never a name, a range, a list, or an address of many machines. The
//! broadcast address of a subnet cannot be recognised here; the kernel refuses it: no socket enables broadcasts.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Map, Value};

use crate::service::target::{Service, is_word};
use crate::service::url::Url;
use crate::wan::endpoint::Endpoint;

/// The role of an agent or of another target in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Solo,
    Server,
    Client,
    Peer,
    Service,
    Endpoint,
    Victim,
    Neighbour,
    Vantage,
}

impl Role {
    /// The roles that an agent can have.
    pub const PLAYED: [Role; 7] =
        [Role::Solo, Role::Server, Role::Client, Role::Peer, Role::Neighbour, Role::Vantage, Role::Endpoint];
    /// The roles of other targets.
    const OTHERS: [Role; 7] =
        [Role::Server, Role::Client, Role::Peer, Role::Endpoint, Role::Victim, Role::Neighbour, Role::Vantage];

    pub fn name(self) -> &'static str {
        match self {
            Role::Solo => "solo",
            Role::Server => "server",
            Role::Client => "client",
            Role::Peer => "peer",
            Role::Service => "service",
            Role::Endpoint => "endpoint",
            Role::Victim => "victim",
            Role::Neighbour => "neighbour",
            Role::Vantage => "vantage",
        }
    }

    fn takes(self) -> &'static str {
        match self {
            Role::Server => "a server takes listen and one client, whose address is an ip, and perhaps one service",
            Role::Client => {
                "a client takes no listen, and one server, whose address is ip:port, or one service, or both"
            }
            Role::Peer => {
                "a peer takes listen and the other peers, whose addresses are ips, or no listen and first the peer \
                 whose address is ip:port, and perhaps the others, whose addresses are ips"
            }
            Role::Neighbour => "a neighbour takes neither listen nor targets",
            Role::Vantage => "a vantage takes no listen, and one endpoint: a URL, or an agent whose address is ip:port",
            Role::Endpoint => "an endpoint takes listen and one vantage, whose address is an ip",
            _ => "solo takes neither listen nor targets",
        }
    }
}

/// The connection of this agent to the other targets of its trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    Alone,
    /// Binds the address (port 0: any) and admits one agent from each other target; an address may occur twice.
    Listens {
        at: SocketAddr,
        admits: Vec<IpAddr>,
    },
    /// Connects to the listening agent. `others` are the addresses of the other peers of a group, which may connect to
    /// each other.
    Connects {
        to: SocketAddr,
        others: Vec<IpAddr>,
    },
    Service(Box<Service>),
    /// An endpoint at a URL, seen from a vantage point.
    Endpoint(Box<Endpoint>),
    /// A service, and another agent that uses it too: a server or a client.
    Shared(Box<Link>, Box<Service>),
    /// A target that no probe of this agent measures.
    Unmeasured(Role),
}

impl Link {
    /// Whether all traffic of the trial stays on this machine.
    pub fn stays(&self) -> bool {
        match self {
            Link::Alone => true,
            Link::Listens { at, admits } => at.ip().is_loopback() && admits.iter().all(IpAddr::is_loopback),
            Link::Connects { to, others } => to.ip().is_loopback() && others.iter().all(IpAddr::is_loopback),
            Link::Service(service) => service.stays(),
            Link::Endpoint(endpoint) => endpoint.stays(),
            Link::Shared(agents, service) => agents.stays() && service.stays(),
            Link::Unmeasured(_) => false,
        }
    }

    /// Returns the service of the trial, if it has one.
    pub fn service(&self) -> Option<&Service> {
        match self {
            Link::Service(service) | Link::Shared(_, service) => Some(service),
            _ => None,
        }
    }

    /// Returns the connection to other agents, without the service.
    pub fn agents(&self) -> &Link {
        match self {
            Link::Shared(agents, _) => agents,
            other => other,
        }
    }
}

/// The location of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Machine(IpAddr),
    Listener(SocketAddr),
    Url,
}

const MOST_TARGETS: usize = 64;
const FIELDS: [&str; 4] = ["role", "address", "endpoint", "credential_ref"];

/// Reads `listen` and `targets` of a job; the error describes the first mistake.
pub fn read(role: Role, listen: Option<&str>, targets: Option<&Value>) -> Result<Link, String> {
    let listen = listen.map(|text| bound(text).ok_or_else(|| format!("listen {text:?} is not ip:port of one machine")));
    let listen = listen.transpose()?;
    let targets = match targets {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) if list.iter().any(|one| one["role"] == Role::Service.name()) => {
            return with_service(role, listen, list);
        }
        Some(Value::Array(list)) if role == Role::Vantage && list.iter().any(|one| one.get("endpoint").is_some()) => {
            return seen(role, listen, list);
        }
        Some(Value::Array(list)) if list.len() <= MOST_TARGETS => {
            list.iter().enumerate().map(target).collect::<Result<Vec<_>, _>>()?
        }
        Some(_) => return Err(format!("targets is not a list of at most {MOST_TARGETS}")),
    };
    between(role, listen, &targets)
}

/// Reads the targets of an agent that uses a service: alone, or with one other agent.
fn with_service(role: Role, listen: Option<SocketAddr>, list: &[Value]) -> Result<Link, String> {
    if !matches!(role, Role::Client | Role::Server) {
        return Err("a service takes one client, and perhaps a server".into());
    }
    let (services, others): (Vec<_>, Vec<_>) = list.iter().partition(|one| one["role"] == Role::Service.name());
    let ([Value::Object(fields)], true) = (services.as_slice(), others.len() <= 1) else {
        return Err(role.takes().into());
    };
    let service = Service::read(fields, one_machine)?.into();
    if others.is_empty() && role == Role::Client && listen.is_none() {
        return Ok(Link::Service(service));
    }
    let others = others.into_iter().enumerate().map(target).collect::<Result<Vec<_>, _>>()?;
    match between(role, listen, &others)? {
        Link::Unmeasured(_) => Err(role.takes().into()),
        agents => Ok(Link::Shared(agents.into(), service)),
    }
}

/// Reads the one endpoint that a vantage point looks at by its URL.
fn seen(role: Role, listen: Option<SocketAddr>, list: &[Value]) -> Result<Link, String> {
    match (listen, list) {
        (None, [Value::Object(fields)]) if fields.get("role").is_some_and(|one| one == Role::Endpoint.name()) => {
            Ok(Link::Endpoint(Endpoint::read(fields, one_machine)?.into()))
        }
        _ => Err(role.takes().into()),
    }
}

/// Returns the connection to other agents; the error says what the role takes.
fn between(role: Role, listen: Option<SocketAddr>, targets: &[(Role, Place)]) -> Result<Link, String> {
    let unmeasured = |&(other, place): &(Role, Place)| match other {
        Role::Endpoint if role == Role::Vantage => None,
        Role::Vantage if role == Role::Endpoint => None,
        Role::Server | Role::Client | Role::Peer => (place == Place::Url).then_some(Role::Endpoint),
        other => Some(other),
    };
    if let Some(target) = targets.iter().find_map(unmeasured) {
        return Ok(Link::Unmeasured(target));
    }
    match (role, listen, targets) {
        (Role::Solo | Role::Neighbour, None, []) => Ok(Link::Alone),
        (Role::Server, Some(at), [(Role::Client, Place::Machine(ip))]) => Ok(Link::Listens { at, admits: vec![*ip] }),
        (Role::Client, None, [(Role::Server, Place::Listener(to))]) => {
            Ok(Link::Connects { to: *to, others: Vec::new() })
        }
        (Role::Vantage, None, [(Role::Endpoint, Place::Listener(to))]) => {
            Ok(Link::Connects { to: *to, others: Vec::new() })
        }
        (Role::Endpoint, Some(at), [(Role::Vantage, Place::Machine(ip))]) => {
            Ok(Link::Listens { at, admits: vec![*ip] })
        }
        (Role::Peer, None, [(Role::Peer, Place::Listener(to)), others @ ..]) => {
            Ok(Link::Connects { to: *to, others: peers(others)? })
        }
        (Role::Peer, Some(at), others @ [_, ..]) => Ok(Link::Listens { at, admits: peers(others)? }),
        _ => Err(role.takes().into()),
    }
}

/// Returns the addresses of peers that do not listen yet.
fn peers(others: &[(Role, Place)]) -> Result<Vec<IpAddr>, String> {
    let ip = |other: &(Role, Place)| match other {
        (Role::Peer, Place::Machine(ip)) => Ok(*ip),
        _ => Err(Role::Peer.takes().to_owned()),
    };
    others.iter().map(ip).collect()
}

fn target((i, value): (usize, &Value)) -> Result<(Role, Place), String> {
    let Value::Object(fields) = value else {
        return Err(format!("targets[{i}] is not an object"));
    };
    if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(format!("unknown field {unknown:?} of targets[{i}]"));
    }
    let name = text(i, fields, "role")?.unwrap_or_default();
    let role = Role::OTHERS.into_iter().find(|role| role.name() == name);
    let role = role.ok_or_else(|| format!("targets[{i}] has an unknown role {name:?}"))?;
    // Never echoed, because it may be the credential itself.
    if text(i, fields, "credential_ref")?.is_some_and(|text| !is_word(text)) {
        return Err(format!("credential_ref of targets[{i}] is not a plain word"));
    }
    match (text(i, fields, "address")?, text(i, fields, "endpoint")?) {
        (Some(text), None) => match place(text) {
            Some(place) => Ok((role, place)),
            None => Err(format!("targets[{i}] has an address {text:?} that is not the ip or ip:port of one machine")),
        },
        (None, Some(text)) if Url::parse(text).is_some() => Ok((role, Place::Url)),
        (None, Some(_)) => Err(format!("targets[{i}] has an endpoint that is not a plain URL")),
        _ => Err(format!("targets[{i}] needs either an address or an endpoint")),
    }
}

fn text<'a>(i: usize, fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    let value = fields.get(key);
    value.map(|value| value.as_str().ok_or_else(|| format!("{key} of targets[{i}] is not a string"))).transpose()
}

/// Parses an address to bind; its port may be 0.
fn bound(text: &str) -> Option<SocketAddr> {
    let address: SocketAddr = text.parse().ok()?;
    // An IPv4-mapped IPv6 address would not be recognised as the IPv4 address.
    let plain = address.ip().to_canonical();
    let address = if plain == address.ip() { address } else { SocketAddr::new(plain, address.port()) };
    one_machine(plain).then_some(address)
}

fn place(text: &str) -> Option<Place> {
    if let Some(listener) = bound(text) {
        return (listener.port() != 0).then_some(Place::Listener(listener));
    }
    let ip = text.parse::<IpAddr>().ok()?.to_canonical();
    one_machine(ip).then_some(Place::Machine(ip))
}

/// Whether an address means one machine: not any, all, many, or "this network" (RFC 1122, 3.2.1.3).
fn one_machine(ip: IpAddr) -> bool {
    let many = ip.is_unspecified() || ip.is_multicast();
    !many && !matches!(ip, IpAddr::V4(ip) if ip.is_broadcast() || ip.octets()[0] == 0)
}

#[cfg(test)]
mod tests;
