//! `lu`: a pass solves a dense system of order 512 by LU with partial pivoting, row by row.
//!
//! Plain loops as in SciMark, optimised by the compiler alone; the probe `lu` shows the machine's full performance.

use super::Part;
use super::answer::{Alike, expect, numbers};
use crate::fault::Fault;
use crate::solve::scaled_residual;

const N: usize = 512;
const RESIDUAL_LIMIT: f64 = 16.0;

struct Lu {
    /// Stored by rows.
    matrix: Vec<f64>,
    b: Vec<f64>,
    factors: Vec<f64>,
    x: Vec<f64>,
    alike: Alike,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Lu::new())
}

impl Lu {
    fn new() -> Lu {
        let mut rng = numbers(60);
        let matrix: Vec<f64> = (0..N * N).map(|_| rng.centred()).collect();
        let b: Vec<f64> = (0..N).map(|_| rng.centred()).collect();
        Lu { factors: matrix.clone(), x: b.clone(), alike: Alike::new(N), matrix, b }
    }

    /// Eliminates column `k`, also in the right-hand side.
    fn eliminate(&mut self, k: usize) {
        let size = |row: usize| self.factors[row * N + k].abs();
        let largest = (k + 1..N).fold(k, |best, row| if size(row) > size(best) { row } else { best });
        if largest != k {
            let (top, bottom) = self.factors.split_at_mut(largest * N);
            top[k * N..(k + 1) * N].swap_with_slice(&mut bottom[..N]);
            self.x.swap(k, largest);
        }
        let (top, below) = self.factors.split_at_mut((k + 1) * N);
        let (pivot, pivot_row) = (top[k * N + k], &top[k * N + k + 1..]);
        for (i, row) in below.chunks_exact_mut(N).enumerate() {
            let factor = row[k] / pivot;
            row[k] = factor;
            for (entry, above) in row[k + 1..].iter_mut().zip(pivot_row) {
                *entry -= factor * above;
            }
            self.x[k + 1 + i] -= factor * self.x[k];
        }
    }

    fn substitute(&mut self) {
        for i in (0..N).rev() {
            let row = &self.factors[i * N..(i + 1) * N];
            let known: f64 = row[i + 1..].iter().zip(&self.x[i + 1..]).map(|(a, x)| a * x).sum();
            self.x[i] = (self.x[i] - known) / row[i];
        }
    }
}

impl Part for Lu {
    fn pass(&mut self) -> Result<(), Fault> {
        self.factors.copy_from_slice(&self.matrix);
        self.x.copy_from_slice(&self.b);
        (0..N).for_each(|k| self.eliminate(k));
        self.substitute();
        self.alike.see(&self.x);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let column = |j: usize, column: &mut [f64]| (0..N).for_each(|i| column[i] = self.matrix[i * N + j]);
        let residual = scaled_residual(column, &self.x, &self.b);
        expect(residual < RESIDUAL_LIMIT, &format!("the solution of a system (scaled residual {residual})"))?;
        self.alike.verify("the solution of each pass")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_solution_is_detected() {
        let mut lu = Lu::new();
        lu.pass().unwrap();
        lu.pass().unwrap();
        lu.verify().unwrap();
        lu.x[3] += 1e-8;
        assert!(lu.verify().unwrap_err().what.contains("scaled residual"));
        lu.x[3] = f64::NAN;
        assert_eq!(lu.verify().unwrap_err().outcome.name(), "invalid");
    }
}
