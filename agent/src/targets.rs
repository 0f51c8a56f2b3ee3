//! The roles of a trial in its job: this agent's role, the other targets, and whom it therefore admits or connects to.
//!
//! A target is one machine, a service, or a URL. A machine is never a name, a range, a list, or an address of many machines. The
//! broadcast address of a subnet cannot be recognised here; the kernel refuses it: no socket enables broadcasts.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Map, Value};

use crate::service::target::{Service, is_word};
use crate::service::url::Url;

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
    pub const PLAYED: [Role; 4] = [Role::Solo, Role::Server, Role::Client, Role::Peer];
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
            Role::Server => "a server takes listen and one client, whose address is an ip",
            Role::Client => "a client takes no listen and one server, whose address is ip:port, or one service",
            Role::Peer => {
                "a peer takes listen and the other peers, whose addresses are ips, or no listen and one peer, whose \
                 address is ip:port"
            }
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
    Connects {
        to: SocketAddr,
    },
    Service(Box<Service>),
    /// A target that no probe of this agent measures.
    Unmeasured(Role),
}

impl Link {
    /// Whether all traffic of the trial stays on this machine.
    pub fn stays(&self) -> bool {
        match self {
            Link::Alone => true,
            Link::Listens { at, admits } => at.ip().is_loopback() && admits.iter().all(IpAddr::is_loopback),
            Link::Connects { to } => to.ip().is_loopback(),
            Link::Service(service) => service.stays(),
            Link::Unmeasured(_) => false,
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
            return match (role, listen, list.as_slice()) {
                (Role::Client, None, [Value::Object(fields)]) => {
                    Service::read(fields, one_machine).map(|service| Link::Service(service.into()))
                }
                (Role::Client, ..) => Err(role.takes().into()),
                _ => Err("a service takes one client, and no other target".into()),
            };
        }
        Some(Value::Array(list)) if list.len() <= MOST_TARGETS => {
            list.iter().enumerate().map(target).collect::<Result<Vec<_>, _>>()?
        }
        Some(_) => return Err(format!("targets is not a list of at most {MOST_TARGETS}")),
    };
    let unmeasured = |&(other, place): &(Role, Place)| match other {
        Role::Server | Role::Client | Role::Peer => (place == Place::Url).then_some(Role::Endpoint),
        other => Some(other),
    };
    if let Some(target) = targets.iter().find_map(unmeasured) {
        return Ok(Link::Unmeasured(target));
    }
    match (role, listen, targets.as_slice()) {
        (Role::Solo, None, []) => Ok(Link::Alone),
        (Role::Server, Some(at), [(Role::Client, Place::Machine(ip))]) => Ok(Link::Listens { at, admits: vec![*ip] }),
        (Role::Client, None, [(Role::Server, Place::Listener(to))]) => Ok(Link::Connects { to: *to }),
        (Role::Peer, None, [(Role::Peer, Place::Listener(to))]) => Ok(Link::Connects { to: *to }),
        (Role::Peer, Some(at), others @ [_, ..]) => {
            let ip = |other: &(Role, Place)| match other {
                (Role::Peer, Place::Machine(ip)) => Ok(*ip),
                _ => Err(role.takes().to_owned()),
            };
            Ok(Link::Listens { at, admits: others.iter().map(ip).collect::<Result<_, _>>()? })
        }
        _ => Err(role.takes().into()),
    }
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn server(listen: &str, client: &str) -> Result<Link, String> {
        read(Role::Server, Some(listen), Some(&json!([{"role": "client", "address": client}])))
    }

    fn client(server: &str) -> Result<Link, String> {
        read(Role::Client, None, Some(&json!([{"role": "server", "address": server}])))
    }

