//! MG: a scalar Poisson equation on a periodic cube by multigrid V-cycles. Accesses neighbours at every distance in
//! memory.
//!
//! Times the first residual, the cycles of the class and the norm, after one untimed cycle, as in the originals; the
//! random points of the right-hand side are determined before.

use std::ops::Range;

use serde_json::json;

use super::check::Check;
use super::lcg::{Lcg, SEED};
use super::mg_grid::{Grid, Weights, correct, prolong, residual, restrict};
use super::team::{Member, Team};
use super::{Benchmark, Class, Outcome};
use crate::fault::Fault;
use crate::simd::Isa;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "mg",
    bytes: |class, _| {
        let levels = 1..=Problem::of(class).levels;
        levels.clone().map(|level| 2 * Grid::bytes(1 << level)).sum::<u64>() + Grid::bytes(1 << levels.end())
    },
    run: |class, team| run(&Problem::of(class), Isa::best(), team),
};

const EPSILON: f64 = 1e-8;
/// The number of points of the right-hand side with -1, and the number with 1.
const CHARGES: usize = 10;
/// The operator: weights of a point, of its face neighbours (0), of its edge neighbours and of its corner neighbours.
const OPERATOR: [f64; 4] = [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0];

/// A class: log2 of the points per edge, V-cycles, the smoother's weights, and the published norm.
struct Problem {
    levels: usize,
    cycles: usize,
    smoother: [f64; 3],
    norm: f64,
}

impl Problem {
    fn of(class: Class) -> Problem {
        let small = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0];
        let (levels, cycles, smoother, norm) = match class {
            Class::S => (5, 4, small, 0.5307707005734e-4),
            Class::W => (7, 4, small, 0.6467329375339e-5),
            Class::A => (8, 4, small, 0.2433365309069e-5),
            Class::B => (8, 20, [-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0], 0.1800564401355e-5),
        };
        Problem { levels, cycles, smoother, norm }
    }

    /// Returns the originals' count.
    fn operations(&self) -> f64 {
        58.0 * self.cycles as f64 * ((1_usize << self.levels) as f64).powi(3)
    }
}

fn run(problem: &Problem, isa: Isa, team: &Team) -> Result<Outcome, Fault> {
    let solver = Solver::new(problem, isa, team)?;
    solver.cycles(team, 1);
    team.all(|member| solver.top().0.clear(member));
    let mut norm = f64::NAN;
    let spent = team.timed(|| {
        solver.cycles(team, problem.cycles);
        norm = solver.norm(team);
    });
    let checks = vec![Check::new("norm of the residual of MG", norm, problem.norm, EPSILON)];
    Ok(Outcome { spent, operations: problem.operations(), checks, notes: vec![("isa", json!(isa.name()))] })
}

/// Solution and residual of each level, the coarsest first, and the right-hand side.
struct Solver<'a> {
    problem: &'a Problem,
    isa: Isa,
    levels: Vec<(Grid, Grid)>,
    right: Grid,
}

