//! CG: the smallest eigenvalue of a sparse matrix by inverse iteration, each solve 25 steps of conjugate gradients.
//!
//! Reads a matrix in order and a vector at scattered places, with sums over all members at each step. Times the
//! iterations of the class, after one untimed iteration, as in the originals; building the matrix is not timed either.

use super::cg_matrix::{Matrix, most_elements};
use super::check::Check;
use super::shared::{Array, Each, Sums};
use super::team::{Member, Team};
use super::{Benchmark, Class, Outcome};
use crate::fault::Fault;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "cg",
    bytes: |class, _| {
        let Problem { n, per_vector, .. } = Problem::of(class);
        // The matrix while it is built and while it is used, the vectors that it is built from, and those of the
        // solve.
        (2 * 12 * most_elements(n, per_vector) + n * 64 * (per_vector + 1) + 48 * n) as u64
    },
    run: |class, team| run(&Problem::of(class), team),
};

const EPSILON: f64 = 1e-10;
const STEPS: usize = 25;

/// A class: rows, random places of a vector, iterations, shift, and the published eigenvalue.
struct Problem {
    n: usize,
    per_vector: usize,
    iterations: usize,
    shift: f64,
    zeta: f64,
}

impl Problem {
    fn of(class: Class) -> Problem {
        let (n, per_vector, iterations, shift, zeta) = match class {
            Class::S => (1400, 7, 15, 10.0, 8.5971775078648),
            Class::W => (7000, 8, 15, 12.0, 10.362595087124),
            Class::A => (14_000, 11, 15, 20.0, 17.130235054029),
            Class::B => (75_000, 13, 75, 60.0, 22.712745482631),
        };
        Problem { n, per_vector, iterations, shift, zeta }
    }

    /// Returns the originals' count.
    fn operations(&self) -> f64 {
        let elements = (self.per_vector * (self.per_vector + 1)) as f64;
        let (n, iterations) = (self.n as f64, self.iterations as f64);
        2.0 * iterations * n * (3.0 + elements + 25.0 * (5.0 + elements) + 3.0)
    }
}

fn run(problem: &Problem, team: &Team) -> Result<Outcome, Fault> {
    let solver = Solver::new(problem, team)?;
    solver.iterate(team, 1);
    // Safe: shares of different members never overlap.
    team.over(problem.n, |rows| unsafe { solver.x.part(rows) }.fill(1.0));
    let spent = team.timed(|| solver.iterate(team, problem.iterations));
    // Safe: no member is working.
    let zeta = unsafe { *solver.zeta.of(0) };
    let checks = vec![Check::new("zeta of CG", zeta, problem.zeta, EPSILON)];
    Ok(Outcome { spent, operations: problem.operations(), checks, notes: Vec::new() })
}

/// The matrix, and the vectors of conjugate gradients by their usual names.
struct Solver<'a> {
    problem: &'a Problem,
    starts: Array<u32>,
    columns: Array<u32>,
    values: Array<f64>,
    x: Array<f64>,
    z: Array<f64>,
    p: Array<f64>,
    q: Array<f64>,
    r: Array<f64>,
    sums: Sums,
    zeta: Each<f64>,
}

