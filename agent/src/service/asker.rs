//! Operations one at a time, outside a load.

use std::sync::Arc;
use std::time::SystemTime;

use super::call::Call;
use super::client::Client;
use super::lane::{Lane, Patience, Performed};
use super::outcome::Failure;
use crate::clock::now_ns;
use crate::fault::Fault;
use crate::traffic_limiter::Limiter;

/// Asks a service, within the caps of the trial.
pub struct Asker {
    pub client: Arc<Client>,
    pub limiter: Arc<Limiter>,
    /// The longest time without a byte of an answer.
    pub silence_s: f64,
}

impl Asker {
    /// Performs one call on a lane, connecting it if necessary. A fault ends the trial: a cap, or a missing key.
    pub async fn ask(&self, lane: &mut Lane, call: &Call) -> Result<Performed, Fault> {
        self.limiter.take_operation(call.bytes()).ok_or_else(|| self.limiter.refusal())?;
        let request = self.client.protocol.request(call, SystemTime::now())?;
        let patience = Patience { silence_ns: (self.silence_s * 1e9) as u64, until_ns: u64::MAX };
        if let Err(failure) = lane.ready(patience).await {
            let now = now_ns();
            return Ok(Performed { result: Err(failure), first_ns: now, last_ns: now });
        }
        let performed = lane.perform(call, request, false, patience).await;
        if let Ok(done) = &performed.result {
            self.limiter.used(done.bytes);
        }
        Ok(performed)
    }
}

/// Returns the fault of a trial that could not be prepared.
pub fn prepare_fault(failure: &Failure) -> Fault {
    Fault::failed(format!("the service could not be prepared: {}", failure.what), failure.kind.advice())
}
