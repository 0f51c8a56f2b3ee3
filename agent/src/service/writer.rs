//! Who makes the changes that are watched: this agent, through a connection of its own, or another agent at its order.
//!
//! No clocks are compared. The other agent answers an order once the service has acknowledged the change, so the
//! acknowledgement comes before the answer's arrival, by at most the way of order and answer: the time from one to the
//! other minus the time that the other agent itself took. Delays that begin at the arrival are too short by at most
//! that way.

use std::time::Duration;

use serde_json::{Value, json};

use super::asker::Asker;
use super::call::Call;
use super::lane::Lane;
use super::outcome::{Failure, Kind, plain};
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault};
use crate::net::{Control, parse_fault};

/// Time beyond the patience of the other agent in which its answer must come.
const GRACE: Duration = Duration::from_secs(1);
const NEXT: &str = "see that both agents run, have the same version and can reach each other";

/// A change to be made, by its kind and its number; both agents derive the same operation from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub kind: String,
    /// The number of what the trial changes first, which no earlier trial has used.
    pub first: u64,
    pub n: u64,
}

impl Order {
    pub fn message(&self) -> Value {
        json!({"change": self.kind, "first": self.first, "n": self.n})
    }

    /// Parses an order of the peer; `None` for any other message.
    pub fn parse(message: &Value) -> Option<Order> {
        let (first, n) = (message.get("first")?.as_u64()?, message.get("n")?.as_u64()?);
        first.checked_add(n)?;
        Some(Order { kind: message.get("change")?.as_str()?.to_owned(), first, n })
    }
}

/// What came of a change: the time from which on it counts as made, ns.
pub type Made = Result<u64, Failure>;

/// Makes changes.
pub enum Writer {
    Own(Box<Lane>),
    Other(Other),
}

impl Writer {
    /// Makes a change. A fault ends the trial.
    pub async fn make(&mut self, asker: &Asker, order: &Order, call: &Call) -> Result<Made, Fault> {
        match self {
            Writer::Own(lane) => Ok(asker.ask(lane, call).await?.result.map(|_| now_ns())),
            Writer::Other(other) => other.make(order).await,
        }
    }

    /// Returns the connections that this agent has made to write.
    pub fn connections(&self) -> u64 {
        match self {
            Writer::Own(lane) => lane.connections,
            Writer::Other(_) => 0,
        }
    }

    pub fn other(self) -> Option<Other> {
        match self {
            Writer::Own(_) => None,
            Writer::Other(other) => Some(other),
        }
    }
}

/// Another agent that makes changes.
pub struct Other {
    /// None while a thread waits for an answer.
    control: Option<Control>,
    longest: Duration,
    pub orders: u64,
    pub failures: u64,
    /// The ways of the orders whose changes were made, ns.
    ways_ns: Vec<u64>,
}

impl Other {
    /// Creates a writer that may be silent for twice `silence_s`: while it connects, and while the service is silent.
    pub fn new(control: Control, silence_s: f64) -> Other {
        let longest = Duration::from_secs_f64(2.0 * silence_s) + GRACE;
        Other { control: Some(control), longest, orders: 0, failures: 0, ways_ns: Vec::new() }
    }

    async fn make(&mut self, order: &Order) -> Result<Made, Fault> {
        let lost = || Fault::failed("the connection to the writer is lost", NEXT);
        let (mut control, message, longest) = (self.control.take().ok_or_else(lost)?, order.message(), self.longest);
        self.orders += 1;
        // The event loop goes on meanwhile, and sees connections of the readers that the service closes.
        let asked = tokio::task::spawn_blocking(move || {
            let begin_ns = now_ns();
            let answer = exchange(&mut control, &message, longest);
            (control, begin_ns, now_ns(), answer)
        });
        let (control, begin_ns, end_ns, answer) = asked.await.or_fault("the wait for the writer was stopped", NEXT)?;
        self.control = Some(control);
        let made = read_answer(&answer?, end_ns - begin_ns)?;
        match &made {
            Ok(way_ns) => self.ways_ns.push(*way_ns),
            Err(_) => self.failures += 1,
        }
        Ok(made.map(|_| end_ns))
    }

