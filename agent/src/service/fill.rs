//! The data set before a trial: looked at first, and written where its last blob is missing.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use super::asker::{Asker, prepare_fault as fault};
use super::call::{Blob, Call};
use super::lane::Lane;
use super::load::runtime;
use super::outcome::{Done, Kind};
use crate::fault::Fault;

/// Uploads in flight.
const LANES: usize = 8;
/// A throttled upload is tried again this often, each time after twice as long a rest. Nothing here is measured.
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

/// Writes blobs in their order if the last one is not there yet; returns how many were written.
pub fn ensure(asker: Asker, blobs: Vec<Blob>) -> Result<usize, Fault> {
    let Some(last) = blobs.last().copied() else { return Ok(0) };
    if once(&asker, &Call::Exists(last))?.there {
        return Ok(0);
    }
    let (count, runtime) = (blobs.len(), runtime()?);
    let asker = Rc::new(asker);
    let written = LocalSet::new().block_on(&runtime, async {
        let (blobs, next) = (Rc::new(blobs), Rc::new(Cell::new(0)));
        let lane = |number| {
            let (asker, blobs, next) = (Rc::clone(&asker), Rc::clone(&blobs), Rc::clone(&next));
            tokio::task::spawn_local(async move {
                let mut lane = Lane::new(&asker.client, number);
                // All but the last, which says that all others are there.
                while next.get() + 1 < count {
                    let blob = blobs[next.replace(next.get() + 1)];
                    write(&asker, &mut lane, blob).await?;
                }
                Ok::<_, Fault>(())
            })
        };
        let lanes: Vec<_> = (0..LANES.min(count)).map(lane).collect();
        for lane in lanes {
            lane.await.unwrap_or_else(|_| Err(Fault::failed("the fill was stopped", "report this")))?;
        }
        write(&asker, &mut Lane::new(&asker.client, 0), last).await
    });
    written.map(|()| count)
}

async fn write(asker: &Asker, lane: &mut Lane, blob: Blob) -> Result<(), Fault> {
    let mut rest = REST;
    for attempt in 1.. {
        match asker.ask(lane, &Call::Upload(blob)).await?.result {
            Ok(_) => break,
            Err(failure) if failure.kind == Kind::Throttled && attempt < TRIES => tokio::time::sleep(rest).await,
            Err(failure) => return Err(fault(&failure)),
        }
        rest *= 2;
    }
    Ok(())
}
