//! The only table of probes. A new probe needs one file here, one line in `PROBES`, one doc section, one test.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::caps::{Demand, Item};
use crate::fault::Fault;
use crate::job::Job;
use crate::net::{self, AgentListener, Control, Mesh};
use crate::pace::Pace;
use crate::record::Recorder;
use crate::service::credential::Credential;
use crate::service::target::Service;
use crate::targets::{Link, Role};
use crate::traffic_limiter::{Limiter, Tolerance};
use crate::wire::Out;

mod barrier;
mod blob;
mod chase;
mod command;
mod connect;
mod consistency;
mod dbench;
mod disk;
mod exchange;
mod fma;
mod gaps;
mod gemm;
mod group;
mod int;
mod iozone;
mod load;
mod r#loop;
mod lu;
mod neighbour;
mod npb;
mod page;
mod peak;
mod pi;
mod postmark;
mod propagation;
mod queue;
mod rtt;
mod service_trial;
mod share;
mod stream;
mod table;
pub mod task;
mod tcp;
mod throttle;
mod traffic;
mod twolf;
mod udp;
pub mod unixbench;
mod visit;

/// All probes of the agent.
#[rustfmt::skip] // one line per probe, so that concurrent additions do not conflict
pub static PROBES: &[Probe] = &[
    fma::PROBE,
    int::PROBE,
    gemm::PROBE,
    lu::PROBE,
    npb::PROBE,
    peak::PROBE,
    pi::PROBE,
    r#loop::PROBE,
    task::PROBE,
    twolf::PROBE,
    unixbench::PROBE,
    stream::PROBE,
    chase::PROBE,
    gaps::PROBE,
    disk::PROBE,
    iozone::PROBE,
    dbench::PROBE,
    postmark::PROBE,
    tcp::PROBE,
    udp::PROBE,
    rtt::PROBE,
    connect::PROBE,
    throttle::PROBE,
    barrier::PROBE,
    exchange::PROBE,
    share::PROBE,
    command::PROBE,
    blob::PROBE,
    table::PROBE,
    load::PROBE,
    queue::PROBE,
    propagation::PROBE,
    consistency::PROBE,
    page::PROBE,
    visit::PROBE,
    neighbour::PROBE,
    traffic::PROBE,
];

/// One kind of measurement.
pub struct Probe {
    pub name: &'static str,
    pub roles: &'static [Role],
    pub params: &'static [Param],
    pub metrics: &'static [Metric],
    pub run: fn(&Context) -> Result<(), Fault>,
}

/// A parameter: its name, its default as text, and its allowed values.
pub struct Param {
    pub name: &'static str,
    pub default: &'static str,
    pub kind: Kind,
}

pub enum Kind {
    /// A whole number within these bounds.
    Whole(u64, u64),
    /// A whole number within these bounds, or this word.
    WholeOr(u64, u64, &'static str),
    /// The same, and a cell names it only if it is not the default.
    ImpliedWholeOr(u64, u64, &'static str),
    /// Seconds within these bounds.
    Seconds(f64, f64),
    /// `one`, `all`, or a number of threads.
    Threads,
    Choice(&'static [&'static str]),
    /// The same, and a cell names it only if it is not the default.
    ImpliedChoice(&'static [&'static str]),
    /// A short word that is only passed through.
    Label,
    /// A label that a cell names only if it is not the default.
    ImpliedLabel,
    /// Any text up to this many bytes, without NUL.
    Text(usize),
}

/// A measured quantity, and the parameters that identify its cell.
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub params: &'static [&'static str],
}