    /// Returns the middle and the longest way of an order and its answer, ns; `None` if no change was made.
    pub fn ways_ns(&self) -> Option<(u64, u64)> {
        let mut ways_ns = self.ways_ns.clone();
        ways_ns.sort_unstable();
        Some((*ways_ns.get(ways_ns.len() / 2)?, *ways_ns.last()?))
    }

    /// Tells the writer that the trial is over, and waits until it has seen it.
    pub fn finish(mut self) -> Result<(), Fault> {
        let Some(control) = &mut self.control else { return Ok(()) };
        let answer = exchange(control, &json!({"done": true}), self.longest)?;
        parse_fault(&answer).map_or(Ok(()), Err)
    }

    /// Tells the writer why the trial ends; returns its reason if that is a reached cap, otherwise the given fault.
    pub fn blame(self, fault: Fault) -> Fault {
        match self.control {
            Some(mut control) => control.exchange_faults(fault),
            None => fault,
        }
    }
}

fn exchange(control: &mut Control, message: &Value, longest: Duration) -> Result<Value, Fault> {
    let mut answer = || {
        control.send(message)?;
        control.wait(longest, || true)?;
        control.set_timeout(longest)?;
        control.receive()
    };
    answer().map_err(|fault| Fault { what: format!("the writer does not answer: {}", fault.what), ..fault })
}

/// Reads an answer that came after some time, ns: the way of order and answer, or the failure of the change.
fn read_answer(answer: &Value, after_ns: u64) -> Result<Made, Fault> {
    if let Some(fault) = parse_fault(answer) {
        return Err(fault);
    }
    if let Some(took_ns) = answer.get("took_ns").and_then(Value::as_u64) {
        return Ok(Ok(after_ns.saturating_sub(took_ns)));
    }
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let kind = text("failed").and_then(|note| Kind::ALL.into_iter().find(|kind| kind.note() == note));
    match (kind, text("what")) {
        (Some(kind), Some(what)) => Ok(Err(Failure::new(kind, format!("the writer: {}", plain(what))))),
        _ => Err(Fault::failed("the writer answers something else", NEXT)),
    }
}

/// Returns the answer to an order: the time that the change took, ns, or how it failed.
pub fn answer(result: &Result<u64, Failure>) -> Value {
    match result {
        Ok(took_ns) => json!({"took_ns": took_ns}),
        Err(failure) => json!({"failed": failure.kind.note(), "what": plain(&failure.what)}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_and_answers_are_read_as_they_were_sent() {
        let order = Order { kind: "update".into(), first: 7, n: 3 };
        assert_eq!(Order::parse(&order.message()), Some(order));
        assert_eq!(read_answer(&answer(&Ok(40)), 100).unwrap(), Ok(60));
        assert_eq!(read_answer(&answer(&Ok(400)), 100).unwrap(), Ok(0));
        let failed = Failure::new(Kind::Throttled, "503 SlowDown");
        let read = read_answer(&answer(&Err(failed)), 100).unwrap().unwrap_err();
        assert_eq!((read.kind, read.what.as_str()), (Kind::Throttled, "the writer: 503 SlowDown"));
        assert!(read_answer(&json!({"fault": "full", "outcome": "aborted"}), 1).unwrap_err().what.contains("full"));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_messages_of_a_peer_never_panic(text in r#"\{("(change|first|n|took_ns|failed|what|fault)":("[a-z_]{0,12}"|-?[0-9]{1,20}|1e400|null),?){0,4}\}"#) {
            if let Ok(message) = serde_json::from_str::<Value>(&text) {
                let _ = read_answer(&message, 1);
                if let Some(order) = Order::parse(&message) {
                    prop_assert!(order.first.checked_add(order.n).is_some());
                }
            }
        }
    }
}
