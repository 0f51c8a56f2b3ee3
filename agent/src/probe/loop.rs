//! Rodamilans' N: loops of one floating-point calculation, timed and related to the processor's clock.
//!
//! An iteration is ten thousand dependent steps of a multiplication, two additions, a division and a square root. N is
//! a hundred times the operations completed per clock cycle; the clock is measured by dependent additions right after
//! the loops. The paper (section 4.2) says that its Perl program timed 200 iterations in each of 10 loops and that N
//! "takes into account the processor clock", but prints no formula and no calculation: this calculation is ours, and
//! its results must not be compared with the paper's. One value per loop; one thread. Does not measure memory or
//! vectors.

use std::hint::black_box;

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::clock::{core_hz, now_ns, seconds};
use crate::fault::Fault;
use crate::pace::{self, Race, Task};
use crate::wire::finite;

pub const PROBE: Probe = Probe {
    name: "loop",
    roles: SOLO,
    params: &[
        Param { name: "iterations", default: "200", kind: Kind::Whole(1, 1_000_000) },
        Param { name: "loops", default: "10", kind: Kind::Whole(1, 10_000) },
    ],
    metrics: &[Metric { name: "n_index", unit: "index", params: &["iterations", "loops"] }],
    run,
};

const STEPS: u64 = 10_000;
const OPERATIONS_A_STEP: u64 = 5;
const FACTOR: f64 = 3.0;
const TERM: f64 = 2.0;
const DIVISOR_TERM: f64 = 1.5;

fn run(context: &Context) -> Result<(), Fault> {
    let iterations = context.whole("iterations").unwrap_or(1);
    let loops = context.whole("loops").unwrap_or(1) as usize;
    let race = Race { threads: 1, cpus: &context.job.cpus, out: context.out };
    let make = |_| Ok(Loops { iterations, ends_ns: vec![0; loops + 1], x: 1.0, clock_hz: None });
    let finish = pace::race(&race, make)?;
    let Some(Loops { ends_ns, clock_hz: Some(clock_hz), .. }) = finish.tasks.first() else {
        return Err(Fault::failed("the clock of this processor can not be measured", "N needs x86-64 or aarch64"));
    };
    context.out.note("clock_hz", finite(*clock_hz))?;
    for pair in ends_ns.windows(2) {
        let cycles = seconds(pair[1] - pair[0]) * clock_hz;
        let operations = (iterations * STEPS * OPERATIONS_A_STEP) as f64;
        context.sample("n_index", seconds(pair[1] - ends_ns[0]), 100.0 * operations / cycles)?;
    }
    Ok(())
}

struct Loops {
    iterations: u64,
    /// The time when the first loop began, and the time when each loop ended.
    ends_ns: Vec<u64>,
    x: f64,
    clock_hz: Option<f64>,
}

impl Task for Loops {
    fn run(&mut self) -> Result<(), Fault> {
        iterate(&mut self.x, 1); // warm-up
        self.ends_ns[0] = now_ns();
        for end_ns in &mut self.ends_ns[1..] {
            iterate(&mut self.x, self.iterations);
            *end_ns = now_ns();
        }
        self.clock_hz = core_hz();
        Ok(())
    }

    /// Checks the known answer: the calculation converges to its fixed point.
    fn verify(&mut self) -> Result<(), Fault> {
        let error = (self.x - step(self.x)).abs();
        // x (x^2 + 1.5 x - 3) = 2 has one solution above 0.
        let right = error < 1e-14 && (self.x * (self.x * (self.x + DIVISOR_TERM) - FACTOR) - TERM).abs() < 1e-12;
        let next = "do not trust this CPU's arithmetic, or report this";
        if right { Ok(()) } else { Err(Fault::invalid(format!("the loops ended at {}", self.x), next)) }
    }
}

fn iterate(x: &mut f64, iterations: u64) {
    for _ in 0..iterations * STEPS {
        *x = step(*x);
    }
    *x = black_box(*x);
}

#[inline(always)]
fn step(x: f64) -> f64 {
    ((x * FACTOR + TERM) / (x + DIVISOR_TERM)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calculation_has_a_known_result_and_a_wrong_one_is_detected() {
        let mut loops = Loops { iterations: 1, ends_ns: vec![0; 3], x: 1.0, clock_hz: None };
        loops.run().unwrap();
        loops.verify().unwrap();
        assert!(loops.ends_ns[0] < loops.ends_ns[1] && loops.ends_ns[1] < loops.ends_ns[2]);
        loops.x += 1e-9;
        assert_eq!(loops.verify().unwrap_err().outcome.name(), "invalid");
    }
}
