//! The data set before a trial: looked at first, and written where its last blob is missing.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::LocalSet;

use super::call::{Blob, Call};
use super::client::Client;
use super::lane::{Lane, Patience};
use super::load::runtime;
use super::outcome::{Done, Failure, Kind};
use crate::fault::Fault;
use crate::traffic_limiter::Limiter;

/// Uploads in flight.
const LANES: usize = 8;
/// A throttled upload is tried again this often, each time after twice as long a rest. Nothing here is measured.
const TRIES: u32 = 6;
const REST: Duration = Duration::from_millis(100);

/// Operations outside the measured phase, one after the other or a few at once.
pub struct Fill {
    pub client: Arc<Client>,
    pub limiter: Arc<Limiter>,
    /// The longest time without a byte of an answer.
    pub silence_s: f64,
}

impl Fill {
    /// Performs one call on a new connection.
    pub fn once(&self, call: &Call) -> Result<Done, Fault> {
        let runtime = runtime()?;
        let result = LocalSet::new().block_on(&runtime, async {
            let mut lane = Lane::new(&self.client, 0);
            self.perform(&mut lane, call).await
        });
        result?.map_err(|failure| fault(&failure))
    }

    /// Writes blobs in their order if the last one is not there yet; returns how many were written.
    pub fn ensure(self, blobs: Vec<Blob>) -> Result<usize, Fault> {
        let Some(last) = blobs.last().copied() else { return Ok(0) };
        if self.once(&Call::Exists(last))?.there {
            return Ok(0);
        }
        let (count, runtime) = (blobs.len(), runtime()?);
        let fill = Rc::new(self);
        let written = LocalSet::new().block_on(&runtime, async {
            let (blobs, next) = (Rc::new(blobs), Rc::new(Cell::new(0)));
            let lane = |number| {
                let (fill, blobs, next) = (Rc::clone(&fill), Rc::clone(&blobs), Rc::clone(&next));
                tokio::task::spawn_local(async move {
                    let mut lane = Lane::new(&fill.client, number);
                    // All but the last, which says that all others are there.
                    while next.get() + 1 < count {
                        let blob = blobs[next.replace(next.get() + 1)];
                        fill.write(&mut lane, blob).await?;
                    }
                    Ok::<_, Fault>(())
                })
            };
            let lanes: Vec<_> = (0..LANES.min(count)).map(lane).collect();
            for lane in lanes {
                lane.await.unwrap_or_else(|_| Err(Fault::failed("the fill was stopped", "report this")))?;
            }
            fill.write(&mut Lane::new(&fill.client, 0), last).await
        });
        written.map(|()| count)
    }

    async fn write(&self, lane: &mut Lane, blob: Blob) -> Result<(), Fault> {
        let mut rest = REST;
        for attempt in 1.. {
            match self.perform(lane, &Call::Upload(blob)).await? {
                Ok(_) => break,
                Err(failure) if failure.kind == Kind::Throttled && attempt < TRIES => tokio::time::sleep(rest).await,
                Err(failure) => return Err(fault(&failure)),
            }
            rest *= 2;
        }
        Ok(())
    }

    async fn perform(&self, lane: &mut Lane, call: &Call) -> Result<Result<Done, Failure>, Fault> {
        self.limiter.take_operation(call.bytes()).ok_or_else(|| self.limiter.refusal())?;
        let request = self.client.protocol.request(call, SystemTime::now())?;
        let patience = Patience { silence_ns: (self.silence_s * 1e9) as u64, until_ns: u64::MAX };
        if let Err(failure) = lane.ready(patience).await {
            return Ok(Err(failure));
        }
        let performed = lane.perform(call, request, false, patience).await;
        if let Ok(done) = &performed.result {
            self.limiter.used(done.bytes);
        }
        if performed.result.is_err() {
            lane.close();
        }
        Ok(performed.result)
    }
}

/// Returns the fault of a trial that could not be prepared.
fn fault(failure: &Failure) -> Fault {
    Fault::failed(format!("the service could not be prepared: {}", failure.what), failure.kind.advice())
}