    #[test]
    fn each_part_has_its_targets_and_no_others() {
        let listens = |at: &str, ips: &[&str]| {
            let admits = ips.iter().map(|ip| ip.parse().unwrap()).collect();
            Ok(Link::Listens { at: at.parse().unwrap(), admits })
        };
        let connects = |to: &str| Ok(Link::Connects { to: to.parse().unwrap() });
        let peer = |address: &str| json!({"role": "peer", "address": address});
        assert_eq!(server("10.0.0.5:0", "10.0.0.9"), listens("10.0.0.5:0", &["10.0.0.9"]));
        assert_eq!(server("[::1]:5", "::1"), listens("[::1]:5", &["::1"]));
        assert_eq!(server("[::ffff:10.0.0.5]:7", "::ffff:10.0.0.9"), listens("10.0.0.5:7", &["10.0.0.9"]));
        assert_eq!(client("10.0.0.5:7"), connects("10.0.0.5:7"));
        let others = json!([peer("10.0.0.6"), peer("10.0.0.7"), peer("10.0.0.6")]);
        let first = read(Role::Peer, Some("10.0.0.5:0"), Some(&others));
        assert_eq!(first, listens("10.0.0.5:0", &["10.0.0.6", "10.0.0.7", "10.0.0.6"]));
        assert_eq!(read(Role::Peer, None, Some(&json!([peer("10.0.0.5:7")]))), connects("10.0.0.5:7"));
        assert_eq!(read(Role::Solo, None, None), Ok(Link::Alone));
        let one = |role: &str, address: &str| json!([{"role": role, "address": address}]);
        for (role, listen, targets) in [
            (Role::Solo, Some("10.0.0.5:0"), json!([])),
            (Role::Solo, None, one("server", "10.0.0.5:7")),
            (Role::Server, None, one("client", "10.0.0.9")),
            (Role::Server, Some("10.0.0.5:0"), json!([])),
            (Role::Server, Some("10.0.0.5:0"), one("client", "10.0.0.9:7")),
            (Role::Server, Some("10.0.0.5:0"), one("peer", "10.0.0.9")),
            (Role::Server, Some("10.0.0.5:0"), json!([peer("10.0.0.6"), peer("10.0.0.7")])),
            (Role::Client, Some("10.0.0.9:0"), one("server", "10.0.0.5:7")),
            (Role::Client, None, one("server", "10.0.0.5")),
            (Role::Client, None, one("client", "10.0.0.5:7")),
            (Role::Client, None, json!([])),
            (Role::Peer, None, json!([])),
            (Role::Peer, Some("10.0.0.5:0"), json!([])),
            (Role::Peer, Some("10.0.0.5:0"), json!([peer("10.0.0.6"), peer("10.0.0.7:7")])),
            (Role::Peer, None, json!([peer("10.0.0.6:7"), peer("10.0.0.7:7")])),
        ] {
            assert_eq!(read(role, listen, Some(&targets)), Err(role.takes().into()), "{listen:?} {targets}");
        }
    }

    #[test]
    fn targets_without_a_probe_are_read_and_distinguished() {
        let url = "https://blobs.example.org:8443/a/b.c";
        for role in [Role::Endpoint, Role::Victim, Role::Neighbour, Role::Vantage] {
            for place in [json!({"endpoint": url, "credential_ref": "reader-1"}), json!({"address": "10.0.0.5"})] {
                let mut target = place;
                target["role"] = role.name().into();
                assert_eq!(read(Role::Client, None, Some(&json!([target]))), Ok(Link::Unmeasured(role)));
            }
        }
        let server = json!([{"role": "server", "endpoint": "http://[::1]:80/"}]);
        assert_eq!(read(Role::Client, None, Some(&server)), Ok(Link::Unmeasured(Role::Endpoint)));
    }

    #[test]
    fn a_service_has_one_client_and_no_other_target() {
        let service = json!({"role": "service", "endpoint": "http://[::1]:9", "protocol": "s3", "data_set": "mine"});
        let link = read(Role::Client, None, Some(&json!([service]))).unwrap();
        assert!(link.stays() && matches!(&link, Link::Service(service) if service.url.port == 9), "{link:?}");
        for (role, listen, targets) in [
            (Role::Client, None, json!([service, service])),
            (Role::Client, None, json!([{"role": "server", "address": "10.0.0.5:7"}, service])),
            (Role::Client, Some("10.0.0.5:0"), json!([service])),
            (Role::Client, None, json!([{"role": "service", "address": "10.0.0.5"}])),
            (Role::Solo, None, json!([service])),
            (Role::Server, Some("10.0.0.5:0"), json!([service])),
        ] {
            assert!(read(role, listen, Some(&targets)).is_err(), "{role:?} {targets}");
        }
    }

