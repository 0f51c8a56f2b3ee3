//! FT: a heat equation with random initial values, by Fourier transforms of a box. Long strides through much memory.
//!
//! Times everything except a first pass, as in the originals: the exponentials, the random values, the transform of
//! the initial values, and for each time step an evolution, an inverse transform and a checksum. Roots of unity and
//! memory are prepared before. Real and imaginary parts alternate in groups of eight; an evolution takes place while
//! its values are read for the transform along z, and the transforms along y and x follow each other within a plane.

#![allow(clippy::excessive_precision)] // checksums as published

use serde_json::json;

use super::check::Check;
use super::ft_box::{Heat, Size};
use super::team::Team;
use super::{Benchmark, Class, Outcome};
use crate::fault::Fault;
use crate::simd::Isa;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "ft",
    bytes: |class, threads| Heat::bytes(Problem::of(class).size, threads),
    run: |class, team| run(&Problem::of(class), Isa::best(), team),
};

const EPSILON: f64 = 1e-12;

/// A class: points along each axis, and the published checksum of each time step.
struct Problem {
    size: Size,
    checksums: Vec<[f64; 2]>,
}

impl Problem {
    fn of(class: Class) -> Problem {
        let (size, checksums) = match class {
            Class::S => (Size { nx: 64, ny: 64, nz: 64 }, S.to_vec()),
            Class::W => (Size { nx: 128, ny: 128, nz: 32 }, W.to_vec()),
            Class::A => (Size { nx: 256, ny: 256, nz: 128 }, A.to_vec()),
            Class::B => (Size { nx: 512, ny: 256, nz: 256 }, B.to_vec()),
        };
        Problem { size, checksums }
    }

    /// Returns the originals' count.
    fn operations(&self) -> f64 {
        let (points, steps) = (self.size.points() as f64, self.checksums.len() as f64);
        points * (14.8157 + 7.19641 * points.ln() + (5.23518 + 7.21113 * points.ln()) * steps)
    }
}

fn run(problem: &Problem, isa: Isa, team: &Team) -> Result<Outcome, Fault> {
    let heat = Heat::new(problem.size, isa, team)?;
    let mut computed = vec![[f64::NAN; 2]; problem.checksums.len()];
    heat.begin(team);
    let spent = team.timed(|| {
        heat.begin(team);
        for checksum in &mut computed {
            heat.step(team);
            *checksum = heat.checksum();
        }
    });
    let error = |[re, im]: [f64; 2], want: [f64; 2]| (re - want[0]).hypot(im - want[1]) / want[0].hypot(want[1]);
    let check = |(step, (&computed, &want)): (usize, (&[f64; 2], &[f64; 2]))| {
        Check::new(format!("relative error of checksum {} of FT", step + 1), error(computed, want), 0.0, EPSILON)
    };
    let checks = computed.iter().zip(&problem.checksums).enumerate().map(check).collect();
    Ok(Outcome { spent, operations: problem.operations(), checks, notes: vec![("isa", json!(isa.name()))] })
}

const S: [[f64; 2]; 6] = [
    [5.546087004964e2, 4.845363331978e2],
    [5.546385409189e2, 4.865304269511e2],
    [5.546148406171e2, 4.883910722336e2],
    [5.545423607415e2, 4.901273169046e2],
    [5.544255039624e2, 4.917475857993e2],
    [5.542683411902e2, 4.932597244941e2],
];
const W: [[f64; 2]; 6] = [
    [5.673612178944e2, 5.293246849175e2],
    [5.631436885271e2, 5.282149986629e2],
    [5.594024089970e2, 5.270996558037e2],
    [5.560698047020e2, 5.260027904925e2],
    [5.530898991250e2, 5.249400845633e2],
    [5.504159734538e2, 5.239212247086e2],
];
const A: [[f64; 2]; 6] = [
    [5.046735008193e2, 5.114047905510e2],
    [5.059412319734e2, 5.098809666433e2],
    [5.069376896287e2, 5.098144042213e2],
    [5.077892868474e2, 5.101336130759e2],
    [5.085233095391e2, 5.104914655194e2],
    [5.091487099959e2, 5.107917842803e2],
];
const B: [[f64; 2]; 20] = [
    [5.177643571579e2, 5.077803458597e2],
    [5.154521291263e2, 5.088249431599e2],
    [5.146409228649e2, 5.096208912659e2],
    [5.142378756213e2, 5.101023387619e2],
    [5.139626667737e2, 5.103976610617e2],
    [5.137423460082e2, 5.105948019802e2],
    [5.135547056878e2, 5.107404165783e2],
    [5.133910925466e2, 5.108576573661e2],
    [5.132470705390e2, 5.109577278523e2],
    [5.131197729984e2, 5.110460304483e2],
    [5.130070319283e2, 5.111252433800e2],
    [5.129070537032e2, 5.111968077718e2],
    [5.128182883502e2, 5.112616233064e2],
    [5.127393733383e2, 5.113203605551e2],
    [5.126691062020e2, 5.113735928093e2],
    [5.126064276004e2, 5.114218460548e2],
    [5.125504076570e2, 5.114656139760e2],
    [5.125002331720e2, 5.115053595966e2],
    [5.124551951846e2, 5.115415130407e2],
    [5.124146770029e2, 5.115744692211e2],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::tests::led;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn every_set_of_instructions_and_any_number_of_threads_gives_the_published_checksums() {
        for (isa, threads) in Isa::all().into_iter().cycle().zip([1, 2, 3]) {
            let outcome = led(threads, |team| run(&Problem::of(Class::S), isa, team));
            assert!(verify(&outcome.checks).is_ok() && outcome.checks.len() == 6, "{isa:?} {threads}");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn a_box_of_three_lengths_gives_the_published_checksums() {
        assert!(verify(&led(2, |team| run(&Problem::of(Class::W), Isa::best(), team)).checks).is_ok());
    }

    #[test]
    fn a_spoilt_checksum_is_invalid_and_named() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.checksums[4][1] *= 1.0 + 3e-12;
        let fault = verify(&led(1, |team| run(&spoilt, Isa::best(), team)).checks).unwrap_err();
        assert!(fault.what.starts_with("relative error of checksum 5 of FT is "), "{}", fault.what);
    }

    #[test]
    fn every_class_has_a_checksum_for_each_step() {
        let steps = [Class::S, Class::W, Class::A, Class::B].map(|class| Problem::of(class).checksums.len());
        assert_eq!(steps, [6, 6, 6, 20]);
    }
}
