//! STREAM triad, `a = b + 3 c`: bytes per second as McCalpin (1995) counts them, 24 per element.
//!
//! Non-temporal stores bypass the caches; a plain store first reads the line that it writes, which the count omits. A
//! worker walks its arrays from end to end, as STREAM does: the same walk on every machine and in every trial, even if
//! another walk would be faster. Does not measure latency, or caches as long as the arrays are four times as large as
//! the last-level cache.

use std::hint::black_box;

use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::fault::Fault;
use crate::host;
use crate::memory_map::{MemoryMap, Pages};
use crate::pace::{self, Work};

pub mod kernels;

use kernels::{GRANULE, Kernel, Part};

pub const PROBE: Probe = Probe {
    name: "stream",
    roles: SOLO,
    params: &[
        THREADS,
        DURATION,
        INTERVAL,
        Param { name: "array_bytes", default: "auto", kind: Kind::WholeOr(1 << 14, 1 << 44, "auto") },
        Param { name: "store", default: "nontemporal", kind: Kind::Choice(&["nontemporal", "plain"]) },
        Param { name: "kernel", default: "triad", kind: Kind::Choice(&["triad"]) },
    ],
    metrics: &[Metric { name: "triad_bytes_per_s", unit: "B/s", params: &["store", "threads"] }],
    run,
};

const AUTO_LIMIT_BYTES: u64 = 512 << 20;
/// Elements of a batch: well under a millisecond, far longer than a clock read.
const BATCH: usize = 1 << 18;
const WARM_SCALAR: f64 = 1.0;
const SCALAR: f64 = 3.0;

fn run(context: &Context) -> Result<(), Fault> {
    let (kernel, isa) = kernels::dispatch(context.text("store") == "nontemporal");
    let bytes = array_bytes(context)?;
    context.out.note("isa", isa)?;
    let threads = context.threads();
    let elements = bytes as usize / 8 / threads / GRANULE * GRANULE;
    if elements == 0 {
        return Err(Fault::failed("an array is too small to be shared out", "raise array_bytes or lower threads"));
    }
    let make = |_| Triad::new(kernel, elements);
    let emit = |t_s, rate| context.sample("triad_bytes_per_s", t_s, rate);
    let workers = pace::run(&context.pace(), make, emit)?;
    context.out.note("walks", 1)?;
    context.out.note("huge_bytes", workers.iter().map(|worker| worker.huge_bytes).sum::<u64>())
}

/// Returns the size of each array: as given, or large relative to the caches and small relative to the memory. Notes a
/// size that is too small.
fn array_bytes(context: &Context) -> Result<u64, Fault> {
    let cache = host::last_level_cache_bytes();
    let memory = host::memory_bytes().unwrap_or(u64::MAX);
    let auto = cache.map_or(AUTO_LIMIT_BYTES, |cache| cache * 4).min(memory / 10).min(AUTO_LIMIT_BYTES);
    let bytes = context.whole("array_bytes").unwrap_or(auto);
    if bytes.saturating_mul(3) > memory / 10 * 9 {
        return Err(Fault::failed(format!("three arrays of {bytes} B do not fit in memory"), "lower array_bytes"));
    }
    context.out.note("array_bytes", bytes)?;
    match cache {
        None => context.out.note("warning", "the size of the last-level cache is not known")?,
        Some(cache) if bytes < cache * 4 => {
            context.out.note("warning", "arrays smaller than four times the last-level cache: part of this is cache")?
        }
        Some(_) => {}
    }
    Ok(bytes)
}

pub struct Triad {
    kernel: Kernel,
    a: MemoryMap,
    b: MemoryMap,
    c: MemoryMap,
    elements: usize,
    /// Elements that this pass has processed.
    at: usize,
    wrapped: bool,
    huge_bytes: u64,
}

impl Triad {
    /// Maps the arrays, fills them (first touch, in this thread), and makes two warm passes.
    fn new(kernel: Kernel, elements: usize) -> Result<Triad, Fault> {
        // Whole numbers, so that their triad is exact, fused or not.
        let mut periods = [7, 5].into_iter();
        let mut triad = Triad::filled(kernel, elements, |values| fill(values, periods.next().unwrap_or(1)))?;
        // The first pass touches `a`.
        triad.pass();
        triad.pass();
        triad.wrapped = false;
        for region in [&triad.a, &triad.b, &triad.c] {
            triad.huge_bytes += region.huge_bytes()?;
        }
        Ok(triad)
    }

    /// Maps the arrays, and has both operands filled, first `b`.
    pub fn filled(kernel: Kernel, elements: usize, mut fill: impl FnMut(&mut [f64])) -> Result<Triad, Fault> {
        let map = || MemoryMap::new(elements * 8, Pages::Huge);
        let mut triad =
            Triad { kernel, a: map()?, b: map()?, c: map()?, elements, at: 0, wrapped: false, huge_bytes: 0 };
        fill(triad.b.as_f64());
        fill(triad.c.as_f64());
        Ok(triad)
    }

    /// Walks through the whole arrays once.
    fn pass(&mut self) {
        (self.at, self.wrapped) = (0, false);
        while !self.wrapped {
            self.step(WARM_SCALAR);
        }
    }

    /// Processes the next batch; returns the number of elements.
    #[inline]
    fn step(&mut self, scalar: f64) -> usize {
        let length = BATCH.min(self.elements - self.at);
        let part = Part {
            a: self.a.as_ptr().cast(),
            b: self.b.as_ptr().cast(),
            c: self.c.as_ptr().cast(),
            first: self.at,
            length,
        };
        unsafe { (self.kernel)(&part, black_box(scalar)) };
        self.at += length;
        if self.at == self.elements {
            self.at = 0;
            self.wrapped = true;
        }
        length
    }

    /// Checks the known answer: the elements that the run has passed hold `b + 3 c`, the others the warm pass's
    /// results.
    fn verify(&mut self) -> Result<(), Fault> {
        let done = if self.wrapped { self.elements } else { self.at };
        let (a, b, c) = (self.a.as_f64(), self.b.as_f64(), self.c.as_f64());
        let right = |mut range: std::ops::Range<usize>, scalar: f64| {
            let known = |i: usize| a[i] == b[i] + scalar * c[i];
            range.all(known)
        };
        if !right(0..done, SCALAR) || !right(done..self.elements, WARM_SCALAR) {
            return Err(Fault::invalid("the triad's result is wrong", "do not trust this memory, or report this"));
        }
        if b[self.elements - 1] != ((self.elements - 1) % 7 + 1) as f64 {
            return Err(Fault::invalid("an operand has changed", "do not trust this memory, or report this"));
        }
        Ok(())
    }
}

/// Fills with 1, 2 .. `period`, repeatedly: small whole numbers.
fn fill(values: &mut [f64], period: usize) {
    for group in values.chunks_mut(period) {
        for (i, value) in group.iter_mut().enumerate() {
            *value = (i + 1) as f64;
        }
    }
}

impl Work for Triad {
    fn batch(&mut self) -> Result<f64, Fault> {
        Ok((self.step(SCALAR) * 24) as f64)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.verify()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_triad() {
        for nontemporal in [true, false] {
            let mut triad = Triad::new(kernels::dispatch(nontemporal).0, GRANULE * 4 * 3).unwrap();
            triad.verify().unwrap();
            triad.batch().unwrap();
            triad.verify().unwrap();
            triad.a.as_f64()[GRANULE * 2] += 1.0;
            assert_eq!(triad.verify().unwrap_err().outcome.name(), "invalid");
        }
    }
}
