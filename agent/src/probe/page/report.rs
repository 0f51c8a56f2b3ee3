//! What the pages of a trial add up to.

use std::collections::BTreeMap;

use super::*;
use crate::wan::kernel;

/// The times of all phases, the pages that failed, and what the last page said of its connection.
pub struct Times {
    dns: Recorder,
    rtt: Recorder,
    connect: Recorder,
    tls: Recorder,
    first_byte: Recorder,
    transfer: Recorder,
    whole: Recorder,
    lost: u64,
    failures: BTreeMap<String, u64>,
    first_dns: Option<u64>,
    last: Option<Page>,
    sent_again: u32,
    pub ended_s: f64,
    pub by_icmp: bool,
}

/// The reasons of failures that are told.
const MOST_REASONS: usize = 5;
const MOST_ADDRESSES: usize = 32;

impl Times {
    pub fn new() -> Times {
        let new = Recorder::new;
        Times {
            dns: new(),
            rtt: new(),
            connect: new(),
            tls: new(),
            first_byte: new(),
            transfer: new(),
            whole: new(),
            lost: 0,
            failures: BTreeMap::new(),
            first_dns: None,
            last: None,
            sent_again: 0,
            ended_s: 0.0,
            by_icmp: false,
        }
    }

    pub fn echo(&mut self, echo: std::io::Result<Option<u64>>) {
        match echo {
            Ok(Some(ns)) => self.rtt.record_ns(ns),
            _ => self.lost += 1,
        }
    }

    /// Adds a page; a fault if its phases take longer than itself, which no clock may say.
    pub fn page(&mut self, page: &Page) -> Result<(), Fault> {
        let phases = [page.dns.unwrap_or(0), page.connect, page.tls.unwrap_or(0), page.first_byte, page.transfer];
        if phases.iter().sum::<u64>() > page.whole {
            let what = format!("a page of {} ns had phases of {phases:?} ns", page.whole);
            return Err(Fault::invalid(what, "do not trust this machine's clocks, or report this"));
        }
        self.first_dns = self.first_dns.or(page.dns);
        page.dns.inspect(|&ns| self.dns.record_ns(ns));
        page.tls.inspect(|&ns| self.tls.record_ns(ns));
        self.connect.record_ns(page.connect);
        self.first_byte.record_ns(page.first_byte);
        self.transfer.record_ns(page.transfer);
        self.whole.record_ns(page.whole);
        self.sent_again += page.ended.map_or(0, |ended| ended.sent_again);
        self.last = Some(page.clone());
        Ok(())
    }

    pub fn failure(&mut self, failure: Failure) {
        *self.failures.entry(format!("{}: {}", failure.step.name(), failure.reason)).or_default() += 1;
    }

    /// Writes the histograms and notes; a fault if no page came.
    pub fn report(&self, context: &Context) -> Result<(), Fault> {
        let failed: u64 = self.failures.values().sum();
        context.out.note("pages", self.whole.len())?;
        context.out.note("pages_failed", failed)?;
        for (number, (reason, count)) in self.failures.iter().take(MOST_REASONS).enumerate() {
            context.out.note(&format!("failed_{}", number + 1), format!("{count} times {reason}"))?;
        }
        let Some(last) = &self.last else {
            let reason = self.failures.keys().next().map_or("no page was asked for", String::as_str);
            return Err(Fault::failed(format!("no page came: {reason}"), NEXT));
        };
        self.note_path(context, last)?;
        let rtt = if self.by_icmp { &self.rtt } else { &self.connect };
        let series = [
            ("wan_dns_s", &self.dns),
            ("wan_rtt_s", rtt),
            ("wan_connect_s", &self.connect),
            ("wan_tls_s", &self.tls),
            ("wan_first_byte_s", &self.first_byte),
            ("wan_transfer_s", &self.transfer),
            ("wan_page_s", &self.whole),
        ];
        for (metric, times) in series.into_iter().filter(|(_, times)| times.len() > 0) {
            context.hist(metric, self.ended_s, times)?;
        }
        context.sample("wan_failed_ratio", self.ended_s, failed as f64 / (failed + self.whole.len()) as f64)
    }

    /// Returns the addresses that the name led to, and those that the job knows, each once.
    pub fn addresses(&self, endpoint: &Endpoint) -> Vec<IpAddr> {
        let found = self.last.as_ref().map_or(&[][..], |last| &last.addresses);
        let mut all: Vec<IpAddr> = Vec::new();
        for ip in found.iter().chain(&endpoint.addresses) {
            if !all.contains(ip) {
                all.push(*ip);
            }
        }
        all
    }

    /// Notes the addresses, how the round trip was measured, and the two kernels' own words.
    fn note_path(&self, context: &Context, last: &Page) -> Result<(), Fault> {
        let out = context.out;
        let text: Vec<String> = last.addresses.iter().take(MOST_ADDRESSES).map(IpAddr::to_string).collect();
        out.note("addresses", text.join(" "))?;
        out.note("rtt_by", if self.by_icmp { "icmp" } else { "tcp connect" })?;
        out.note("echoes_lost", self.lost)?;
        out.note("sent_again", self.sent_again)?;
        if let Some(ns) = self.first_dns {
            out.note("first_dns_s", finite(seconds(ns)))?;
        }
        if let Some(began) = last.began {
            out.note("own_initial_window_segments", began.window_segments)?;
        }
        if let Some(ended) = last.ended {
            out.note("mss_bytes", ended.peer_mss)?;
            out.note("kernel_rtt_s", finite(f64::from(ended.smoothed_rtt_us) * 1e-6))?;
        }
        last.head.kernel.as_deref().map_or(Ok(()), |kernel| out.note("endpoint_kernel", kernel))
    }
}

/// Pings every address, and notes how many echoes came back from each, of how many, and their median.
pub fn note_addresses(context: &Context, addresses: &[IpAddr]) -> Result<(), Fault> {
    for (number, &ip) in addresses.iter().take(MOST_ADDRESSES).enumerate() {
        let mut times = Recorder::new();
        if let Ok(mut pinger) = Pinger::open(ip, ECHO_PATIENCE) {
            for _ in 0..EACH_ECHOES {
                if let Ok(Some(ns)) = pinger.ping() {
                    times.record_ns(ns);
                }
            }
        }
        let median = if times.len() > 0 { format!(" {:.9}", seconds(times.quantile_ns(0.5))) } else { String::new() };
        context.out.note(&format!("address_{}", number + 1), format!("{ip} {} {EACH_ECHOES}{median}", times.len()))?;
    }
    Ok(())
}

/// Notes this kernel's settings of TCP.
pub fn note_kernel(context: &Context) -> Result<(), Fault> {
    match kernel::settings() {
        serde_json::Value::Object(settings) => {
            settings.into_iter().try_for_each(|(name, value)| context.out.note(&format!("tcp_{name}"), value))
        }
        _ => Ok(()),
    }
}
