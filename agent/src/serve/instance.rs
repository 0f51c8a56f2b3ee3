//! What every answer says of the process that gave it: by this a client tells a new instance from a warm one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

use crate::fault::{Fault, OrFault};
use crate::host;
use crate::service::content::hex;

/// One process of the handler.
pub struct Instance {
    /// Drawn at the start: two processes never share it.
    id: String,
    started: Instant,
    /// Memory that the process may use, as the system says; `None` if it does not.
    memory_bytes: Option<u64>,
    begun: AtomicU64,
    present: AtomicU64,
}

/// A request from its arrival until its answer is made.
pub struct Visit {
    instance: Arc<Instance>,
    /// Requests that had begun before.
    before: u64,
    /// Requests in the process at the arrival, with this one.
    parallel: u64,
    arrived: Instant,
}

impl Instance {
    pub fn new(started: Instant) -> Result<Instance, Fault> {
        let mut id = [0_u8; 8];
        let got = unsafe { libc::getrandom(id.as_mut_ptr().cast(), id.len(), 0) };
        crate::fault::check(got as i64).or_fault("cannot draw a random number", "report this")?;
        let memory_bytes = function_memory_bytes().or_else(host::memory_bytes);
        Ok(Instance { id: hex(&id), started, memory_bytes, begun: AtomicU64::new(0), present: AtomicU64::new(0) })
    }

    /// Returns the number of requests so far.
    pub fn begun(&self) -> u64 {
        self.begun.load(SeqCst)
    }

    pub fn enter(self: &Arc<Instance>) -> Visit {
        Visit {
            instance: Arc::clone(self),
            before: self.begun.fetch_add(1, SeqCst),
            parallel: self.present.fetch_add(1, SeqCst) + 1,
            arrived: Instant::now(),
        }
    }
}

/// The memory that AWS Lambda gives a function, in MB of 2^20 B as it counts them.
fn function_memory_bytes() -> Option<u64> {
    let text = std::env::var("AWS_LAMBDA_FUNCTION_MEMORY_SIZE").ok()?;
    text.parse::<u64>().ok()?.checked_mul(1 << 20)
}

impl Visit {
    /// Returns the header fields that tell of the process; `took-s` is the time since the arrival.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let age_s = (self.arrived - self.instance.started).as_secs_f64();
        let mut fields = vec![
            ("cloudcmp-instance", self.instance.id.clone()),
            ("cloudcmp-age-s", format!("{age_s:.6}")),
            ("cloudcmp-took-s", format!("{:.6}", self.arrived.elapsed().as_secs_f64())),
            ("cloudcmp-first", u8::from(self.before == 0).to_string()),
            ("cloudcmp-before", self.before.to_string()),
            ("cloudcmp-parallel", self.parallel.to_string()),
        ];
        fields.extend(self.instance.memory_bytes.map(|bytes| ("cloudcmp-memory-bytes", bytes.to_string())));
        fields
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.instance.present.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(visit: &Visit, name: &str) -> String {
        visit.fields().into_iter().find(|(key, _)| *key == name).unwrap().1
    }

    #[test]
    fn only_one_request_is_the_first_and_those_that_left_are_not_counted() {
        let instance = Arc::new(Instance::new(Instant::now()).unwrap());
        let (first, second) = (instance.enter(), instance.enter());
        assert_eq!((field(&first, "cloudcmp-first"), field(&second, "cloudcmp-first")), ("1".into(), "0".into()));
        assert_eq!((field(&first, "cloudcmp-parallel"), field(&second, "cloudcmp-parallel")), ("1".into(), "2".into()));
        drop((first, second));
        let third = instance.enter();
        assert_eq!((field(&third, "cloudcmp-parallel"), field(&third, "cloudcmp-before")), ("1".into(), "2".into()));
        let other = Arc::new(Instance::new(Instant::now()).unwrap());
        assert_ne!(field(&third, "cloudcmp-instance"), field(&other.enter(), "cloudcmp-instance"));
    }
}
