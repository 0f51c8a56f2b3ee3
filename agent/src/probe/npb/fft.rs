//! Complex Fourier transforms of a power of two points, eight lines in parallel.
//!
//! Stockham's self-sorting form with radix-4 steps, and one radix-2 step if the power is odd. A point is eight real
//! parts and eight imaginary ones, one for each line, so that every operation works on whole vectors.

use crate::simd::Lanes;

/// The number of lines that are transformed together.
pub const LINES: usize = 8;
/// Doubles of a point.
pub const POINT: usize = 2 * LINES;
/// Roots of unity of a butterfly of four.
const ROOTS: usize = 6;

/// The direction: with exp(-2 pi i jk/n), or with its conjugate and no scaling. The second is the first with real and
/// imaginary parts exchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Forth,
    Back,
}

/// The roots of unity of one length.
pub struct Plan {
    n: usize,
    /// For each radix-4 step, first to last, and each of its butterflies: the root, its square and its cube.
    roots: Vec<f64>,
}

impl Plan {
    pub fn new(n: usize) -> Plan {
        debug_assert!(n.is_power_of_two());
        let (mut roots, mut left) = (Vec::new(), n);
        while left >= 4 {
            for p in 0..left / 4 {
                for power in 1..=3 {
                    let angle = -std::f64::consts::TAU * (power * p) as f64 / left as f64;
                    roots.extend([angle.cos(), angle.sin()]);
                }
            }
            left /= 4;
        }
        Plan { n, roots }
    }

    /// Transforms the lines in `x`, with `y` as a buffer of the same size; returns the address of the result.
    ///
    /// # Safety
    /// Both are `n * POINT` doubles; the processor supports the instructions of `V`.
    #[inline(always)]
    pub unsafe fn transform<V: Lanes>(&self, way: Way, mut x: *mut f64, mut y: *mut f64) -> *mut f64 {
        let (re, im) = if way == Way::Forth { (0, LINES) } else { (LINES, 0) };
        let (mut left, mut stride, mut roots) = (self.n, 1, self.roots.as_ptr());
        while left >= 4 {
            by_four::<V>(left, stride, roots, [x.add(re), x.add(im)], [y.add(re), y.add(im)]);
            roots = roots.add(ROOTS * left / 4);
            left /= 4;
            stride *= 4;
            std::mem::swap(&mut x, &mut y);
        }
        if left == 2 {
            by_two::<V>(stride, x, y);
            std::mem::swap(&mut x, &mut y);
        }
        x
    }
}

/// Runs one radix-4 step: butterflies of four points that are a quarter of `left` apart.
#[inline(always)]
unsafe fn by_four<V: Lanes>(left: usize, stride: usize, roots: *const f64, from: [*mut f64; 2], to: [*mut f64; 2]) {
    let apart = left / 4 * stride * POINT;
    for p in 0..left / 4 {
        let mut root = [V::splat(1.0); ROOTS];
        for (m, root) in root.iter_mut().enumerate() {
            *root = V::splat(*roots.add(p * ROOTS + m));
        }
        for at in 0..stride * LINES / V::WIDTH {
            let (point, lane) = (at * V::WIDTH / LINES, at * V::WIDTH % LINES);
            let x = (p * stride + point) * POINT + lane;
            let y = (4 * p * stride + point) * POINT + lane;
            butterfly::<V>(&root, p == 0, from.map(|part| part.add(x)), apart, to.map(|part| part.add(y)), stride);
        }
    }
}

/// Transforms four points of some lines; `plain` if all roots are 1.
#[inline(always)]
unsafe fn butterfly<V: Lanes>(
    root: &[V; ROOTS],
    plain: bool,
    [re, im]: [*mut f64; 2],
    apart: usize,
    [to_re, to_im]: [*mut f64; 2],
    stride: usize,
) {
    let (a, b) = ([V::load(re), V::load(im)], [V::load(re.add(apart)), V::load(im.add(apart))]);
    let (c, d) = (
        [V::load(re.add(2 * apart)), V::load(im.add(2 * apart))],
        [V::load(re.add(3 * apart)), V::load(im.add(3 * apart))],
    );
    let (ac, bd) = ([a[0].plus(c[0]), a[1].plus(c[1])], [b[0].plus(d[0]), b[1].plus(d[1])]);
    let (a_c, b_d) = ([a[0].minus(c[0]), a[1].minus(c[1])], [b[0].minus(d[0]), b[1].minus(d[1])]);
    let mut out = [
        [ac[0].plus(bd[0]), ac[1].plus(bd[1])],
        [a_c[0].plus(b_d[1]), a_c[1].minus(b_d[0])],
        [ac[0].minus(bd[0]), ac[1].minus(bd[1])],
        [a_c[0].minus(b_d[1]), a_c[1].plus(b_d[0])],
    ];
    if !plain {
        for m in 1..4 {
            let (w_re, w_im, [z_re, z_im]) = (root[2 * m - 2], root[2 * m - 1], out[m]);
            out[m] = [z_im.times_from(w_im, z_re.times(w_re)), z_re.times_plus(w_im, z_im.times(w_re))];
        }
    }
    for (m, [z_re, z_im]) in out.iter().enumerate() {
        z_re.store(to_re.add(m * stride * POINT));
        z_im.store(to_im.add(m * stride * POINT));
    }
}

