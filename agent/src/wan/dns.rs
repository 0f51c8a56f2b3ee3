//! One question to a resolver over UDP, and the time until its answer.
//!
//! The question asks the resolver not to tell the name's own servers where the question comes from (EDNS client subnet
//! with a prefix of 0, RFC 7871, 7.1.2): the answer is then that for the resolver. A resolver that refuses EDNS is asked
//! without. A name is taken as it is written: no search list is tried. Answers over TCP are not asked for; a truncated
//! answer's addresses are used.

use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::visit::{Failure, Step};
use crate::clock::now_ns;
use crate::rng::mix;

/// The kind of address that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// The servers that answer, in the order in which they are asked.
#[derive(Clone, Debug)]
pub struct Resolver {
    servers: Vec<SocketAddr>,
    family: Family,
    extended: bool,
    asked: u64,
}

const PORT: u16 = 53;
const MOST_SERVERS: usize = 3;
/// As long as resolvers of the system wait before they ask the next server.
const PATIENCE: Duration = Duration::from_secs(5);
const ATTEMPTS: usize = 2;
const LONGEST_ANSWER: usize = 4096;
const HEADER: usize = 12;
const OPT: u16 = 41;
const CLIENT_SUBNET: u16 = 8;
const PAYLOAD: u16 = 1232;
const RECURSION_DESIRED: u16 = 0x0100;
const FORMERR: u16 = 1;
const NOTIMP: u16 = 4;
const NXDOMAIN: u16 = 3;

impl Family {
    fn kind(self) -> u16 {
        match self {
            Family::V4 => 1,
            Family::V6 => 28,
        }
    }

    /// The family's number in the option of the client's subnet.
    fn number(self) -> u16 {
        match self {
            Family::V4 => 1,
            Family::V6 => 2,
        }
    }

    pub fn has(self, ip: IpAddr) -> bool {
        ip.is_ipv4() == (self == Family::V4)
    }
}

