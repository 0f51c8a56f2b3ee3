//! The sparse matrix of CG: a sum of outer products of random sparse vectors, built as in the originals.

use super::lcg::{Lcg, SEED};

/// The approximate smallest eigenvalue before the shift, and the last outer product's weight relative to the first's.
const CONDITION: f64 = 0.1;

/// A matrix by rows, with ordered columns.
pub struct Matrix {
    /// Row i is `starts[i]..starts[i + 1]` of the other arrays.
    pub starts: Vec<u32>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

/// Returns the largest possible number of elements.
pub fn most_elements(n: usize, per_vector: usize) -> usize {
    n * (per_vector + 1) * (per_vector + 1)
}

impl Matrix {
    /// Builds a matrix of `n` rows, from vectors with `per_vector` random places and the diagonal one.
    ///
    /// An element is a sum over the vectors in their order, and the diagonal's shift is added with its own vector, so
    /// that the rounding is the same as in the originals.
    pub fn new(n: usize, per_vector: usize, shift: f64) -> Matrix {
        let vectors = vectors(n, per_vector);
        let holders = holders(n, &vectors);
        let weights = weights(n);
        let most = most_elements(n, per_vector);
        let mut matrix = Matrix { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        matrix.columns.reserve(most);
        matrix.values.reserve(most);
        let (mut sums, mut seen, mut places) = (vec![0.0; n], vec![false; n], Vec::new());
        for (row, holders) in holders.iter().enumerate() {
            for &(vector, value) in holders {
                for &(column, factor) in &vectors[vector as usize] {
                    let mut term = factor * (weights[vector as usize] * value);
                    if column as usize == row && vector as usize == row {
                        term = term + CONDITION - shift;
                    }
                    sums[column as usize] += term;
                    if !std::mem::replace(&mut seen[column as usize], true) {
                        places.push(column);
                    }
                }
            }
            places.sort_unstable();
            for column in places.drain(..) {
                matrix.columns.push(column);
                matrix.values.push(std::mem::take(&mut sums[column as usize]));
                seen[column as usize] = false;
            }
            matrix.starts.push(matrix.columns.len() as u32);
        }
        matrix
    }
}

/// Returns a sparse vector for each i: distinct random places with random values, and 1/2 at place i.
fn vectors(n: usize, per_vector: usize) -> Vec<Vec<(u32, f64)>> {
    let mut numbers = Lcg(SEED);
    // The originals draw one number before they begin.
    numbers.next();
    let reach = n.next_power_of_two() as f64;
    let one = |i: usize| {
        let mut vector: Vec<(u32, f64)> = Vec::with_capacity(per_vector + 1);
        while vector.len() < per_vector {
            let (value, place) = (numbers.next(), (numbers.next() * reach) as usize);
            if place < n && vector.iter().all(|&(other, _)| other as usize != place) {
                vector.push((place as u32, value));
            }
        }
        match vector.iter_mut().find(|(place, _)| *place as usize == i) {
            Some((_, value)) => *value = 0.5,
            None => vector.push((i as u32, 0.5)),
        }
        vector
    };
    (0..n).map(one).collect()
}

/// Returns, for each place, the vectors with an element there, in their order, and the element's value.
fn holders(n: usize, vectors: &[Vec<(u32, f64)>]) -> Vec<Vec<(u32, f64)>> {
    let mut holders = vec![Vec::new(); n];
    for (i, vector) in vectors.iter().enumerate() {
        vector.iter().for_each(|&(place, value)| holders[place as usize].push((i as u32, value)));
    }
    holders
}

/// Returns the weights of the outer products: a geometric series from 1 to about `CONDITION`.
fn weights(n: usize) -> Vec<f64> {
    let ratio = CONDITION.powf(1.0 / n as f64);
    std::iter::successors(Some(1.0), |weight| Some(weight * ratio)).take(n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_symmetric_with_ordered_columns_and_a_diagonal() {
        let n = 200;
        let matrix = Matrix::new(n, 5, 100.0);
        let row = |i: usize| matrix.starts[i] as usize..matrix.starts[i + 1] as usize;
        let element = |i: usize, j: usize| {
            let index = matrix.columns[row(i)].binary_search(&(j as u32)).ok();
            index.map(|at| matrix.values[row(i)][at])
        };
        for i in 0..n {
            assert!(matrix.columns[row(i)].windows(2).all(|pair| pair[0] < pair[1]));
            assert!(element(i, i).unwrap() < -90.0);
            for &j in &matrix.columns[row(i)] {
                let (here, there) = (element(i, j as usize).unwrap(), element(j as usize, i).unwrap());
                assert!((here - there).abs() < 1e-12, "{i} {j}");
            }
        }
        assert!(matrix.values.len() > 10 * n && matrix.values.len() <= most_elements(n, 5));
    }
}
