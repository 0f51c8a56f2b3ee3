//! Placement of standard cells by simulated annealing: a task like SPEC CPU's twolf, but not SPEC's.
//!
//! Follows the published description of TimberWolf (Sechen and Sangiovanni-Vincentelli 1985): rows of cells of
//! different widths, nets measured by half their bounding boxes, overlaps and uneven rows as penalties, moves within a
//! window that shrinks with the temperature, displacements and interchanges. The circuit is generated from a fixed
//! seed, the schedule is fixed, and all arithmetic is exact or rounded alike everywhere, so every machine makes the
//! same moves. Pointers into memory beyond the first caches and unpredictable branches take most of the time. Does not
//! measure vectors or bandwidth, or anything that SPEC publishes.

use super::{Context, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::fault::Fault;
use crate::pace::{self, Race, Task};

mod circuit;
mod place;

use circuit::Circuit;
use place::Placement;

pub const PROBE: Probe = Probe {
    name: "twolf",
    roles: SOLO,
    params: &[Param { name: "cells", default: "20000", kind: Kind::Whole(100, 1_000_000) }, THREADS],
    metrics: &[Metric { name: "twolf_time_s", unit: "s", params: &["cells", "threads"] }],
    run,
};

/// Wire length of the finished placement by number of cells, the same on every machine.
const KNOWN: [(usize, i64); 2] = [(1000, 81_445), (20_000, 3_655_468)];

fn run(context: &Context) -> Result<(), Fault> {
    let cells = context.whole("cells").unwrap_or(0) as usize;
    let circuit = Circuit::new(cells);
    let race = Race { threads: context.threads(), cpus: &context.job.cpus, out: context.out };
    let finish = pace::race(&race, |_| Ok(Twolf { placement: Placement::new(&circuit), wire: None }))?;
    let wires: Vec<Option<i64>> = finish.tasks.iter().map(|task| task.wire).collect();
    if wires.iter().any(|wire| *wire != wires[0]) {
        return Err(Fault::invalid("threads placed the same circuit in different ways", "do not trust this CPU"));
    }
    context.out.note("wire_length", wires[0])?;
    context.sample("twolf_time_s", finish.all_s, finish.amortised_s())
}

struct Twolf<'a> {
    placement: Placement<'a>,
    wire: Option<i64>,
}

impl Task for Twolf<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        self.placement.anneal();
        self.wire = Some(self.placement.legalise());
        Ok(())
    }

    /// Checks the known answer: the running totals match recomputed ones, no cells overlap, and the length is known.
    fn verify(&mut self) -> Result<(), Fault> {
        let cells = self.placement.cells();
        let known = KNOWN.iter().find(|(count, _)| *count == cells).map(|(_, wire)| *wire);
        let right = self.placement.consistent() && known.is_none_or(|known| Some(known) == self.wire);
        let what = || format!("the placement is wrong: a wire length of {:?}", self.wire);
        if right { Ok(()) } else { Err(Fault::invalid(what(), "do not trust this CPU, or report this")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn a_circuit_gets_its_known_placement_far_better_than_a_random_one() {
        let circuit = Circuit::new(1000);
        let chance = Placement::new(&circuit).legalise();
        let mut task = Twolf { placement: Placement::new(&circuit), wire: None };
        task.run().unwrap();
        assert_eq!(task.wire, Some(KNOWN[0].1), "by chance {chance}");
        assert!(task.wire.unwrap() * 3 < chance, "{chance}");
        task.verify().unwrap();
        task.wire = task.wire.map(|wire| wire + 1);
        assert_eq!(task.verify().unwrap_err().outcome.name(), "invalid");
    }
}
