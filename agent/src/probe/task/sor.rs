//! `sor`: a pass solves Laplace's equation on 128 x 128 points by 768 sweeps of successive over-relaxation.
//!
//! The boundary values are x^2 - y^2, which satisfies the five-point formula exactly: the solution is known at every
//! point.

use super::Part;
use super::answer::{Alike, close, expect};
use crate::fault::Fault;

/// Points of a row, including the boundary.
const ROW: usize = 130;
const SWEEPS: usize = 768;
/// The optimal factor for this grid, 2 / (1 + sin(pi / 129)) (Young 1954).
const OMEGA: f64 = 1.952_45;
const SHARE: f64 = 1e-9;

struct Sor {
    start: Vec<f64>,
    grid: Vec<f64>,
    alike: Alike,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Sor::new())
}

fn exact(i: usize) -> f64 {
    let (x, y) = ((i % ROW) as f64 / ROW as f64, (i / ROW) as f64 / ROW as f64);
    x * x - y * y
}

fn inside(i: usize) -> bool {
    (1..ROW - 1).contains(&(i % ROW)) && (1..ROW - 1).contains(&(i / ROW))
}

impl Sor {
    fn new() -> Sor {
        let start: Vec<f64> = (0..ROW * ROW).map(|i| if inside(i) { 0.0 } else { exact(i) }).collect();
        Sor { grid: start.clone(), alike: Alike::new(start.len()), start }
    }

    fn sweep(&mut self) {
        for y in 1..ROW - 1 {
            let (above, rest) = self.grid.split_at_mut(y * ROW);
            let (row, below) = rest.split_at_mut(ROW);
            let (above, below) = (&above[(y - 1) * ROW..][..ROW], &below[..ROW]);
            let mut left = row[0];
            for x in 1..ROW - 1 {
                left = OMEGA / 4.0 * (above[x] + below[x] + row[x + 1] + left) + (1.0 - OMEGA) * row[x];
                row[x] = left;
            }
        }
    }
}

impl Part for Sor {
    fn pass(&mut self) -> Result<(), Fault> {
        self.grid.copy_from_slice(&self.start);
        (0..SWEEPS).for_each(|_| self.sweep());
        self.alike.see(&self.grid);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let solution: Vec<f64> = (0..ROW * ROW).map(exact).collect();
        expect(close(&self.grid, &solution, SHARE), "the solution of Laplace's equation")?;
        self.alike.verify("the grid of each pass")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_converge_to_the_solution_and_a_wrong_point_is_detected() {
        assert!((OMEGA - 2.0 / (1.0 + (std::f64::consts::PI / 129.0).sin())).abs() < 1e-5);
        let mut sor = Sor::new();
        sor.pass().unwrap();
        sor.verify().unwrap();
        sor.grid[5 * ROW + 5] += 1e-8;
        assert_eq!(sor.verify().unwrap_err().outcome.name(), "invalid");
        sor.grid.copy_from_slice(&sor.start);
        assert!(sor.verify().is_err(), "no sweeps, no solution");
    }
}