impl Resolver {
    /// The system's servers if `server` is `system`, else that address.
    pub fn new(server: &str, family: Family, seed: u64) -> Result<Resolver, String> {
        let servers = match server {
            "system" => system_servers(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
            ip => vec![SocketAddr::new(ip.parse().map_err(|_| format!("resolver {ip:?} is not an ip"))?, PORT)],
        };
        if servers.is_empty() {
            return Err("this machine names no resolver in /etc/resolv.conf".into());
        }
        Ok(Resolver::of(servers, family, seed))
    }

    pub fn of(servers: Vec<SocketAddr>, family: Family, seed: u64) -> Resolver {
        Resolver { servers, family, extended: true, asked: seed }
    }

    /// The servers as text, for a note.
    pub fn servers(&self) -> String {
        self.servers.iter().map(|server| server.ip().to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Asks for the addresses of a name; returns them with the time from the first question to the answer, ns.
    pub fn ask(&mut self, name: &str) -> Result<(Vec<IpAddr>, u64), Failure> {
        let mut start = None;
        for _ in 0..ATTEMPTS {
            for server in self.servers.clone() {
                match self.ask_one(server, name, &mut start) {
                    Err(failure) if failure.reason == "timed out" => {}
                    other => return other,
                }
            }
        }
        Err(Failure::new(Step::Dns, "timed out"))
    }

    /// Asks one server; a second time without EDNS if it refuses that.
    fn ask_one(
        &mut self,
        server: SocketAddr,
        name: &str,
        start: &mut Option<u64>,
    ) -> Result<(Vec<IpAddr>, u64), Failure> {
        loop {
            self.asked = self.asked.wrapping_add(1);
            let id = mix(self.asked ^ now_ns()) as u16;
            let question = question(id, name, self.family, self.extended).ok_or(Failure::new(Step::Dns, "bad name"))?;
            let socket = open(server).map_err(|error| Failure::of(Step::Dns, &error))?;
            let mut answer = [0; LONGEST_ANSWER];
            let begun = *start.get_or_insert_with(now_ns);
            socket.send(&question).map_err(|error| Failure::of(Step::Dns, &error))?;
            let (length, end) = loop {
                let received = socket.recv(&mut answer);
                let end = now_ns();
                match received {
                    Ok(length) if is_answer(&answer[..length], id) => break (length, end),
                    Ok(_) if end.saturating_sub(begun) < PATIENCE.as_nanos() as u64 => {} // to another question
                    Ok(_) => return Err(Failure::new(Step::Dns, "timed out")),
                    Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => {
                        return Err(Failure::new(Step::Dns, "timed out"));
                    }
                    Err(error) => return Err(Failure::of(Step::Dns, &error)),
                }
            };
            match addresses(&answer[..length], self.family) {
                Ok(found) => return Ok((found, end - begun)),
                Err(FORMERR | NOTIMP) if self.extended => self.extended = false,
                Err(NXDOMAIN) => return Err(Failure::new(Step::Dns, "no such name")),
                Err(code) => return Err(Failure::new(Step::Dns, format!("the resolver answered {code}"))),
            }
        }
    }
}

fn open(server: SocketAddr) -> std::io::Result<UdpSocket> {
    let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Returns the servers that a resolv.conf names.
fn system_servers(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok())?
    };
    text.lines().filter_map(address).map(|ip: IpAddr| SocketAddr::new(ip, PORT)).take(MOST_SERVERS).collect()
}

/// Returns the addresses that a hosts file has for a name.
pub fn listed(hosts: &str, name: &str, family: Family) -> Vec<IpAddr> {
    let line = |line: &str| {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        let ip: IpAddr = words.next()?.parse().ok()?;
        (family.has(ip) && words.any(|word| word.eq_ignore_ascii_case(name))).then_some(ip)
    };
    hosts.lines().filter_map(line).collect()
}

/// Builds a question for the addresses of a name; `None` if it is no name of DNS.
fn question(id: u16, name: &str, family: Family, extended: bool) -> Option<Vec<u8>> {
    let mut message = Vec::with_capacity(HEADER + name.len() + 32);
    for word in [id, RECURSION_DESIRED, 1, 0, 0, u16::from(extended)] {
        message.extend(word.to_be_bytes());
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > 253 {
        return None;
    }
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?);
        message.extend(label.bytes());
    }
    message.push(0);
    for word in [family.kind(), 1] {
        message.extend(word.to_be_bytes());
    }
    if extended {
        message.push(0); // the root
        for word in [OPT, PAYLOAD, 0, 0, 8, CLIENT_SUBNET, 4, family.number(), 0] {
            message.extend(word.to_be_bytes());
        }
    }
    Some(message)
}

fn word(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

/// Whether a message is an answer to the question of this number.
fn is_answer(message: &[u8], id: u16) -> bool {
    message.len() >= HEADER && word(message, 0) == Some(id) && message[2] & 0x80 != 0
}

/// Returns the place after a name, which may end in a pointer.
fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xc0 == 0xc0 => return Some(at + 2),
            length if length & 0xc0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

/// Returns the addresses in an answer, each once; the error is its code, and `FORMERR` for an answer that is cut.
fn addresses(message: &[u8], family: Family) -> Result<Vec<IpAddr>, u16> {
    match word(message, 2).ok_or(FORMERR)? & 0xf {
        0 => read(message, family).ok_or(FORMERR),
        code => Err(code),
    }
}

fn read(message: &[u8], family: Family) -> Option<Vec<IpAddr>> {
    let (questions, answers) = (word(message, 4)?, word(message, 6)?);
    let mut at = HEADER;
    for _ in 0..questions {
        at = after_name(message, at)? + 4;
    }
    let mut found = Vec::new();
    for _ in 0..answers {
        at = after_name(message, at)?;
        let (kind, class, length) = (word(message, at)?, word(message, at + 2)?, usize::from(word(message, at + 8)?));
        let data = message.get(at + 10..at + 10 + length)?;
        at += 10 + length;
        let ip = match (kind, class, family) {
            (1, 1, Family::V4) => <[u8; 4]>::try_from(data).ok().map(IpAddr::from),
            (28, 1, Family::V6) => <[u8; 16]>::try_from(data).ok().map(IpAddr::from),
            _ => None,
        };
        found.extend(ip.filter(|ip| !found.contains(ip)));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer with an alias and these addresses, whose names point to the question's.
    fn answer(question: &[u8], ips: &[IpAddr]) -> Vec<u8> {
        let end = after_name(question, HEADER).unwrap() + 4;
        let mut message = question[..end].to_vec();
        message[2..4].copy_from_slice(&0x8180_u16.to_be_bytes());
        message[6..8].copy_from_slice(&(1 + ips.len() as u16).to_be_bytes());
        message[10..12].copy_from_slice(&0_u16.to_be_bytes());
        message.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]);
        for ip in ips {
            let (kind, data) = match ip {
                IpAddr::V4(ip) => (1, ip.octets().to_vec()),
                IpAddr::V6(ip) => (28, ip.octets().to_vec()),
            };
            message.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 9, 0, data.len() as u8]);
            message.extend(data);
        }
        message
    }

    fn serve(reply: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if let Some(message) = reply(&buffer[..length]) {
                    let _ = socket.send_to(&message, from);
                }
            }
        });
        at
    }

    #[test]
    fn addresses_come_with_the_time_of_the_question() {
        let ips: Vec<IpAddr> = vec!["10.1.2.3".parse().unwrap(), "10.1.2.4".parse().unwrap()];
        let planted = ips.clone();
        let at = serve(move |question| {
            std::thread::sleep(Duration::from_millis(20));
            Some(answer(question, &planted))
        });
        let (found, ns) = Resolver::of(vec![at], Family::V4, 1).ask("a.example.org").unwrap();
        assert_eq!(found, ips);
        assert!((20_000_000..2_000_000_000).contains(&ns), "{ns}");
        assert_eq!(Resolver::of(vec![at], Family::V6, 1).ask("a.example.org").unwrap().0.len(), 0);
    }

    #[test]
    fn the_clients_subnet_is_withheld_and_a_server_without_edns_is_asked_again() {
        let question = question(7, "a.example.org.", Family::V4, true).unwrap();
        assert!(question.ends_with(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 8, 0, 8, 0, 4, 0, 1, 0, 0]), "{question:?}");
        let at = serve(|question| {
            let mut message = answer(question, &["10.1.2.3".parse().unwrap()]);
            if question[11] == 1 {
                message[3] |= FORMERR as u8;
            }
            Some(message)
        });
        let mut resolver = Resolver::of(vec![at], Family::V4, 1);
        assert_eq!(resolver.ask("a.example.org").unwrap().0.len(), 1);
        assert!(!resolver.extended);
    }

    #[test]
    fn what_a_resolver_refuses_is_a_reason() {
        let at = serve(|question| {
            let mut message = answer(question, &[]);
            message[3] |= NXDOMAIN as u8;
            Some(message)
        });
        let failure = Resolver::of(vec![at], Family::V4, 1).ask("a.example.org").unwrap_err();
        assert_eq!((failure.step, failure.reason.as_str()), (Step::Dns, "no such name"));
        let bad = Resolver::of(vec![at], Family::V4, 1).ask("a..org").unwrap_err();
        assert_eq!(bad.reason, "bad name");
        assert!(Resolver::new("nowhere", Family::V4, 1).is_err());
    }

    #[test]
    fn files_of_the_system_are_read() {
        let servers = system_servers("# a\nnameserver 10.0.0.1\noptions edns0\nnameserver ::1\nnameserver x\n");
        assert_eq!(servers, ["10.0.0.1:53".parse().unwrap(), "[::1]:53".parse().unwrap()]);
        let hosts = "127.0.0.1 localhost # here\n::1 localhost\n10.0.0.7\ta A.example.org\n";
        let of = |name, family| listed(hosts, name, family);
        assert_eq!(of("a.example.org", Family::V4), ["10.0.0.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(of("localhost", Family::V6), ["::1".parse::<IpAddr>().unwrap()]);
        assert_eq!(of("here", Family::V4).len(), 0);
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = is_answer(&bytes, 7);
            let _ = addresses(&bytes, Family::V4);
        }

        #[test]
        fn p28_a_changed_answer_never_panics(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let question = question(7, "a.example.org", Family::V6, true).unwrap();
            let mut message = answer(&question, &["::5".parse().unwrap()]);
            for (at, byte) in changes {
                let at = at.index(message.len());
                message[at] = byte;
            }
            message.truncate(cut.index(message.len() + 1));
            let _ = addresses(&message, Family::V6);
        }
    }
}
