//! BT: compressible Navier-Stokes equations on a cube by block tridiagonal systems along each axis.
//!
//! Times the steps of the class, after one untimed step and a return to the initial values, as in the originals. The
//! rate describes this machine with this program: lines are solved several at a time, so the rate is far above that of
//! the originals on the same machine, and can only be compared with other rates of cloudcmp.

#![allow(clippy::excessive_precision)] // norms as published

use std::ops::Range;

use serde_json::json;

use super::check::Check;
use super::team::{Member, Team};
use super::{Benchmark, Class, Outcome};
use crate::bt::{Flow, Scratch, Size, UNKNOWNS};
use crate::fault::Fault;
use crate::simd::Isa;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "bt",
    bytes: |class, threads| {
        let n = Problem::of(class).size.n;
        Flow::bytes(n) + threads as u64 * Scratch::bytes(n)
    },
    run: |class, team| run(&Problem::of(class), Isa::best(), team),
};

/// The same as in the originals.
const EPSILON: f64 = 1e-8;

/// A class: its size and steps, and the published norms of the last right-hand side and of the error.
struct Problem {
    size: Size,
    steps: usize,
    residual: [f64; UNKNOWNS],
    error: [f64; UNKNOWNS],
}

impl Problem {
    fn of(class: Class) -> Problem {
        match class {
            Class::S => Problem {
                size: Size { n: 12, dt: 0.01 },
                steps: 60,
                residual: [
                    1.7034283709541311e-1,
                    1.2975252070034097e-2,
                    3.2527926989486055e-2,
                    2.6436421275166801e-2,
                    1.9211784131744430e-1,
                ],
                error: [
                    4.9976913345811579e-4,
                    4.5195666782961927e-5,
                    7.3973765172921357e-5,
                    7.3821238632439731e-5,
                    8.9269630987491446e-4,
                ],
            },
            Class::W => Problem {
                size: Size { n: 24, dt: 0.0008 },
                steps: 200,
                residual: [112.5590409344, 11.80007595731, 27.10329767846, 24.69174937669, 263.8427874317],
                error: [4.419655736008, 0.4638531260002, 1.011551749967, 0.9235878729944, 10.18045837718],
            },
            Class::A => Problem {
                size: Size { n: 64, dt: 0.0008 },
                steps: 200,
                residual: [
                    1.0806346714637264e2,
                    1.1319730901220813e1,
                    2.5974354511582465e1,
                    2.3665622544678910e1,
                    2.5278963211748344e2,
                ],
                error: [
                    4.2348416040525025,
                    4.4390282496995698e-1,
                    9.6692480136345650e-1,
                    8.8302063039765474e-1,
                    9.7379901770829278,
                ],
            },
            Class::B => Problem {
                size: Size { n: 102, dt: 0.0003 },
                steps: 200,
                residual: [
                    1.4233597229287254e3,
                    9.9330522590150238e1,
                    3.5646025644535285e2,
                    3.2485447959084092e2,
                    3.2707541254659363e3,
                ],
                error: [
                    5.2969847140936856e1,
                    4.4632896115670668,
                    1.3122573342210174e1,
                    1.2006925323559144e1,
                    1.2459576151035986e2,
                ],
            },
        }
    }

    /// Returns the originals' count for all steps.
    fn operations(&self) -> f64 {
        let n = self.size.n as f64;
        self.steps as f64 * (3478.8 * n.powi(3) - 17655.7 * n.powi(2) + 28023.7 * n)
    }
}

fn run(problem: &Problem, isa: Isa, team: &Team) -> Result<Outcome, Fault> {
    let solver = Solver::new(problem.size, isa, team);
    solver.step();
    solver.set(Flow::set_first);
    let spent = team.timed(|| (0..problem.steps).for_each(|_| solver.step()));
    let checks = solver.checks(problem);
    Ok(Outcome { spent, operations: problem.operations(), checks, notes: vec![("isa", json!(isa.name()))] })
}

/// A flow, the team that advances it, and each member's own memory.
struct Solver<'a> {
    flow: Flow,
    n: usize,
    team: &'a Team<'a>,
    own: Vec<Own>,
}

/// The memory of one member, which only that member uses.
struct Own(std::cell::UnsafeCell<Scratch>);

unsafe impl Sync for Own {}