impl<'a> Solver<'a> {
    fn new(problem: &'a Problem, isa: Isa, team: &Team) -> Result<Solver<'a>, Fault> {
        let pair = |level: usize| Ok((Grid::new(1 << level)?, Grid::new(1 << level)?));
        let levels = (1..=problem.levels).map(pair).collect::<Result<Vec<_>, Fault>>()?;
        let solver = Solver { problem, isa, levels, right: Grid::new(1 << problem.levels)? };
        let n = solver.right.n;
        let charges = charges(n, team);
        team.all(|member| {
            solver.levels.iter().for_each(|(u, r)| {
                u.clear(member);
                r.clear(member);
            });
            solver.right.clear(member);
            member.meet();
            for (points, charge) in charges.iter().zip([-1.0, 1.0]) {
                for &(_, point) in points {
                    let (k, j, i) = (point / (n * n), point / n % n, point % n);
                    if member.part(n).contains(&k) {
                        // Safe: the plane belongs to this member.
                        unsafe { *solver.right.row(k + 1, j + 1).add(i + 1) = charge };
                    }
                }
            }
            member.meet();
            solver.right.wrap(member);
        });
        Ok(solver)
    }

    fn top(&self) -> &(Grid, Grid) {
        &self.levels[self.problem.levels - 1]
    }

    /// Computes the residual, and then `cycles` times a V-cycle and the residual.
    fn cycles(&self, team: &Team, cycles: usize) {
        let (u, r) = self.top();
        let operator = Weights::of(OPERATOR);
        team.all(|member| {
            residual(self.isa, member, operator, u, &self.right, r);
            for _ in 0..cycles {
                self.cycle(member);
                residual(self.isa, member, operator, u, &self.right, r);
            }
        });
    }

    /// Goes down to the coarsest level, and back up with a correction on each level.
    fn cycle(&self, member: &Member) {
        let [c0, c1, c2] = self.problem.smoother;
        let (operator, smoother) = (Weights::of(OPERATOR), Weights::of([c0, c1, c2, 0.0]));
        for pair in self.levels.windows(2).rev() {
            restrict(self.isa, member, &pair[1].1, &pair[0].1);
        }
        let (u, r) = &self.levels[0];
        u.clear(member);
        member.meet();
        correct(self.isa, member, smoother, r, u);
        for (level, pair) in self.levels.windows(2).enumerate() {
            let (coarse, (u, r)) = (&pair[0].0, &pair[1]);
            let top = level + 2 == self.levels.len();
            prolong(self.isa, member, coarse, u, !top);
            residual(self.isa, member, operator, u, if top { &self.right } else { r }, r);
            correct(self.isa, member, smoother, r, u);
        }
    }

    /// Returns the root mean square of the finest residual.
    fn norm(&self, team: &Team) -> f64 {
        let r = &self.top().1;
        // Safe: no thread writes.
        let [sum] = team.sums(r.n, |planes| [unsafe { r.squares(planes) }]);
        (sum / (r.n as f64).powi(3)).sqrt()
    }
}

/// Returns the points with the smallest and with the largest random numbers.
fn charges(n: usize, team: &Team) -> [Vec<(f64, usize)>; 2] {
    let candidates = std::sync::Mutex::new([Vec::new(), Vec::new()]);
    team.over(n, |planes| {
        let own = extremes(planes.start * n * n..planes.end * n * n);
        let mut candidates = candidates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        candidates.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
    });
    let mut candidates = candidates.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (side, points) in candidates.iter_mut().enumerate() {
        // No two numbers are equal, because the period of the sequence is far longer.
        points.sort_by(|a, b| if side == 0 { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
        points.truncate(CHARGES);
    }
    candidates
}

/// Does the same for a range of points; returns them in any order.
fn extremes(points: Range<usize>) -> [Vec<(f64, usize)>; 2] {
    let mut numbers = Lcg::after(SEED, points.start as u64);
    let mut candidates: [Vec<(f64, usize)>; 2] = [Vec::new(), Vec::new()];
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    for point in points {
        let number = numbers.next();
        if number < low {
            low = keep(&mut candidates[0], (number, point), |a, b| a < b).unwrap_or(f64::MAX);
        }
        if number > high {
            high = keep(&mut candidates[1], (number, point), |a, b| a > b).unwrap_or(f64::MIN);
        }
    }
    candidates
}

/// Inserts a number among the best, and returns the worst of them once there are enough.
fn keep(best: &mut Vec<(f64, usize)>, new: (f64, usize), better: fn(f64, f64) -> bool) -> Option<f64> {
    let at = best.iter().position(|old| better(new.0, old.0)).unwrap_or(best.len());
    best.insert(at, new);
    best.truncate(CHARGES);
    best.get(CHARGES - 1).map(|worst| worst.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::tests::led;

    #[test]
    fn every_set_of_instructions_and_any_number_of_threads_gives_the_published_norm() {
        for (isa, threads) in Isa::all().into_iter().cycle().zip([1, 3, 5]) {
            let outcome = led(threads, |team| run(&Problem::of(Class::S), isa, team));
            assert!(verify(&outcome.checks).unwrap() < 1e-10, "{isa:?} {threads}");
            assert_eq!(outcome.operations, 58.0 * 4.0 * 32768.0);
        }
    }

    #[test]
    fn the_charges_are_the_extremes() {
        let candidates = led(3, |team| Ok(charges(16, team)));
        let mut numbers = Lcg(SEED);
        let mut all: Vec<(f64, usize)> = (0..4096).map(|point| (numbers.next(), point)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(candidates[0], all[..10]);
        all.reverse();
        assert_eq!(candidates[1], all[..10]);
    }

    #[test]
    fn a_spoilt_smoother_or_norm_is_invalid() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.smoother[1] *= 1.0 + 1e-6;
        let fault = verify(&led(2, |team| run(&spoilt, Isa::best(), team)).checks).unwrap_err();
        assert!(fault.what.starts_with("norm of the residual of MG is 5.307"), "{}", fault.what);
        let mut spoilt = Problem::of(Class::S);
        spoilt.norm *= 1.0 + 2e-8;
        assert!(verify(&led(1, |team| run(&spoilt, Isa::best(), team)).checks).is_err());
    }
}
