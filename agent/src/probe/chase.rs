//! Latency of a load that depends on the previous one: one random cycle through all cache lines of a given size.
//!
//! The cycle is Sattolo's (1986): it visits every line once per round, and no prefetcher can predict the next. `pages`
//! states whether address translation is included. Does not measure bandwidth, or several loads in flight.

use std::hint::black_box;

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::clock::now_ns;
use crate::fault::Fault;
use crate::memory_map::{HUGE_BYTES, MemoryMap, Pages};
use crate::pace::{self, Pace, Work};
use crate::rng::Rng;

pub const PROBE: Probe = Probe {
    name: "chase",
    roles: SOLO,
    params: &[
        Param { name: "size_bytes", default: "16384", kind: Kind::Whole(2 * LINE_BYTES as u64, MOST_BYTES) },
        Param { name: "pages", default: "base", kind: Kind::Choice(&["base", "huge"]) },
        Param { name: "duration_s", default: "0.5", kind: Kind::Seconds(0.001, 86_400.0) },
    ],
    metrics: &[Metric { name: "chase_latency_s", unit: "s", params: &["pages", "size_bytes"] }],
    run,
};

const LINE_BYTES: usize = 64;
/// Line numbers are stored in 32 bits.
const MOST_BYTES: u64 = (LINE_BYTES as u64) << 31;
/// Loads between two clock reads, before the worker knows their speed.
const FIRST_LOADS: usize = 4096;
const WARM_LOADS: usize = 1 << 20;
const CHECKED_LOADS: usize = 1 << 16;
const WARM_NS: u64 = 40_000_000;
/// The approximate duration of a batch, long enough to make the cost of a clock read negligible.
const BATCH_NS: u64 = 500_000;
/// The number of samples of a trial.
const SAMPLES: f64 = 20.0;

fn run(context: &Context) -> Result<(), Fault> {
    let bytes = context.whole("size_bytes").unwrap_or(0) as usize;
    let pages = if context.text("pages") == "huge" { Pages::Huge } else { Pages::Base };
    if crate::host::memory_bytes().is_some_and(|memory| bytes as u64 > memory / 10 * 9) {
        let what = format!("{bytes} B do not fit in this machine's memory");
        return Err(Fault::failed(what, "use a smaller size_bytes"));
    }
    let duration_s = context.seconds("duration_s");
    let pace = Pace {
        duration_s,
        interval_s: duration_s / SAMPLES,
        threads: 1,
        cpus: &context.job.cpus[..1],
        wait: true,
        out: context.out,
    };
    let make = |_| Chase::new(bytes, pages, context.job.seed);
    let mut samples = Vec::with_capacity(SAMPLES as usize + 1);
    let workers = pace::run(&pace, make, |t_s, rate| {
        samples.push((t_s, 1.0 / rate));
        Ok(())
    })?;
    for worker in &workers {
        worker.verify()?;
    }
    // Noted only after the chain is verified.
    context.out.note("lines", (bytes / LINE_BYTES) as u64)?;
    samples.into_iter().try_for_each(|(t_s, latency_s)| context.sample("chase_latency_s", t_s, latency_s))
}

struct Chase {
    region: MemoryMap,
    lines: usize,
    at: usize,
    loads: usize,
    huge_bytes: u64,
    pages: Pages,
}

impl Chase {
    fn new(bytes: usize, pages: Pages, seed: u64) -> Result<Chase, Fault> {
        // A huge page cannot be smaller; the chain uses its first bytes.
        let mapped = if pages == Pages::Huge { bytes.next_multiple_of(HUGE_BYTES) } else { bytes };
        let region = MemoryMap::new(mapped, pages)?;
        let lines = bytes / LINE_BYTES;
        let mut chase = Chase { region, lines, at: 0, loads: FIRST_LOADS, huge_bytes: 0, pages };
        chase.link(seed);
        chase.huge_bytes = chase.region.huge_bytes()?;
        let (start, mut loads) = (now_ns(), 0);
        while loads < WARM_LOADS.max(chase.lines) && now_ns() - start < WARM_NS {
            loads += chase.follow();
        }
        let load_ns = (now_ns() - start) as f64 / loads as f64;
        chase.loads = ((BATCH_NS as f64 / load_ns) as usize / 16 * 16).clamp(256, 1 << 24);
        Ok(chase)
    }

    /// Links the lines into one random cycle.
    ///
    /// Draws the cycle among indices, which are small enough for the caches, and then writes it once, in order.
    fn link(&mut self, seed: u64) {
        let mut rng = Rng::new(seed, 0);
        let mut next: Vec<u32> = (0..self.lines as u32).collect();
        for line in (1..self.lines).rev() {
            next.swap(line, rng.below(line as u64) as usize);
        }
        for (line, &next) in next.iter().enumerate() {
            *self.line(line) = self.address(next as usize);
        }
        self.at = self.address(0);
    }

    #[allow(clippy::mut_from_ref)] // one borrow at a time, of one word each
    fn line(&self, line: usize) -> &mut usize {
        debug_assert!(line < self.lines);
        unsafe { &mut *self.region.as_ptr().add(line * LINE_BYTES).cast() }
    }

    fn address(&self, line: usize) -> usize {
        self.region.as_ptr() as usize + line * LINE_BYTES
    }

    /// Follows the chain for one batch.
    #[inline]
    fn follow(&mut self) -> usize {
        let mut at = self.at as *const usize;
        for _ in 0..self.loads / 16 {
            for _ in 0..16 {
                at = unsafe { at.read_volatile() } as *const usize;
            }
        }
        self.at = black_box(at as usize);
        self.loads / 16 * 16
    }

    /// Checks the known answer: from any line, the chain returns after exactly as many loads as there are lines.
    fn verify(&self) -> Result<(), Fault> {
        let missing = self.region.len() as u64 - self.huge_bytes;
        if self.pages == Pages::Huge && missing > 0 {
            let what = format!("the kernel gave base pages for {missing} of {} B", self.region.len());
            return Err(Fault::failed(what, "allow transparent huge pages (madvise), free memory, or use pages=base"));
        }
        // Whole rounds of large chains take long; part of a round shows at least that the chain does not close early.
        let most = self.lines.min(CHECKED_LOADS);
        let (mut at, mut loads) = (self.address(0), 0);
        while loads < most {
            at = unsafe { (at as *const usize).read_volatile() };
            loads += 1;
            if at == self.address(0) {
                break;
            }
        }
        let closed = at == self.address(0);
        if closed == (self.lines <= CHECKED_LOADS) && loads == most {
            return Ok(());
        }
        Err(Fault::invalid("the pointer chain is not one cycle", "do not trust this memory, or report this"))
    }
}

impl Work for Chase {
    fn batch(&mut self) -> Result<f64, Fault> {
        Ok(self.follow() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_visits_every_line_once() {
        let mut chase = Chase::new(64 * 1000, Pages::Base, 7).unwrap();
        chase.verify().unwrap();
        *chase.line(5) = chase.address(5);
        assert!(chase.verify().is_err());
        chase.pages = Pages::Huge;
        assert_eq!(chase.verify().unwrap_err().outcome.name(), "failed");
    }
}