impl<'a> Solver<'a> {
    fn new(size: Size, isa: Isa, team: &'a Team<'a>) -> Solver<'a> {
        let own = (0..team.threads()).map(|_| Own(Scratch::new(size.n).into())).collect();
        let solver = Solver { flow: Flow::new(size, isa), n: size.n, team, own };
        // The forcing is the force that keeps the exact solution at rest.
        solver.set(Flow::set_exact);
        solver.right_hand_side();
        solver.set(Flow::set_forcing);
        solver.set(Flow::set_first);
        solver
    }

    fn set(&self, set: unsafe fn(&Flow, Range<usize>)) {
        let flow = &self.flow;
        // Safe for the same reason as in `step`.
        self.team.over(self.n, |planes| unsafe { set(flow, planes) });
    }

    fn step(&self) {
        let Solver { flow, n, own, .. } = self;
        // Safe: shares of different members never overlap, and `all` returns when every member has finished.
        self.team.all(|member| unsafe { flow.planes(inner(member, *n), &mut *own[member.index].0.get()) });
        self.team.all(|member| unsafe { flow.sheets(inner(member, *n), &mut *own[member.index].0.get()) });
    }

    fn right_hand_side(&self) {
        let Solver { flow, n, .. } = self;
        // Safe for the same reason as in `step`.
        self.team.all(|member| unsafe { flow.right_hand_side(inner(member, *n)) });
    }

    /// Returns the root mean squares, by the number of inner points, of the right-hand side and of the error.
    fn checks(&self, problem: &Problem) -> Vec<Check> {
        self.right_hand_side();
        let flow = &self.flow;
        let mean = |sums: [f64; UNKNOWNS]| sums.map(|sum| (sum / ((self.n - 2) as f64).powi(3)).sqrt());
        let residual = mean(self.team.sums(self.n, |planes| unsafe { flow.squared_residuals(planes) }));
        let error = mean(self.team.sums(self.n, |planes| unsafe { flow.squared_errors(planes) }));
        let check = |name: &str, m: usize, got: f64, want: f64| {
            Check::new(format!("{name} norm {} of BT", m + 1), got, want, EPSILON)
        };
        let residuals = (0..UNKNOWNS).map(|m| check("residual", m, residual[m], problem.residual[m]));
        residuals.chain((0..UNKNOWNS).map(|m| check("error", m, error[m], problem.error[m]))).collect()
    }
}

/// Returns a member's share of the inner planes, or sheets.
fn inner(member: &Member, n: usize) -> Range<usize> {
    let share = member.part(n - 2);
    share.start + 1..share.end + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::team::{self, Place};

    fn verified(problem: &Problem, isa: Isa, threads: usize) -> Result<f64, Fault> {
        let place = Place { threads, cpus: &pin::allowed() };
        verify(&team::with(&place, |team| run(problem, isa, team))?.checks)
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn every_set_of_instructions_and_any_number_of_threads_gives_the_published_norms() {
        // With more threads than planes, some threads get none.
        for (isa, threads) in Isa::all().into_iter().cycle().zip([1, 3, 11]) {
            assert!(verified(&Problem::of(Class::S), isa, threads).unwrap() < 1e-10, "{isa:?} {threads}");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn a_class_that_does_not_fill_the_lanes_gives_the_published_norms() {
        assert!(verified(&Problem::of(Class::W), Isa::best(), 2).unwrap() < 1e-10);
    }

    #[test]
    fn a_spoilt_constant_is_invalid_and_the_norm_is_named() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.size.dt *= 1.0 + 1e-6;
        let fault = verified(&spoilt, Isa::best(), 1).unwrap_err();
        assert_eq!(fault.outcome.name(), "invalid");
        assert!(fault.what.starts_with("residual norm 1 of BT is 1.7034"), "{}", fault.what);
        spoilt = Problem::of(Class::S);
        spoilt.error[4] *= 1.0 + 2e-8;
        assert!(verified(&spoilt, Isa::best(), 1).unwrap_err().what.starts_with("error norm 5 of BT is"));
    }

    #[test]
    fn class_b_has_the_published_operation_count() {
        let billions = Problem::of(Class::B).operations() * 1e-9;
        assert!((billions - 702.18).abs() < 0.01, "{billions}");
    }
}
