//! What all probes of a group share: who is in it, its barrier, and how peers report times to the listening one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, Kind, Param};
use crate::fault::{Fault, OrFault};
use crate::net::{self, Control};
use crate::targets::Link;

pub const PEERS: Param = Param { name: "peers", default: "4", kind: Kind::Whole(2, 64) };
pub const NEXT: &str = "see that all peers run and can be reached";
/// The message of both directions, for all purposes: arrival, release, a request for the time, and its answer.
pub const TICK: [u8; 8] = *b"ccmp bar";
/// The number of times that fit into a control message.
const PIECE: usize = 128;
/// Longer than any deadline, because the last peer may arrive late.
const FOREVER: Duration = Duration::from_secs(30 * 86_400);

/// Returns the number of other peers if this agent listens, `None` if it joins.
pub fn others(context: &Context) -> Result<Option<usize>, Fault> {
    let Link::Listens { admits, .. } = &context.job.link else {
        return Ok(None);
    };
    if context.whole("peers") != Some(admits.len() as u64 + 1) {
        let what = format!("bad job: {} peers, and {} others are named", context.text("peers"), admits.len());
        return Err(Fault::bad_job(what, "name all peers but the one that listens"));
    }
    Ok(Some(admits.len()))
}

/// Waits for all other peers.
pub fn admit(context: &Context) -> Result<(Vec<Control>, Vec<TcpStream>), Fault> {
    Ok(context.listen()?.admit_group()?.into_iter().unzip())
}

/// Sends the peers what their jobs must have in common.
pub fn begin(controls: &mut [Control], common: &Value) -> Result<(), Fault> {
    controls.iter_mut().try_for_each(|control| control.send(&json!({"begin": common})))
}

/// Waits until the listening peer begins, however late; a fault if its job differs from this one.
pub fn await_begin(control: &mut Control, common: &Value) -> Result<(), Fault> {
    await_message(control)?;
    let word = control.receive()?;
    if let Some(fault) = net::parse_fault(&word) {
        return Err(fault);
    }
    if word.get("begin") != Some(common) {
        let fault = Fault::failed("the peers were asked for different rounds", "give all peers the same parameters");
        return Err(control.exchange_faults(fault));
    }
    Ok(())
}

/// Waits until the listening peer says something, however late.
pub fn await_message(control: &mut Control) -> Result<(), Fault> {
    control.wait(FOREVER, || true)
}

/// Returns a fault for all peers, or the cap that ended the trial for one of them.
pub fn exchange_faults(controls: &mut [Control], fault: Fault) -> Fault {
    controls.iter_mut().fold(fault, |fault, control| control.exchange_faults(fault))
}

/// Waits for the listening peer's last message.
pub fn await_end(control: &mut Control) -> Result<(), Fault> {
    control.receive().map(|message| net::parse_fault(&message))?.map_or(Ok(()), Err)
}

pub fn send(mut data: &TcpStream) -> Result<(), Fault> {
    data.write_all(&TICK).or_fault("a peer is gone", NEXT)
}

pub fn receive(mut data: &TcpStream) -> Result<(), Fault> {
    let mut tick = [0; TICK.len()];
    data.read_exact(&mut tick).or_fault("a peer is gone", NEXT)?;
    if tick == TICK { Ok(()) } else { Err(Fault::failed("a peer sends something else", NEXT)) }
}

/// Reports this peer's times to the listening one.
pub fn send_times(control: &mut Control, times: &[u64]) -> Result<(), Fault> {
    times.chunks(PIECE).try_for_each(|piece| control.send(&json!({"times": piece})))
}

/// Receives the `count` times that a peer reports, in order.
pub fn receive_times(control: &mut Control, count: usize) -> Result<Vec<u64>, Fault> {
    let mut times = Vec::new();
    while times.len() < count {
        let message = control.receive()?;
        if let Some(fault) = net::parse_fault(&message) {
            return Err(fault);
        }
        let piece = message.get("times").and_then(Value::as_array).filter(|piece| !piece.is_empty());
        let piece = piece.and_then(|piece| piece.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
        times.extend(piece.ok_or_else(|| Fault::failed("a peer told no times", "run the same agent on all sides"))?);
    }
    times.truncate(count);
    Ok(times)
}
