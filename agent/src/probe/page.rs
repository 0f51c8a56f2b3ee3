//! A page seen from a vantage point: the look-up of its name, a round trip, the connection, TLS, the first byte of the
//! answer and the rest of it, again and again, each time with a new look-up and a new connection.
//!
//! The round trip is an echo of ICMP before each page where this user may send one and the endpoint answers it, else
//! the time to connect; a note says which. Without a resolver between (the host is an address, or this machine's own
//! file lists it) there is no time of a look-up, and without TLS none of a handshake. A page that fails is counted, and
//! has no times. The other end is a URL, or an agent that serves bodies to this vantage point alone.
//!
//! Does not measure names that nobody has asked for lately: a resolver remembers the name after the first page, whose
//! look-up is a note of its own.

use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;

use super::{Context, Kind, Metric, Param, Probe};
use crate::caps::{Caps, Demand, Item};
use crate::clock::{now_ns, seconds, wait_until};
use crate::disturbance;
use crate::fault::{Fault, OrFault};
use crate::record::Recorder;
use crate::service::tls;
use crate::service::url::Url;
use crate::targets::{Link, Role};
use crate::traffic_limiter::{Limiter, RECEIVER_DEPTH_S, SENDER_DEPTH_S, Tolerance};
use crate::wan::dns::{self, Family, Resolver};
use crate::wan::endpoint::Endpoint;
use crate::wan::pages;
use crate::wan::ping::Pinger;
use crate::wan::trust;
use crate::wan::visit::{Failure, Lookup, Page, Visitor};
use crate::wire::finite;

mod report;

use report::Times;

pub const ENDS: &[Role] = &[Role::Vantage, Role::Endpoint];
const SIZED: &[&str] = &["resource", "size_bytes", "vantage"];
pub const PROBE: Probe = Probe {
    name: "page",
    roles: ENDS,
    params: &[
        VANTAGE,
        Param {
            name: "resource",
            default: "bytes",
            kind: Kind::ImpliedChoice(&["bytes", "url", "cpu", "disk", "2mb", "pixel"]),
        },
        Param { name: "size_bytes", default: "102400", kind: Kind::Whole(1, pages::MOST_BYTES) },
        Param { name: "count", default: "20", kind: Kind::Whole(1, 100_000) },
        INTERVAL,
        PATIENCE,
        RESOLVER,
        FAMILY,
        VERIFY,
        Param { name: "every_address", default: "no", kind: Kind::ImpliedChoice(&["no", "yes"]) },
    ],
    metrics: &[
        Metric { name: "wan_dns_s", unit: "s", params: &["vantage"] },
        Metric { name: "wan_rtt_s", unit: "s", params: &["vantage"] },
        Metric { name: "wan_connect_s", unit: "s", params: &["vantage"] },
        Metric { name: "wan_tls_s", unit: "s", params: &["vantage"] },
        Metric { name: "wan_first_byte_s", unit: "s", params: SIZED },
        Metric { name: "wan_transfer_s", unit: "s", params: SIZED },
        Metric { name: "wan_page_s", unit: "s", params: SIZED },
        Metric { name: "wan_failed_ratio", unit: "ratio", params: SIZED },
    ],
    run,
};

pub const VANTAGE: Param = Param { name: "vantage", default: "here", kind: Kind::Label };
pub const INTERVAL: Param = Param { name: "interval_s", default: "0", kind: Kind::Seconds(0.0, 3600.0) };
pub const PATIENCE: Param = Param { name: "patience_s", default: "10", kind: Kind::Seconds(0.1, 60.0) };
pub const RESOLVER: Param = Param { name: "resolver", default: "system", kind: Kind::ImpliedLabel };
pub const FAMILY: Param = Param { name: "family", default: "4", kind: Kind::ImpliedChoice(&["4", "6"]) };
pub const VERIFY: Param = Param { name: "verify", default: "yes", kind: Kind::ImpliedChoice(&["yes", "no"]) };

const NEXT: &str = "see that the endpoint runs, can be reached, and has such a page";
/// Request and answer without the body.
const HEADERS: u64 = 1024;
const ECHO_PATIENCE: Duration = Duration::from_secs(1);
/// Echoes before the first page that decide whether the endpoint answers any.
const FIRST_ECHOES: usize = 3;
/// Echoes to each address, where all are asked for.
const EACH_ECHOES: u64 = 5;

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Endpoint => serve(context),
        _ => measure(context),
    }
}

fn limiter(context: &Context, depth_s: f64) -> Result<Arc<Limiter>, Fault> {
    let (size, count) = (context.whole("size_bytes").unwrap_or(0), context.whole("count").unwrap_or(1));
    let item = Item { bytes: HEADERS + size, packets: 0 };
    // Every page is timed by itself: what holds the next one back spoils none.
    let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: Some(0.0), depth_s };
    let caps = Caps { burst_s: None, ..context.job.caps };
    caps.admit(item, Demand { items_per_s: None, items: Some(count as f64), burst_s: None })?;
    if let Some(most) = caps.operations.filter(|&most| count > most) {
        let what = format!("bad job: its parameters ask for {count} requests, and the cap is {most}");
        return Err(Fault::bad_job(what, "ask for fewer, or raise caps.operations"));
    }
    Ok(Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance)))
}

/// Serves bodies to the vantage point until the controller ends it.
pub fn serve(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, RECEIVER_DEPTH_S)?;
    let Link::Listens { at, admits } = context.job.link.agents() else {
        return Err(Fault::bad_job("bad job: listen is null", "say where to listen, and name who may come"));
    };
    let folder = pages::folder(context.secret()?);
    let listener =
        TcpListener::bind(at).or_fault(format!("cannot listen on {at}"), "name an address of this machine")?;
    context.out.ready(&listener.local_addr().or_fault("cannot read the address", NEXT)?.to_string())?;
    let served = pages::serve(&listener, admits, &folder, &limiter);
    limiter.note(context.out)?;
    served
}