impl<'a> Solver<'a> {
    /// Each member copies its own rows, so that they are in its local memory.
    fn new(problem: &'a Problem, team: &Team) -> Result<Solver<'a>, Fault> {
        let n = problem.n;
        let matrix = Matrix::new(n, problem.per_vector, problem.shift);
        let elements = matrix.values.len();
        let solver = Solver {
            problem,
            starts: Array::new(n + 1)?,
            columns: Array::new(elements)?,
            values: Array::new(elements)?,
            x: Array::new(n)?,
            z: Array::new(n)?,
            p: Array::new(n)?,
            q: Array::new(n)?,
            r: Array::new(n)?,
            sums: Sums::new(team),
            zeta: Each::new(team, |_| f64::NAN),
        };
        team.over(n, |rows| {
            // Safe: shares of different members never overlap.
            unsafe {
                let own = matrix.starts[rows.start] as usize..matrix.starts[rows.end] as usize;
                solver.columns.part(own.clone()).copy_from_slice(&matrix.columns[own.clone()]);
                solver.values.part(own.clone()).copy_from_slice(&matrix.values[own]);
                let starts = rows.start + 1..rows.end + 1;
                solver.starts.part(starts.clone()).copy_from_slice(&matrix.starts[starts]);
                solver.x.part(rows).fill(1.0);
            }
        });
        Ok(solver)
    }

    /// Runs `iterations` solves, each from the result of the previous one.
    fn iterate(&self, team: &Team, iterations: usize) {
        let n = self.problem.n;
        team.all(|member| {
            let (rows, mut turn) = (member.part(n), 0);
            for _ in 0..iterations {
                // Safe: a member writes its own rows only, and others read them after a barrier.
                unsafe {
                    self.solve(member, &mut turn);
                    let (x, z) = (self.x.part(rows.clone()), self.z.part(rows.clone()));
                    let [xz, zz] = self.sums.of(member, &mut turn, [dot(x, z), dot(z, z)]);
                    *self.zeta.own(member) = self.problem.shift + 1.0 / xz;
                    let scale = 1.0 / zz.sqrt();
                    x.iter_mut().zip(z).for_each(|(x, z)| *x = scale * *z);
                }
            }
        });
    }

    /// Solves A z = x approximately; returns the norm of the residual.
    unsafe fn solve(&self, member: &Member, turn: &mut usize) -> f64 {
        let rows = member.part(self.problem.n);
        let [x, z, p, q, r] = [&self.x, &self.z, &self.p, &self.q, &self.r].map(|all| all.part(rows.clone()));
        z.fill(0.0);
        r.copy_from_slice(x);
        p.copy_from_slice(x);
        let [mut rho, _] = self.sums.of(member, turn, [dot(r, r), 0.0]);
        for _ in 0..STEPS {
            self.product(rows.start, self.p.as_ptr(), q);
            let [pq, _] = self.sums.of(member, turn, [dot(p, q), 0.0]);
            let alpha = rho / pq;
            for i in 0..r.len() {
                z[i] += alpha * p[i];
                r[i] -= alpha * q[i];
            }
            let before = rho;
            [rho, _] = self.sums.of(member, turn, [dot(r, r), 0.0]);
            let beta = rho / before;
            p.iter_mut().zip(&*r).for_each(|(p, r)| *p = r + beta * *p);
            member.meet();
        }
        self.product(rows.start, self.z.as_ptr(), r);
        let left: f64 = x.iter().zip(r).map(|(x, r)| (x - *r) * (x - *r)).sum();
        self.sums.of(member, turn, [left, 0.0])[0].sqrt()
    }

    /// Multiplies the matrix by a vector, for the rows from `first` on, with four sums per row so that additions
    /// overlap.
    #[inline(always)]
    unsafe fn product(&self, first: usize, vector: *const f64, to: &mut [f64]) {
        let (starts, columns, values) = (self.starts.as_ptr(), self.columns.as_ptr(), self.values.as_ptr());
        let term = |at: usize| *values.add(at) * *vector.add(*columns.add(at) as usize);
        for (row, to) in (first..).zip(to) {
            let (mut at, end) = (*starts.add(row) as usize, *starts.add(row + 1) as usize);
            let mut sums = [0.0; 4];
            while at + 4 <= end {
                for (side, sum) in sums.iter_mut().enumerate() {
                    *sum += term(at + side);
                }
                at += 4;
            }
            for at in at..end {
                sums[0] += term(at);
            }
            *to = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }
}

/// Returns a scalar product, in four sums.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for side in 0..4 {
            sums[side] += a[side] * b[side];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::tests::led;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn any_number_of_threads_gives_the_published_eigenvalue() {
        for threads in [1, 2, 3] {
            let outcome = led(threads, |team| run(&Problem::of(Class::S), team));
            assert!(verify(&outcome.checks).unwrap() < 1e-12, "{threads}");
        }
    }

    #[test]
    fn a_spoilt_matrix_or_eigenvalue_is_invalid() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.per_vector = 6;
        let fault = verify(&led(2, |team| run(&spoilt, team)).checks).unwrap_err();
        assert!(fault.what.starts_with("zeta of CG is "), "{}", fault.what);
        let mut spoilt = Problem::of(Class::S);
        spoilt.zeta *= 1.0 + 2e-10;
        assert!(verify(&led(1, |team| run(&spoilt, team)).checks).is_err());
    }

    #[test]
    fn operations_are_counted_as_published() {
        assert_eq!(Problem::of(Class::S).operations(), 2.0 * 15.0 * 1400.0 * (3.0 + 56.0 + 25.0 * 61.0 + 3.0));
    }
}