pub const SOLO: &[Role] = &[Role::Solo];
pub const PAIR: &[Role] = &[Role::Server, Role::Client];
pub const THREADS: Param = Param { name: "threads", default: "one", kind: Kind::Threads };
pub const DURATION: Param = Param { name: "duration_s", default: "1", kind: Kind::Seconds(0.001, 86_400.0) };
pub const INTERVAL: Param = Param { name: "interval_s", default: "1", kind: Kind::Seconds(0.001, 86_400.0) };
pub const PATH: Param = Param { name: "path", default: "loopback", kind: Kind::Label };
/// Seen from the first machine. Only the controller acts on it: it chooses who is the client, which sends.
pub const DIRECTION: Param = Param { name: "direction", default: "out", kind: Kind::ImpliedChoice(&["out", "in"]) };
const MAX_THREADS: u64 = 1024;
/// Labels of any job: the load of a neighbour beside this trial, and its threads. Cells name them if the job does.
const BESIDE: [&str; 2] = ["neighbour", "intensity"];

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::Whole(..) => "whole",
            Kind::WholeOr(..) | Kind::ImpliedWholeOr(..) => "whole_or_word",
            Kind::Seconds(..) => "seconds",
            Kind::Threads => "threads",
            Kind::Choice(_) | Kind::ImpliedChoice(_) => "choice",
            Kind::Label | Kind::ImpliedLabel => "label",
            Kind::Text(_) => "text",
        }
    }

    fn choices(&self) -> Vec<&'static str> {
        match self {
            Kind::Choice(choices) | Kind::ImpliedChoice(choices) => choices.to_vec(),
            Kind::Threads => vec!["one", "all"],
            Kind::WholeOr(_, _, word) | Kind::ImpliedWholeOr(_, _, word) => vec![word],
            _ => Vec::new(),
        }
    }

    fn accepts(&self, text: &str) -> bool {
        let whole = |low: u64, high: u64| text.parse().is_ok_and(|value: u64| (low..=high).contains(&value));
        match *self {
            Kind::Whole(low, high) => whole(low, high),
            Kind::WholeOr(low, high, word) | Kind::ImpliedWholeOr(low, high, word) => text == word || whole(low, high),
            Kind::Seconds(low, high) => text.parse().is_ok_and(|value: f64| value >= low && value <= high),
            Kind::Threads => text == "one" || text == "all" || whole(1, MAX_THREADS),
            Kind::Choice(choices) | Kind::ImpliedChoice(choices) => choices.contains(&text),
            Kind::Text(most) => text.len() <= most && !text.contains('\0'),
            Kind::Label | Kind::ImpliedLabel => {
                let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                !text.is_empty() && text.len() <= 64 && text.chars().all(word)
            }
        }
    }
}

/// Returns the table as the document of `--probes`.
pub fn table() -> Value {
    let param =
        |p: &Param| json!({"name": p.name, "default": p.default, "kind": p.kind.name(), "choices": p.kind.choices()});
    let metric = |m: &Metric| json!({"name": m.name, "unit": m.unit, "params": m.params});
    let probe = |p: &Probe| {
        let roles: Vec<&str> = p.roles.iter().map(|role| role.name()).collect();
        let params: Vec<Value> = p.params.iter().map(param).collect();
        let metrics: Vec<Value> = p.metrics.iter().map(metric).collect();
        json!({"name": p.name, "roles": roles, "params": params, "metrics": metrics})
    };
    json!({"version": env!("CARGO_PKG_VERSION"), "probes": PROBES.iter().map(probe).collect::<Vec<_>>()})
}

/// A checked job: every parameter is present and within its bounds.
pub struct Context<'a> {
    pub probe: &'static Probe,
    pub job: &'a Job,
    pub out: &'a Out,
    params: BTreeMap<&'static str, String>,
}

