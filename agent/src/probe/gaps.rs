//! Gaps in a loop that only reads the clock: the time that a processor was not there for its thread.
//!
//! Between two reads of the clock nothing happens, so what is longer than `least_s` was taken: by another thread, an
//! interrupt, the kernel, or the hypervisor, which gave the processor to another guest (Delgado, 2010, section 3.5.1, who
//! printed the clock in a loop and looked for gaps). It starts at once and does not wait for a quiet machine. Does not
//! measure who took the time, except for the note `steal_s`, which the hypervisor reports; nor does it see a slower clock.

use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;
use crate::pace::{self, Pace, Work};
use crate::record::Recorder;

const CELL: &[&str] = &["least_s", "threads"];

pub const PROBE: Probe = Probe {
    name: "gaps",
    roles: SOLO,
    params: &[
        THREADS,
        DURATION,
        INTERVAL,
        Param { name: "least_s", default: "0.00002", kind: Kind::Seconds(0.000_001, 1.0) },
    ],
    metrics: &[
        Metric { name: "gap_ratio", unit: "ratio", params: CELL },
        Metric { name: "gap_s", unit: "s", params: CELL },
    ],
    run,
};

/// Clock reads of a batch: about 0.1 ms.
const READS: usize = 4096;

fn run(context: &Context) -> Result<(), Fault> {
    let least_ns = (context.seconds("least_s") * 1e9) as u64;
    let pace = Pace { wait: false, ..context.pace() };
    let threads = pace.threads as f64;
    let mut t_end = 0.0;
    let make = |_| Ok(Reader { least_ns, last_ns: None, gaps: Recorder::new(), longest_ns: 0 });
    let readers = pace::run(&pace, make, |t_s, lost_ns_per_s| {
        t_end = t_s;
        context.sample("gap_ratio", t_s, lost_ns_per_s * 1e-9 / threads)
    })?;
    let mut all = Recorder::new();
    readers.iter().for_each(|reader| all.add(&reader.gaps));
    context.out.note("gaps", all.len())?;
    let longest_ns = readers.iter().map(|reader| reader.longest_ns).max().unwrap_or(0);
    context.out.note("longest_gap_s", seconds(longest_ns))?;
    if all.len() == 0 { Ok(()) } else { context.hist("gap_s", t_end, &all) }
}

/// One thread that reads the clock.
struct Reader {
    least_ns: u64,
    last_ns: Option<u64>,
    gaps: Recorder,
    longest_ns: u64,
}

impl Reader {
    /// Takes the next reading; returns the time since the last one if that is a gap, else 0.
    #[inline]
    fn take(&mut self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(self.last_ns.replace(now_ns).unwrap_or(now_ns));
        if since_ns < self.least_ns {
            return 0;
        }
        self.gaps.record_ns(since_ns);
        self.longest_ns = self.longest_ns.max(since_ns);
        since_ns
    }
}

impl Work for Reader {
    fn batch(&mut self) -> Result<f64, Fault> {
        Ok((0..READS).map(|_| self.take(now_ns())).sum::<u64>() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_gaps_are_counted_with_their_lengths_and_shorter_ones_are_none() {
        let mut reader = Reader { least_ns: 1000, last_ns: None, gaps: Recorder::new(), longest_ns: 0 };
        let times = [5_000, 5_100, 6_099, 7_099, 7_200, 57_200, 57_300];
        let lost: u64 = times.iter().map(|&now| reader.take(now)).sum();
        assert_eq!((lost, reader.gaps.len(), reader.longest_ns), (51_000, 2, 50_000));
        assert_eq!(reader.take(10), 0, "a clock that goes back shows no gap");
    }
}
