//! Dense linear systems: recursive LU with partial pivoting (Toledo 1997); the `gemm` crate computes its products.
//!
//! Matrices are column-major. Recursion puts nearly all work into products of large blocks. The columns to the right
//! of a factored half are independent, so threads share them.

use gemm_common::Parallelism;

/// A block of a column-major matrix.
#[derive(Clone, Copy)]
struct Block {
    start: *mut f64,
    stride: usize,
}

unsafe impl Send for Block {}
unsafe impl Sync for Block {}

/// The number of columns factored, and of rows solved, without recursion.
const LEAF: usize = 16;
/// Fewer columns than this do not justify a second thread.
const SHARE: usize = 32;

impl Block {
    fn at(self, row: usize, column: usize) -> Block {
        Block { start: unsafe { self.start.add(row + column * self.stride) }, ..self }
    }

    /// Returns `length` elements of a column. The caller holds no other slice of them.
    #[inline(always)]
    unsafe fn column<'a>(self, column: usize, length: usize) -> &'a mut [f64] {
        std::slice::from_raw_parts_mut(self.start.add(column * self.stride), length)
    }
}

/// Factors the `n` x `n` matrix in place, `P A = L U`; returns the row exchanges in order.
///
/// With `threads` > 1 it must run inside a rayon pool with that many threads.
pub fn factor(matrix: &mut [f64], n: usize, threads: usize) -> Vec<usize> {
    assert_eq!(matrix.len(), n * n);
    let mut swaps = vec![0; n];
    unsafe { factor_block(Block { start: matrix.as_mut_ptr(), stride: n }, n, n, &mut swaps, threads) };
    swaps
}

/// Solves `A x = b` from the factors; `x` holds b on entry.
pub fn solve(factors: &[f64], swaps: &[usize], x: &mut [f64]) {
    let n = x.len();
    assert_eq!((factors.len(), swaps.len()), (n * n, n));
    for (row, &other) in swaps.iter().enumerate() {
        x.swap(row, other);
    }
    for j in 0..n {
        let (done, rest) = x.split_at_mut(j + 1);
        subtract(rest, done[j], &factors[j * n + j + 1..(j + 1) * n]);
    }
    for j in (0..n).rev() {
        x[j] /= factors[j * n + j];
        let (rest, done) = x.split_at_mut(j);
        subtract(rest, done[0], &factors[j * n..j * n + j]);
    }
}

/// Returns HPL's scaled residual, ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), with maximum norms; below 16 passes.
///
/// `make_column` writes a column of A.
pub fn scaled_residual(make_column: impl Fn(usize, &mut [f64]), x: &[f64], b: &[f64]) -> f64 {
    let n = x.len();
    let (mut error, mut row_sums, mut column) = (b.to_vec(), vec![0.0_f64; n], vec![0.0_f64; n]);
    for (j, value) in x.iter().enumerate() {
        make_column(j, &mut column);
        for i in 0..n {
            error[i] -= column[i] * value;
            row_sums[i] += column[i].abs();
        }
    }
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    // `max` ignores NaN, but a sum does not.
    if !error.iter().sum::<f64>().is_finite() {
        return f64::INFINITY;
    }
    let scale = f64::EPSILON * (largest(&row_sums) * largest(x) + largest(b)) * n as f64;
    largest(&error) / scale
}

/// Factors a block of `rows` >= `columns`.
unsafe fn factor_block(a: Block, rows: usize, columns: usize, swaps: &mut [usize], threads: usize) {
    if columns <= LEAF {
        return factor_leaf(a, rows, columns, swaps);
    }
    let left = (columns / 2).next_multiple_of(LEAF).min(columns - 1);
    let (left_swaps, right_swaps) = swaps.split_at_mut(left);
    factor_block(a, rows, left, left_swaps, threads);
    share(left, columns, threads, &|first, last| update(a, rows, left, first, last, left_swaps));
    factor_block(a.at(left, left), rows - left, columns - left, right_swaps, threads);
    share(0, left, threads, &|first, last| exchange(a.at(left, first), rows - left, last - first, right_swaps));
    for swap in right_swaps {
        *swap += left;
    }
}

/// Splits columns `first..last` into one share per thread.
fn share(first: usize, last: usize, threads: usize, work: &(dyn Fn(usize, usize) + Sync)) {
    if threads == 1 || last - first < 2 * SHARE {
        return work(first, last);
    }
    let half = threads / 2;
    let middle = first + ((last - first) * half / threads).next_multiple_of(8).min(last - first);
    rayon::join(|| share(first, middle, half, work), || share(middle, last, threads - half, work));
}

/// A square column-major matrix.
#[derive(Clone, Copy)]
pub struct Square {
    pub start: *mut f64,
    pub n: usize,
}

/// Computes `c = a b`; with `threads` > 1 it must run inside a rayon pool with that many threads.
pub fn multiply(c: Square, a: Square, b: Square, threads: usize) {
    let block = |square: Square| Block { start: square.start, stride: square.n };
    let (n, a, b, c) = (a.n, block(a), block(b), block(c));
    share(0, n, threads, &|first, last| {
        product(c.at(0, first), a, b.at(0, first), (n, last - first, n), false);
    });
}

/// Returns the instruction set of the products, as the `gemm` crate chooses it.
pub fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if wide {
            return "avx512f";
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return "avx2+fma";
        }
    }
    if cfg!(target_arch = "aarch64") { "neon" } else { "scalar" }
}