impl<'a> Context<'a> {
    pub fn new(job: &'a Job, out: &'a Out) -> Result<Context<'a>, Fault> {
        let Some(probe) = PROBES.iter().find(|probe| probe.name == job.probe) else {
            let names: Vec<&str> = PROBES.iter().map(|probe| probe.name).collect();
            let next = format!("use one of: {}", names.join(", "));
            return Err(Fault::bad_job(format!("bad job: unknown probe {:?}", job.probe), next));
        };
        if !probe.roles.contains(&job.role) {
            let what = format!("bad job: {} has no role {}", probe.name, job.role.name());
            return Err(Fault::bad_job(what, "see --probes for the roles"));
        }
        if let Link::Unmeasured(target) = &job.link {
            let article = if *target == Role::Endpoint { "an" } else { "a" };
            let what = format!("bad job: no probe of this agent measures {article} {}", target.name());
            return Err(Fault::bad_job(what, "name machines that run this agent"));
        }
        if job.link.service().is_some() != probe.roles.contains(&Role::Service) {
            let (probe, does) = (probe.name, if probe.roles.contains(&Role::Service) { "only a" } else { "no" });
            let what = format!("bad job: {probe} measures {does} service");
            return Err(Fault::bad_job(what, "see --probes for the roles"));
        }
        if matches!(job.link, Link::Shared(..)) && !probe.roles.contains(&Role::Server) {
            let what = format!("bad job: {} measures a service with one agent", probe.name);
            return Err(Fault::bad_job(what, "name the service alone"));
        }
        Ok(Context { probe, job, out, params: fill(probe, &job.params)? })
    }

    pub fn text(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// Returns a whole number; `None` if the parameter has the word of a `WholeOr` instead.
    pub fn whole(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }

    pub fn seconds(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }

    pub fn threads(&self) -> usize {
        match self.text("threads") {
            "all" => self.job.cpus.len(),
            number => number.parse().unwrap_or(1),
        }
    }

    /// Returns the pace of a probe with the parameters `duration_s`, `interval_s` and `threads`.
    pub fn pace(&self) -> Pace<'_> {
        let duration_s = self.seconds("duration_s");
        let interval_s = if self.params.contains_key("interval_s") { self.seconds("interval_s") } else { duration_s };
        Pace { duration_s, interval_s, threads: self.threads(), cpus: &self.job.cpus, wait: true, out: self.out }
    }

    /// Returns the limiter of a network probe; a fault if its parameters request more than the job's caps allow.
    pub fn limiter(&self, item: Item, demand: Demand, tolerance: Tolerance) -> Result<Arc<Limiter>, Fault> {
        self.job.caps.admit(item, demand)?;
        Ok(Arc::new(Limiter::new(self.job.caps, item, tolerance)))
    }

    pub fn sample(&self, metric: &str, t_s: f64, value: f64) -> Result<(), Fault> {
        self.sample_of(metric, &[], t_s, value)
    }

    /// Writes a sample of one of several cells of a metric; the parameters in `free` identify the cell and are not in
    /// the job.
    pub fn sample_of(&self, metric: &str, free: &[(&str, &str)], t_s: f64, value: f64) -> Result<(), Fault> {
        self.out.sample(metric, &self.cell(metric, free)?, t_s, value)
    }

    pub fn hist(&self, metric: &str, t_s: f64, recorder: &Recorder) -> Result<(), Fault> {
        self.out.hist(metric, &self.cell(metric, &[])?, t_s, &recorder.encode()?)
    }

    /// Returns the canonical parameters of one of the probe's metrics.
    fn cell(&self, metric: &str, free: &[(&str, &str)]) -> Result<Map<String, Value>, Fault> {
        let Some(known) = self.probe.metrics.iter().find(|known| known.name == metric) else {
            return Err(Fault::failed(format!("{metric} is not in the table"), "report this"));
        };
        let text = |name| free.iter().find(|(key, _)| *key == name).map_or_else(|| self.text(name), |(_, text)| text);
        let implied = |name: &str| {
            let param = self.probe.params.iter().find(|param| param.name == name);
            let kind = |param: &Param| {
                matches!(param.kind, Kind::ImpliedLabel | Kind::ImpliedWholeOr(..) | Kind::ImpliedChoice(_))
            };
            param.is_some_and(|param| kind(param) && text(param.name) == param.default)
        };
        let beside = BESIDE.iter().filter(|&&name| self.params.contains_key(name));
        let named = known.params.iter().chain(beside).filter(|&&name| !implied(name));
        Ok(named.map(|&name| (name.to_owned(), text(name).into())).collect())
    }

    /// Returns the service of the trial, and the credential that its target names.
    pub fn service(&self) -> Result<(&Service, Option<&Credential>), Fault> {
        let service = self.job.link.service();
        let service = service.ok_or_else(|| Fault::bad_job("bad job: no target is a service", "name one"))?;
        let name = service.credential_ref.as_deref();
        Ok((service, name.and_then(|name| self.job.credentials.get(name))))
    }

    pub fn dir(&self) -> Result<&Path, Fault> {
        let next = "name a directory on the disk to be measured";
        self.job.dir.as_deref().ok_or_else(|| Fault::bad_job("bad job: dir is null", next))
    }

    /// Opens the port of a listening agent, and announces its address.
    pub fn listen(&self) -> Result<AgentListener, Fault> {
        let Link::Listens { at, admits } = self.job.link.agents() else {
            return Err(Fault::bad_job("bad job: listen is null", "say where to listen, and name who may come"));
        };
        let listener = AgentListener::open(*at, admits.clone(), self.secret()?)?;
        self.out.ready(&listener.address()?.to_string())?;
        Ok(listener)
    }

    /// Connects to the server: a control connection and `count` data connections.
    pub fn connect(&self, count: u16) -> Result<(Control, Vec<TcpStream>), Fault> {
        net::connect(self.listener()?, self.secret()?, count)
    }

    /// Connects to the listening peer: a control and a data connection.
    pub fn join(&self) -> Result<(Control, TcpStream), Fault> {
        net::join(self.listener()?, self.secret()?)
    }

    /// Connects to all other joined agents of the group.
    pub fn meet(&self, control: &mut Control, data: TcpStream) -> Result<Mesh, Fault> {
        let Link::Connects { others, .. } = &self.job.link else {
            return Err(Fault::bad_job("bad job: no target listens", "name the address and port of one that does"));
        };
        net::meet(control, data, others, self.secret()?)
    }

    fn listener(&self) -> Result<SocketAddr, Fault> {
        match self.job.link.agents() {
            Link::Connects { to, .. } => Ok(*to),
            _ => Err(Fault::bad_job("bad job: no target listens", "name the address and port of one that does")),
        }
    }

    fn secret(&self) -> Result<&[u8; 32], Fault> {
        self.job.secret.as_ref().ok_or_else(|| Fault::bad_job("bad job: secret is null", "give one to a network probe"))
    }
}

