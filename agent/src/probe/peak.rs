//! The share of the theoretical peak that independent arithmetic in registers reaches (Shah, "CPU Benchmarking" c, d).
//!
//! The peak is clock x processors x operations per cycle. The clock is the cores' clock, measured by dependent
//! additions right after the run, unless the job states one, such as the base clock that Shah took from a data sheet.
//! The operations per cycle follow from the units of the processor if they are published, otherwise from the
//! instructions used, with two units per core assumed; a note states which. The job may state another number. With
//! more threads than processors the number of processors counts. Does not measure memory, or how close ordinary code
//! comes to the peak.

use super::fma::{Fma, dispatch};
use super::{Context, DURATION, INTERVAL, Kind, Metric, Param, Probe, SOLO, THREADS};
use crate::fault::Fault;
use crate::host;
use crate::pace;
use crate::wire::finite;

pub const PROBE: Probe = Probe {
    name: "peak",
    roles: SOLO,
    params: &[
        THREADS,
        DURATION,
        INTERVAL,
        Param { name: "precision", default: "f64", kind: Kind::Choice(&["f64", "f32"]) },
        Param { name: "clock_hz", default: "measured", kind: Kind::WholeOr(1_000_000, 100_000_000_000, "measured") },
        Param { name: "per_cycle", default: "auto", kind: Kind::WholeOr(1, 4096, "auto") },
    ],
    metrics: &[Metric {
        name: "peak_ratio",
        unit: "ratio",
        params: &["clock_hz", "per_cycle", "precision", "threads"],
    }],
    run,
};

/// The number of multiply-add units that a core is assumed to have if nothing else is known.
const UNITS: f64 = 2.0;

fn run(context: &Context) -> Result<(), Fault> {
    let precision = context.text("precision");
    let (kernel, isa) = dispatch(precision);
    let per_cycle = match context.whole("per_cycle") {
        Some(stated) => stated as f64,
        None => {
            let bits = host::multiply_add_bits();
            context.out.note("per_cycle_from", if bits.is_some() { "processor" } else { "two units assumed" })?;
            per_cycle(bits, isa, precision)
        }
    };
    context.out.note("isa", isa)?;
    context.out.note("per_cycle", finite(per_cycle))?;
    let mut rates = Vec::with_capacity(16);
    let emit = |t_s, rate| {
        rates.push((t_s, rate));
        Ok(())
    };
    let workers = pace::run(&context.pace(), |_| Fma::warm(kernel), emit)?;
    workers.iter().try_for_each(Fma::verify)?;
    let measured = workers.iter().map(|worker| worker.clock_hz).collect::<Option<Vec<f64>>>();
    let clock_hz = match (context.whole("clock_hz"), measured) {
        (Some(stated), _) => stated as f64,
        (None, Some(clocks)) => clocks.iter().sum::<f64>() / clocks.len() as f64,
        (None, None) => {
            return Err(Fault::failed("the clock of this processor can not be measured", "name it: clock_hz"));
        }
    };
    context.out.note("clock_hz", finite(clock_hz))?;
    let cpus = context.threads().min(context.job.cpus.len()) as f64;
    rates
        .into_iter()
        .try_for_each(|(t_s, rate)| context.sample("peak_ratio", t_s, rate / (clock_hz * cpus * per_cycle)))
}

/// Returns the operations of a core per cycle: limited by its units, and by the width of the instructions used.
fn per_cycle(units_bits: Option<u32>, isa: &str, precision: &str) -> f64 {
    let register_bits = match isa {
        "avx512f" => 512.0,
        "avx2+fma" => 256.0,
        "neon" => 128.0,
        _ => return 2.0 * UNITS, // one number in each instruction
    };
    let bits = match units_bits.map(f64::from) {
        Some(bits) if isa == "neon" => bits,
        Some(bits) => bits.min(UNITS * register_bits),
        None => UNITS * register_bits,
    };
    2.0 * bits / if precision == "f64" { 64.0 } else { 32.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_per_cycle_follow_from_the_units_and_the_instructions() {
        assert_eq!([per_cycle(None, "avx512f", "f64"), per_cycle(None, "avx2+fma", "f32")], [32.0, 32.0]);
        assert_eq!([per_cycle(None, "neon", "f64"), per_cycle(Some(512), "scalar", "f64")], [8.0, 4.0]);
        // Zen 4 splits 512 bits into two halves; registers limit Zen 5 without AVX-512; Neoverse V1 has four units.
        assert_eq!([per_cycle(Some(512), "avx512f", "f64"), per_cycle(Some(1024), "avx2+fma", "f64")], [16.0, 16.0]);
        assert_eq!([per_cycle(Some(512), "neon", "f64"), per_cycle(Some(256), "neon", "f32")], [16.0, 16.0]);
    }
}
