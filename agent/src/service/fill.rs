//! The data set before a trial: looked at first, and written where its last entry is missing.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::asker::{Asker, prepare_fault as fault};
use super::call::Call;
use super::lane::Lane;
use super::load::runtime;
use super::outcome::{Done, Failure, Kind};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;

/// Writes in flight.
const LANES: usize = 8;
/// A throttled write is tried again this often, each time after twice as long a rest. Nothing here is measured.
const TRIES: u32 = 6;
const REST: Duration = Duration::from_millis(100);

/// Performs one call on a new connection.
pub fn once(asker: &Asker, call: &Call) -> Result<Done, Fault> {
    let runtime = runtime()?;
    let performed = LocalSet::new().block_on(&runtime, async {
        let mut lane = Lane::new(&asker.client, 0);
        asker.ask(&mut lane, call).await
    });
    performed?.result.map_err(|failure| fault(&failure))
}

/// Performs writes in their order if what the last one writes is not there yet, as `look` says; returns how many.
pub fn ensure(asker: Asker, look: &Call, writes: Vec<Call>) -> Result<usize, Fault> {
    if once(&asker, look)?.there {
        return Ok(0);
    }
    write(asker, writes)
}

/// Performs writes, some at a time, and the last one when all others are done; returns how many.
pub fn write(asker: Asker, mut writes: Vec<Call>) -> Result<usize, Fault> {
    let count = writes.len();
    let Some(last) = writes.pop() else { return Ok(0) };
    let (runtime, asker) = (runtime()?, Rc::new(asker));
    let written = LocalSet::new().block_on(&runtime, async {
        let (writes, next) = (Rc::new(writes), Rc::new(Cell::new(0)));
        let lane = |number| {
            let (asker, writes, next) = (Rc::clone(&asker), Rc::clone(&writes), Rc::clone(&next));
            tokio::task::spawn_local(async move {
                let mut lane = Lane::new(&asker.client, number);
                while let Some(call) = writes.get(next.replace(next.get() + 1)) {
                    persist(&asker, &mut lane, call).await?;
                }
                Ok::<_, Fault>(())
            })
        };
        let lanes: Vec<_> = (0..LANES.min(count)).map(lane).collect();
        for lane in lanes {
            lane.await.unwrap_or_else(|_| Err(Fault::failed("the fill was stopped", "report this")))?;
        }
        // It says that all others are there.
        persist(&asker, &mut Lane::new(&asker.client, 0), &last).await
    });
    written.map(|()| count)
}

/// Performs a write until the service does not throttle it.
async fn persist(asker: &Asker, lane: &mut Lane, call: &Call) -> Result<(), Fault> {
    let mut rest = REST;
    for attempt in 1.. {
        let failure = match asker.ask(lane, call).await?.result {
            Ok(done) if done.unwritten == 0 => return Ok(()),
            Ok(done) => Failure::new(Kind::Throttled, format!("{} rows of a batch were not written", done.unwritten)),
            Err(failure) => failure,
        };
        if failure.kind != Kind::Throttled || attempt == TRIES {
            return Err(fault(&failure));
        }
        tokio::time::sleep(rest).await;
        rest *= 2;
    }
    Ok(())
}

/// How often each read must be right in a row.
const RIGHT_READS: u32 = 3;

/// Repeats reads until all are right some times in a row, or for some seconds; returns whether they were.
pub fn settle(asker: &Asker, reads: &[Call], most_s: f64) -> Result<bool, Fault> {
    let (runtime, start_ns) = (runtime()?, now_ns());
    LocalSet::new().block_on(&runtime, async {
        let (mut lane, mut right) = (Lane::new(&asker.client, 0), 0);
        while right < RIGHT_READS {
            if seconds(now_ns() - start_ns) > most_s {
                return Ok(false);
            }
            right += 1;
            for read in reads {
                let performed = asker.ask(&mut lane, read).await?;
                if !performed.result.is_ok_and(|done| done.there) {
                    right = 0;
                    tokio::time::sleep(REST / 10).await;
                }
            }
        }
        Ok(true)
    })
}