/// Checks the given parameters, and adds the defaults of the others.
fn fill(probe: &'static Probe, given: &BTreeMap<String, String>) -> Result<BTreeMap<&'static str, String>, Fault> {
    let beside = |name: &str| BESIDE.iter().copied().find(|&label| label == name);
    let known = |name: &str| beside(name).is_some() || probe.params.iter().any(|param| param.name == name);
    if let Some(unknown) = given.keys().find(|name| !known(name)) {
        let what = format!("bad job: {} has no parameter {unknown:?}", probe.name);
        return Err(Fault::bad_job(what, "see --probes for the parameters"));
    }
    let mut params = BTreeMap::new();
    for param in probe.params {
        let text = given.get(param.name).map_or(param.default, String::as_str);
        if !param.kind.accepts(text) {
            let what = format!("bad job: {}.{} can not be {text:?}", probe.name, param.name);
            return Err(Fault::bad_job(what, "see --probes for what it may be"));
        }
        params.insert(param.name, text.to_owned());
    }
    for (name, text) in given {
        let Some(label) = beside(name) else { continue };
        if !Kind::Label.accepts(text) {
            return Err(Fault::bad_job(format!("bad job: {name} can not be {text:?}"), "name a load, or a number"));
        }
        params.insert(label, text.clone());
    }
    Ok(params)
}