    #[test]
    fn a_malformed_target_is_refused_without_echoing_its_secret() {
        let good = json!({"role": "endpoint", "endpoint": "https://example.org/"});
        for (key, value) in [
            ("role", json!("solo")),
            ("role", json!("root")),
            ("role", json!(7)),
            ("more", json!("1")),
            ("address", json!("10.0.0.5")),
            ("endpoint", json!(null)),
            ("endpoint", json!("")),
            ("endpoint", json!("ftp://example.org")),
            ("endpoint", json!("https://")),
            ("endpoint", json!("https://:80/")),
            ("endpoint", json!("https://5ec3e7@example.org/")),
            ("endpoint", json!("https://me:5ec3e7@example.org/")),
            ("endpoint", json!("https://example.org/?sig=5ec3e7")),
            ("endpoint", json!("https://example.org/#5ec3e7")),
            ("endpoint", json!("https://example.org/a b")),
            ("endpoint", json!("https://example.org:0/")),
            ("endpoint", json!("https://example.org:65536/")),
            ("endpoint", json!("https://example.org:+80/")),
            ("endpoint", json!("https://example..org/")),
            ("endpoint", json!("https://[::1/")),
            ("endpoint", json!(format!("https://example.org/{}", "a".repeat(2048)))),
            ("credential_ref", json!("")),
            ("credential_ref", json!("5ec3e7+/=")),
            ("credential_ref", json!("5ec3e7".repeat(11))),
            ("credential_ref", json!(5)),
        ] {
            let mut target = good.clone();
            target[key] = value;
            let fault = read(Role::Client, None, Some(&json!([target]))).unwrap_err();
            assert!(!fault.contains("5ec3e7") && !fault.contains('\n'), "{fault}");
        }
        for wrong in [json!({}), json!("10.0.0.5:7"), json!([7]), json!([[]]), json!(vec![good; MOST_TARGETS + 1])] {
            assert!(read(Role::Client, None, Some(&wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn p27_a_target_is_one_machine_and_never_a_name_a_range_or_a_list() {
        for wrong in [
            "example.org:80",
            "localhost:80",
            "10.0.0.5:",
            "10.0.0.5:80-90",
            "10.0.0.5:80,81",
            "10.0.0.5:80,10.0.0.6",
            "10.0.0.0/24:80",
            "10.0.0.5-9:80",
            "10.0.0.*:80",
            "10.0.0.5:80 10.0.0.6:80",
            "10.0.0.5:80;10.0.0.6:80",
            "http://10.0.0.5:80",
            "0.0.0.0:80",
            "0.1.2.3:80",
            "255.255.255.255:80",
            "224.0.0.1:80",
            "239.255.255.255:80",
            "[::]:80",
            "[ff02::1]:80",
            "[::ffff:0.0.0.0]:80",
            "[::ffff:255.255.255.255]:80",
            "[::ffff:224.0.0.1]:80",
            "010.0.0.5:80",
            "167772165:80",
            " 10.0.0.5:80",
            "10.0.0.5:99999",
        ] {
            assert!(server(wrong, "10.0.0.9").is_err() && client(wrong).is_err(), "{wrong}");
        }
        for admits in ["0.0.0.0", "255.255.255.255", "::", "ff02::1", "10.0.0.0/8", "10.0.0.9,10.0.0.10", "host", ""] {
            assert!(server("10.0.0.5:0", admits).is_err(), "{admits}");
        }
        assert!(server("10.0.0.5", "10.0.0.9").is_err() && client("10.0.0.5:0").is_err());
        assert!(client("10.0.0.5").is_err() && client("10.0.0.5:7").is_ok());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_addresses_of_any_shape_never_panic_and_name_one_machine(text in r"[\[\]0-9a-f:.,/%-]{0,40}") {
            if let Ok(Link::Listens { at, admits }) = server(&text, "10.0.0.9").or_else(|_| server("10.0.0.5:0", &text)) {
                prop_assert!(one_machine(at.ip()) && admits.into_iter().all(one_machine));
            }
            if let Ok(Link::Connects { to }) = client(&text) {
                prop_assert!(one_machine(to.ip()) && to.port() > 0);
            }
        }

        #[test]
        fn p28_targets_of_any_shape_never_panic(
            role in "solo|server|client|peer|service|[a-z]{0,9}", key in "address|endpoint|credential_ref|[a-z_]{1,9}",
            text in r"\PC{0,30}", count in 0..70_usize
        ) {
            let target = json!({"role": role, "address": "10.0.0.5", key: text});
            for part in Role::PLAYED {
                for listen in [None, Some("10.0.0.5:0")] {
                    let link = read(part, listen, Some(&json!(vec![target.clone(); count])));
                    prop_assert!(count <= MOST_TARGETS || link.is_err());
                }
            }
        }
    }
}
