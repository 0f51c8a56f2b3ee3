//! `sparse`: a pass multiplies a sparse matrix by a vector 16 times; 65,536 rows of 8 entries in random columns.
//!
//! Compressed rows, 6 MiB: fits into the last-level cache of most machines, with loads that no prefetcher can predict.

use super::Part;
use super::answer::{Alike, close, expect, numbers};
use crate::fault::Fault;

const ROWS: usize = 1 << 16;
const IN_ROW: usize = 8;
const PRODUCTS: usize = 16;
const SHARE: f64 = 1e-9;

struct Sparse {
    values: Vec<f64>,
    columns: Vec<u32>,
    /// The beginning of each row, and the end of the last one.
    begins: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
    alike: Alike,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Sparse::new())
}

impl Sparse {
    fn new() -> Sparse {
        let mut rng = numbers(70);
        Sparse {
            values: (0..ROWS * IN_ROW).map(|_| rng.centred()).collect(),
            columns: (0..ROWS * IN_ROW).map(|_| rng.below(ROWS as u64) as u32).collect(),
            begins: (0..=ROWS).map(|row| (row * IN_ROW) as u32).collect(),
            x: (0..ROWS).map(|_| rng.centred()).collect(),
            y: vec![0.0; ROWS],
            alike: Alike::new(ROWS),
        }
    }

    /// Computes y += A x.
    fn multiply(&mut self) {
        for (y, ends) in self.y.iter_mut().zip(self.begins.windows(2)) {
            let row = ends[0] as usize..ends[1] as usize;
            let entries = self.values[row.clone()].iter().zip(&self.columns[row]);
            *y += entries.map(|(value, &column)| value * self.x[column as usize]).sum::<f64>();
        }
    }
}

impl Part for Sparse {
    fn pass(&mut self) -> Result<(), Fault> {
        self.y.fill(0.0);
        (0..PRODUCTS).for_each(|_| self.multiply());
        self.alike.see(&self.y);
        Ok(())
    }

    /// Computes the product again, all 16 at once, from the last entry to the first.
    fn verify(&mut self) -> Result<(), Fault> {
        let mut y = vec![0.0; ROWS];
        for i in (0..ROWS * IN_ROW).rev() {
            y[i / IN_ROW] += PRODUCTS as f64 * self.values[i] * self.x[self.columns[i] as usize];
        }
        expect(close(&self.y, &y, SHARE), "the product of a sparse matrix")?;
        self.alike.verify("the product of each pass")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_entry_is_detected() {
        let mut sparse = Sparse::new();
        sparse.pass().unwrap();
        sparse.verify().unwrap();
        sparse.y[99] += 1e-6;
        assert_eq!(sparse.verify().unwrap_err().outcome.name(), "invalid");
        sparse.columns[8 * 99] ^= 1;
        sparse.pass().unwrap();
        assert!(sparse.verify().unwrap_err().what.contains("each pass"));
    }
}
