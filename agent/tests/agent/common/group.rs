//! Groups of agents: the first one listens, the others join it.

use serde_json::{Value, json};

use super::{Agent, SECRET, Space, Stream, job, listening};

/// Returns the job of the listening peer for `others` other peers on this machine.
pub fn first(probe: &str, others: usize, params: &[(&str, &str)]) -> Value {
    listening(job(probe, params), "peer", "127.0.0.1:0", ("peer", &vec!["127.0.0.1"; others]))
}

/// Returns the job of a peer that joins the one at `address` beside `others` more peers on this machine.
pub fn other(probe: &str, address: &str, others: usize, params: &[(&str, &str)]) -> Value {
    let mut job = job(probe, params);
    (job["role"], job["secret"]) = ("peer".into(), SECRET.into());
    let more = (0..others).map(|_| "127.0.0.1");
    job["targets"] = [address].into_iter().chain(more).map(|at| json!({"role": "peer", "address": at})).collect();
    job
}

/// Starts a group, each job with additions: the first agent has announced its address; the others have begun.
pub fn start(probe: &str, count: usize, params: &[(&str, &str)], more: &Value) -> (Agent, Vec<Agent>, String) {
    let with = |mut job: Value| {
        more.as_object().unwrap().iter().for_each(|(key, value)| job[key] = value.clone());
        job
    };
    let mut lead = Agent::run(&with(first(probe, count - 1, params)));
    assert_eq!(lead.frame()["type"], "hello");
    let address = lead.frame()["addr"].as_str().unwrap().to_owned();
    let others = (1..count).map(|_| Agent::run(&with(other(probe, &address, count - 2, params)))).collect();
    (lead, others, address)
}

pub fn end(lead: Agent, others: Vec<Agent>) -> (Stream, Vec<Stream>) {
    let others = others.into_iter().map(|agent| agent.end().1).collect();
    (lead.end().1, others)
}

/// Namespaces on one network, with an address each; one more holds the bridge between them.
pub struct Network {
    pub spaces: Vec<Space>,
    _bridge: Space,
}

impl Network {
    /// Creates `count` namespaces 10.7.0.1, 10.7.0.2 and so on; prints the reason and returns `None` if it cannot.
    pub fn new(count: usize) -> Option<Network> {
        let bridge = Space::new("ip link add name bridge0 type bridge && ip link set dev bridge0 up")?;
        let space = |i| bridge.bridged("bridge0", &format!("v{i}"), &format!("10.7.0.{i}"));
        let spaces = (1..=count).map(space).collect::<Option<Vec<Space>>>()?;
        Some(Network { spaces, _bridge: bridge })
    }

    /// Runs a group with one agent in each namespace.
    pub fn run(&self, probe: &str, params: &[(&str, &str)], more: &Value) -> (Stream, Vec<Stream>) {
        let (lead, others) = self.start(probe, params, more);
        end(lead, others)
    }

    pub fn start(&self, probe: &str, params: &[(&str, &str)], more: &Value) -> (Agent, Vec<Agent>) {
        let ip = |i: usize| format!("10.7.0.{}", i + 1);
        let count = self.spaces.len();
        let line = |mut job: Value| {
            more.as_object().unwrap().iter().for_each(|(key, value)| job[key] = value.clone());
            format!("{job}\n").into_bytes()
        };
        let peers: Vec<String> = (1..count).map(ip).collect();
        let peers: Vec<&str> = peers.iter().map(String::as_str).collect();
        let own = line(listening(job(probe, params), "peer", &format!("{}:0", ip(0)), ("peer", &peers)));
        let mut lead = Agent::start_by(self.spaces[0].enter(), &own);
        assert_eq!(lead.frame()["type"], "hello");
        let address = lead.frame()["addr"].as_str().unwrap().to_owned();
        let others = (1..count).map(|i| {
            let mut job = other(probe, &address, 0, params);
            let named = (1..count).filter(|&j| j != i).map(|j| json!({"role": "peer", "address": ip(j)}));
            job["targets"].as_array_mut().unwrap().extend(named);
            Agent::start_by(self.spaces[i].enter(), &line(job))
        });
        let others = others.collect();
        (lead, others)
    }
}