/// Returns the kernel and instruction set of the products, the counterpart of a BLAS's name.
pub fn kernel() -> &'static str {
    match isa() {
        "avx512f" => "gemm-f64 x86-v4",
        "avx2+fma" => "gemm-f64 x86-v3",
        "neon" => "gemm-f64 neon",
        _ => "gemm-f64 scalar",
    }
}

/// Updates columns `first..last` with the `left` factored ones: exchanges, triangle, product.
fn update(a: Block, rows: usize, left: usize, first: usize, last: usize, swaps: &[usize]) {
    let columns = last - first;
    if columns == 0 {
        return;
    }
    exchange(a.at(0, first), rows, columns, swaps);
    triangle(a, a.at(0, first), left, columns);
    subtract_product(a.at(left, first), a.at(left, 0), a.at(0, first), rows - left, columns, left);
}

/// Applies row exchanges, column by column.
fn exchange(a: Block, rows: usize, columns: usize, swaps: &[usize]) {
    for j in 0..columns {
        let column = unsafe { a.column(j, rows) };
        for (row, &other) in swaps.iter().enumerate() {
            column.swap(row, other);
        }
    }
}

/// Solves `L X = B` in place, L the unit lower triangle of `lower`.
fn triangle(lower: Block, b: Block, n: usize, columns: usize) {
    if n <= LEAF {
        for j in 0..columns {
            let column = unsafe { b.column(j, n) };
            for k in 0..n {
                let (done, rest) = column.split_at_mut(k + 1);
                let below = unsafe { &lower.column(k, n)[k + 1..] };
                rest.iter_mut().zip(below).for_each(|(value, factor)| *value -= done[k] * factor);
            }
        }
        return;
    }
    let top = (n / 2).next_multiple_of(LEAF).min(n - 1);
    triangle(lower, b, top, columns);
    subtract_product(b.at(top, 0), lower.at(top, 0), b, n - top, columns, top);
    triangle(lower.at(top, top), b.at(top, 0), n - top, columns);
}

/// Computes `c -= a b`; c has `rows` x `columns`, the inner dimension is `inner`.
fn subtract_product(c: Block, a: Block, b: Block, rows: usize, columns: usize, inner: usize) {
    product(c, a, b, (rows, columns, inner), true);
}

/// Computes `c = a b`, or `c -= a b`.
fn product(c: Block, a: Block, b: Block, (rows, columns, inner): (usize, usize, usize), subtract: bool) {
    let (cs, as_, bs) = (c.stride as isize, a.stride as isize, b.stride as isize);
    unsafe {
        gemm_f64::gemm::f64::get_gemm_fn()(
            rows,
            columns,
            inner,
            c.start,
            cs,
            1,
            subtract,
            a.start,
            as_,
            1,
            b.start,
            bs,
            1,
            if subtract { 1.0 } else { 0.0 },
            if subtract { -1.0 } else { 1.0 },
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Factors a narrow block, one column after another.
fn factor_leaf(a: Block, rows: usize, columns: usize, swaps: &mut [usize]) {
    for j in 0..columns {
        let column = unsafe { a.column(j, rows) };
        let pivot = (j..rows).fold(j, |best, i| if column[i].abs() > column[best].abs() { i } else { best });
        swaps[j] = pivot;
        for k in 0..columns {
            unsafe { a.column(k, rows) }.swap(j, pivot);
        }
        let scale = 1.0 / unsafe { a.column(j, rows) }[j];
        let factors = unsafe { &mut a.column(j, rows)[j + 1..] };
        factors.iter_mut().for_each(|value| *value *= scale);
        for k in j + 1..columns {
            let column = unsafe { a.column(k, rows) };
            let top = column[j];
            subtract(&mut column[j + 1..], top, factors);
        }
    }
}

/// Computes `y -= f x`, with the widest vectors available.
#[inline]
fn subtract(y: &mut [f64], f: f64, x: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return unsafe { subtract_avx512(y, f, x) };
        }
        if is_x86_feature_detected!("avx2") {
            return unsafe { subtract_avx2(y, f, x) };
        }
    }
    subtract_any(y, f, x);
}

#[inline(always)]
fn subtract_any(y: &mut [f64], f: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(value, factor)| *value -= f * factor);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn subtract_avx512(y: &mut [f64], f: f64, x: &[f64]) {
    subtract_any(y, f, x);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn subtract_avx2(y: &mut [f64], f: f64, x: &[f64]) {
    subtract_any(y, f, x);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(matrix: &[f64], n: usize) -> impl Fn(usize, &mut [f64]) {
        move |j, column| column.copy_from_slice(&matrix[j * n..(j + 1) * n])
    }
    use crate::rng::Rng;

    #[test]
    fn solves_systems_of_awkward_sizes() {
        for n in [1, 2, 15, 16, 17, 33, 100, 257] {
            let mut rng = Rng::new(n as u64, 0);
            let matrix: Vec<f64> = (0..n * n).map(|_| rng.centred()).collect();
            let b: Vec<f64> = (0..n).map(|_| rng.centred()).collect();
            for threads in [1, 3] {
                let (mut factors, mut x) = (matrix.clone(), b.clone());
                let swaps = factor(&mut factors, n, threads);
                solve(&factors, &swaps, &mut x);
                assert!(scaled_residual(columns(&matrix, n), &x, &b) < 16.0, "n = {n}, {threads} threads");
                x[n / 2] += 1e-3;
                assert!(scaled_residual(columns(&matrix, n), &x, &b) > 16.0, "a wrong answer must show");
            }
        }
        assert_eq!(scaled_residual(columns(&[1.0], 1), &[f64::NAN], &[1.0]), f64::INFINITY);
    }
}
