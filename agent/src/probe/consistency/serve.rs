//! The writer: makes a change whenever the reader orders one, and answers once the service has acknowledged it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::LocalSet;

use super::changes::{change, message};
use super::{Context, MOST_ROUNDS};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control, parse_fault};
use crate::service::asker::Asker;
use crate::service::call::Call;
use crate::service::lane::Lane;
use crate::service::load::runtime;
use crate::service::outcome::Kind as Failed;
use crate::service::writer::{Order, answer};

const NEXT: &str = "run the same agent on both machines";

/// Operations of the writer, and its failures by their kind.
#[derive(Default)]
struct Counts {
    operations: u64,
    failed: [u64; Failed::ALL.len()],
}

pub fn run(context: &Context, asker: Asker) -> Result<(), Fault> {
    let (control, _) = context.listen()?.admit_client(0)?;
    let (runtime, limiter) = (runtime()?, asker.limiter.clone());
    let mut counts = Counts::default();
    let (control, ended) = LocalSet::new().block_on(&runtime, obey(context, &asker, control, &mut counts));
    limiter.note(context.out)?;
    context.out.note("operations", counts.operations)?;
    for kind in Failed::ALL {
        context.out.note(kind.note(), counts.failed[kind as usize])?;
    }
    let Some(mut control) = control else { return ended };
    ended.map_err(|fault| control.exchange_faults(limiter.blame(fault)))?;
    control.send(&json!({"done": true}))
}

/// Makes what the reader orders until it says that it has finished; also returns the connection to it.
async fn obey(
    context: &Context<'_>,
    asker: &Asker,
    control: Control,
    counts: &mut Counts,
) -> (Option<Control>, Result<(), Fault>) {
    let mut lane = Lane::new(&asker.client, 0);
    let longest = net::IDLE + Duration::from_secs_f64(context.seconds("duration_s"));
    let mut kept = Some(control);
    while let Some(mut control) = kept.take() {
        // The event loop goes on meanwhile, and sees when the service closes the connection.
        let heard = tokio::task::spawn_blocking(move || {
            let heard = control.wait(longest, || true).and_then(|()| control.receive());
            (control, heard)
        });
        let (mut control, heard) = match heard.await.or_fault("the wait for the reader was stopped", "report this") {
            Ok(heard) => heard,
            Err(fault) => return (None, Err(fault)),
        };
        let call = match heard.and_then(|message| call_of(context, &message)) {
            Ok(Some(call)) if counts.operations < 2 * MOST_ROUNDS as u64 => call,
            Ok(Some(_)) => return (Some(control), Err(Fault::failed("the reader orders too many changes", NEXT))),
            Ok(None) => return (Some(control), Ok(())),
            Err(fault) => return (Some(control), Err(fault)),
        };
        counts.operations += 1;
        let begin_ns = now_ns();
        let performed = match asker.ask(&mut lane, &call).await {
            Ok(performed) => performed,
            Err(fault) => return (Some(control), Err(fault)),
        };
        if let Err(failure) = &performed.result {
            counts.failed[failure.kind as usize] += 1;
        }
        let result = performed.result.map(|_| now_ns() - begin_ns);
        if let Err(fault) = control.send(&answer(&result)) {
            return (None, Err(fault));
        }
        kept = Some(control);
    }
    (None, Ok(()))
}

/// Returns the operation that the reader orders, `None` if it has finished.
fn call_of(context: &Context, heard: &Value) -> Result<Option<Call>, Fault> {
    if let Some(fault) = parse_fault(heard) {
        return Err(fault);
    }
    if heard["done"] == true {
        return Ok(None);
    }
    let order = Order::parse(heard).filter(|order| ["write", context.text("change")].contains(&order.kind.as_str()));
    let order = order.ok_or_else(|| Fault::failed("the reader orders something else", NEXT))?;
    Ok(Some(match context.text("service") {
        "queue" => Call::Send(message(&order)),
        of => change(of, order, context.text("read") == "strong").change,
    }))
}
