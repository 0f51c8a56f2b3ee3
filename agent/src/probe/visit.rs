//! A URL fetched at a steady pace, one sample a request as it comes: what a watcher of a service needs.
//!
//! Each request has a look-up and a connection of its own. A request that fails, is answered by another status than
//! 2xx, or takes longer than `patience_s` is a note with its reason at once, and counts in the ratio at the end. The
//! pace is that of a plan: a slow answer does not move the requests after it, except those that it covers, which are
//! left out and counted. Does not measure phases, which `page` does.

use std::sync::Arc;

use super::page::{ENDS, FAMILY, PATIENCE, RESOLVER, VANTAGE, VERIFY, endpoint, serve, visitor};
use super::{Context, Kind, Metric, Param, Probe};
use crate::caps::{Caps, Item};
use crate::clock::{now_ns, seconds, wait_until};
use crate::fault::Fault;
use crate::targets::Role;
use crate::traffic_limiter::{Limiter, SENDER_DEPTH_S, Tolerance};

pub const PROBE: Probe = Probe {
    name: "visit",
    roles: ENDS,
    params: &[
        VANTAGE,
        Param { name: "count", default: "20", kind: Kind::Whole(1, 100_000) },
        Param { name: "interval_s", default: "1", kind: Kind::Seconds(0.0, 3600.0) },
        PATIENCE,
        RESOLVER,
        FAMILY,
        VERIFY,
    ],
    metrics: &[
        Metric { name: "visit_response_s", unit: "s", params: &["vantage"] },
        Metric { name: "visit_failed_ratio", unit: "ratio", params: &["vantage"] },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    match context.job.role {
        Role::Endpoint => serve(context),
        _ => watch(context),
    }
}

/// Requests the URL at its pace.
fn watch(context: &Context) -> Result<(), Fault> {
    let endpoint = endpoint(context)?;
    let mut visitor = visitor(context, &endpoint, "")?;
    let caps = Caps { burst_s: None, bytes_per_s: None, ..context.job.caps };
    let tolerance = Tolerance { held_s: f64::INFINITY, warm_s: Some(0.0), depth_s: SENDER_DEPTH_S };
    let limiter = Arc::new(Limiter::new(caps, Item { bytes: 1, packets: 0 }, tolerance));
    let spacing = (context.seconds("interval_s") * 1e9) as u64;
    let (mut came, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    let start = now_ns();
    for number in 0..context.whole("count").unwrap_or(1) {
        let due = start + number * spacing;
        if spacing > 0 && now_ns() > due + spacing {
            skipped += 1;
            continue;
        }
        limiter.take_operation(1).ok_or_else(|| limiter.refusal())?;
        let begun = wait_until(due);
        let t_s = seconds(begun - start);
        match visitor.visit() {
            Ok(page) => {
                came += 1;
                limiter.count_received(page.bytes).ok_or_else(|| limiter.refusal())?;
                limiter.used(page.bytes);
                context.sample("visit_response_s", t_s, seconds(page.whole))?;
            }
            Err(failure) => {
                failed += 1;
                context.out.note("failed", format!("{t_s:.6} {}: {}", failure.step.name(), failure.reason))?;
            }
        }
    }
    limiter.note(context.out)?;
    context.out.note("skipped", skipped)?;
    context.sample("visit_failed_ratio", seconds(now_ns() - start), failed as f64 / (came + failed).max(1) as f64)
}