/// Returns the endpoint of the job: its URL, or that of the agent that serves this vantage point.
pub fn endpoint(context: &Context) -> Result<Endpoint, Fault> {
    match &context.job.link {
        Link::Endpoint(endpoint) => Ok((**endpoint).clone()),
        Link::Connects { to, .. } => {
            let base = format!("/{}", pages::folder(context.secret()?));
            let url = Url { tls: false, host: to.ip().to_string(), port: to.port(), base };
            Ok(Endpoint { url, addresses: Vec::new(), ca: None })
        }
        _ => Err(Fault::bad_job("bad job: no target is an endpoint", "name its URL")),
    }
}

/// Prepares what fetches one resource of an endpoint.
pub fn visitor(context: &Context, endpoint: &Endpoint, resource: &str) -> Result<Visitor, Fault> {
    let url = &endpoint.url;
    let family = if context.text("family") == "6" { Family::V6 } else { Family::V4 };
    let lookup = lookup(context, url, family)?;
    let path = format!("{}{resource}", url.base);
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: cloudcmp-agent/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        if path.is_empty() { "/" } else { &path },
        url.authority(None),
        env!("CARGO_PKG_VERSION")
    );
    let patience = Duration::from_secs_f64(context.seconds("patience_s"));
    let mut visitor = Visitor::new(url.host.clone(), url.port, lookup, request.into_bytes(), patience);
    if url.tls {
        let config = match context.text("verify") {
            "no" => trust::anyone()?,
            _ => tls::config(endpoint.ca.as_deref(), false)?,
        };
        let name =
            ServerName::try_from(url.host.clone()).or_fault("the endpoint has no name for TLS", "name its host")?;
        visitor.tls = Some((config, name));
    }
    Ok(visitor)
}

fn lookup(context: &Context, url: &Url, family: Family) -> Result<Lookup, Fault> {
    if let Some(ip) = url.address() {
        return Ok(Lookup::Known(vec![ip]));
    }
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let known = dns::listed(&hosts, &url.host, family);
    if !known.is_empty() && context.text("resolver") == "system" {
        return Ok(Lookup::Known(known));
    }
    let resolver = Resolver::new(context.text("resolver"), family, context.job.seed);
    let resolver = resolver.map_err(|what| Fault::failed(what, "write resolver: and the ip of one"))?;
    context.out.note("resolver", resolver.servers())?;
    Ok(Lookup::Ask(Box::new(resolver)))
}

fn measure(context: &Context) -> Result<(), Fault> {
    let limiter = limiter(context, SENDER_DEPTH_S)?;
    let endpoint = endpoint(context)?;
    let size = context.whole("size_bytes").unwrap_or(0);
    let resource = match context.text("resource") {
        "bytes" => format!("/bytes/{size}"),
        "url" => String::new(),
        name => format!("/{name}"),
    };
    let mut visitor = visitor(context, &endpoint, &resource)?;
    visitor.length = (context.text("resource") == "bytes").then_some(size);
    report::note_kernel(context)?;
    disturbance::wait(context.out, &context.job.cpus[..1])?;
    crate::pin::to(&context.job.cpus[..1])?;
    let before = disturbance::counts(&context.job.cpus[..1]);
    let mut times = Times::new();
    let visited = visits(context, &mut visitor, &limiter, &mut times);
    disturbance::counts(&context.job.cpus[..1]).note_since(&before, context.out)?;
    limiter.note(context.out)?;
    visited?;
    times.report(context)?;
    if context.text("every_address") == "yes" {
        report::note_addresses(context, &times.addresses(&endpoint))
    } else {
        Ok(())
    }
}

/// Fetches the page as often as the job says, and pings its address before each.
fn visits(context: &Context, visitor: &mut Visitor, limiter: &Limiter, times: &mut Times) -> Result<(), Fault> {
    let spacing = (context.seconds("interval_s") * 1e9) as u64;
    let size = context.whole("size_bytes").unwrap_or(0);
    let mut echo = Echo::Unknown;
    let start = now_ns();
    for number in 0..context.whole("count").unwrap_or(1) {
        limiter.take_operation(HEADERS + size).ok_or_else(|| limiter.refusal())?;
        wait_until(start + number * spacing);
        if let Echo::Answers(pinger) = &mut echo {
            times.echo(pinger.ping());
        }
        match visitor.visit() {
            Ok(page) => {
                limiter.used(HEADERS + page.bytes);
                if matches!(echo, Echo::Unknown) {
                    echo = Echo::of(&page, times);
                }
                times.page(&page)?;
            }
            Err(failure) => times.failure(failure),
        }
    }
    times.ended_s = seconds(now_ns() - start);
    times.by_icmp = matches!(echo, Echo::Answers(_));
    Ok(())
}

/// Whether the address of the first page answers pings.
enum Echo {
    Unknown,
    Answers(Pinger),
    Silent,
}

impl Echo {
    /// Pings the address of the first page a few times; what comes back counts.
    fn of(page: &Page, times: &mut Times) -> Echo {
        let Some(Ok(mut pinger)) = page.addresses.first().map(|&ip| Pinger::open(ip, ECHO_PATIENCE)) else {
            return Echo::Silent;
        };
        for _ in 0..FIRST_ECHOES {
            if let Ok(Some(ns)) = pinger.ping() {
                times.echo(Ok(Some(ns)));
                return Echo::Answers(pinger);
            }
        }
        Echo::Silent
    }
}