/// Runs the last step of an odd power: sums and differences of both halves.
#[inline(always)]
unsafe fn by_two<V: Lanes>(stride: usize, from: *const f64, to: *mut f64) {
    let half = stride * POINT;
    for at in (0..half).step_by(V::WIDTH) {
        let (a, b) = (V::load(from.add(at)), V::load(from.add(half + at)));
        a.plus(b).store(to.add(at));
        a.minus(b).store(to.add(half + at));
    }
}

/// Transposes 8 x 8 doubles: rows are `apart` doubles apart in `from`, columns `to_apart` doubles apart in `to`.
///
/// # Safety
/// If lanes are four or more wide, the processor supports AVX2.
#[inline(always)]
pub unsafe fn turn<V: Lanes>(from: *const f64, apart: usize, to: *mut f64, to_apart: usize) {
    #[cfg(target_arch = "x86_64")]
    if V::WIDTH >= 4 {
        for (row, column) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
            turn_four(from.add(row * apart + column), apart, to.add(column * to_apart + row), to_apart);
        }
        return;
    }
    for row in 0..8 {
        for column in 0..8 {
            *to.add(column * to_apart + row) = *from.add(row * apart + column);
        }
    }
}

/// Does the same for 4 x 4.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_four(from: *const f64, apart: usize, to: *mut f64, to_apart: usize) {
    use std::arch::x86_64::*;
    let (a, b) = (_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(apart)));
    let (c, d) = (_mm256_loadu_pd(from.add(2 * apart)), _mm256_loadu_pd(from.add(3 * apart)));
    let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (low2, high2) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    _mm256_storeu_pd(to, _mm256_permute2f128_pd::<0x20>(low, low2));
    _mm256_storeu_pd(to.add(to_apart), _mm256_permute2f128_pd::<0x20>(high, high2));
    _mm256_storeu_pd(to.add(2 * to_apart), _mm256_permute2f128_pd::<0x31>(low, low2));
    _mm256_storeu_pd(to.add(3 * to_apart), _mm256_permute2f128_pd::<0x31>(high, high2));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::simd::Pair;

    /// Computes the sum of the definition, line by line.
    fn slow(way: Way, n: usize, x: &[f64]) -> Vec<f64> {
        let sign = if way == Way::Forth { -1.0 } else { 1.0 };
        let mut y = vec![0.0; x.len()];
        for line in 0..LINES {
            for j in 0..n {
                for k in 0..n {
                    let angle = sign * std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                    let (re, im) = (x[k * POINT + line], x[k * POINT + LINES + line]);
                    y[j * POINT + line] += re * angle.cos() - im * angle.sin();
                    y[j * POINT + LINES + line] += re * angle.sin() + im * angle.cos();
                }
            }
        }
        y
    }

    #[test]
    fn every_length_is_the_sum_of_the_definition_both_ways() {
        let mut rng = Rng::new(5, 0);
        for n in [1, 2, 4, 8, 32, 64, 128] {
            for way in [Way::Forth, Way::Back] {
                let first: Vec<f64> = (0..n * POINT).map(|_| rng.centred()).collect();
                let (mut x, mut y) = (first.clone(), vec![0.0; n * POINT]);
                let plan = Plan::new(n);
                let result = unsafe { plan.transform::<Pair>(way, x.as_mut_ptr(), y.as_mut_ptr()) };
                let result = unsafe { std::slice::from_raw_parts(result, n * POINT) };
                let worst = result.iter().zip(slow(way, n, &first)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-13 * n as f64, "{n} {worst}");
            }
        }
    }
}
