//! A step of the flow in two passes, compiled once for each instruction set.

use std::ops::Range;

use super::lines::{self, Place, block_len};
use super::{Flow, UNKNOWNS, rhs};
use crate::simd::{Isa, Lanes, Pair, load_each, store_each, times_each};

/// The width of the widest lanes.
const WIDEST: usize = 8;

/// One thread's own memory: the blocks of some lines, and interleaved lines along x.
pub struct Scratch {
    blocks: Vec<f64>,
    u: Vec<f64>,
    rhs: Vec<f64>,
}

impl Scratch {
    pub fn new(n: usize) -> Scratch {
        let line = || vec![0.0; n * UNKNOWNS * WIDEST];
        Scratch { blocks: vec![0.0; n * block_len(WIDEST)], u: line(), rhs: line() }
    }

    pub fn bytes(n: usize) -> u64 {
        (n * (block_len(WIDEST) + 2 * UNKNOWNS * WIDEST) * size_of::<f64>()) as u64
    }
}

impl Flow {
    /// Runs the first pass, for inner planes: right-hand side, lines along x, lines along y.
    ///
    /// # Safety
    /// Each plane belongs to one thread, and no thread is in the second pass.
    pub unsafe fn planes(&self, planes: Range<usize>, own: &mut Scratch) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::planes_avx512(self, planes, own),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::planes_avx2(self, planes, own),
            Isa::Base => each_plane::<Pair>(self, planes, own),
        }
    }

    /// Runs the second pass, for inner sheets: lines along z, and the update.
    ///
    /// # Safety
    /// Each sheet belongs to one thread, and no thread is in the first pass.
    pub unsafe fn sheets(&self, sheets: Range<usize>, own: &mut Scratch) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::sheets_avx512(self, sheets, own),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::sheets_avx2(self, sheets, own),
            Isa::Base => each_sheet::<Pair>(self, sheets, own),
        }
    }

    /// Computes the right-hand side alone, for inner planes.
    ///
    /// # Safety
    /// The same as for `planes`.
    pub unsafe fn right_hand_side(&self, planes: Range<usize>) {
        for k in planes {
            rhs::plane::<Pair>(self, k);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256d, __m512d};
    use std::ops::Range;

    use super::{Flow, Scratch, each_plane, each_sheet};

    #[target_feature(enable = "avx512f")]
    pub unsafe fn planes_avx512(flow: &Flow, planes: Range<usize>, own: &mut Scratch) {
        each_plane::<__m512d>(flow, planes, own);
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn planes_avx2(flow: &Flow, planes: Range<usize>, own: &mut Scratch) {
        each_plane::<__m256d>(flow, planes, own);
    }

    #[target_feature(enable = "avx512f")]
    pub unsafe fn sheets_avx512(flow: &Flow, sheets: Range<usize>, own: &mut Scratch) {
        each_sheet::<__m512d>(flow, sheets, own);
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn sheets_avx2(flow: &Flow, sheets: Range<usize>, own: &mut Scratch) {
        each_sheet::<__m256d>(flow, sheets, own);
    }
}

#[inline(always)]
unsafe fn each_plane<V: Lanes>(flow: &Flow, planes: Range<usize>, own: &mut Scratch) {
    let n = flow.size.n;
    let blocks = own.blocks.as_mut_ptr();
    for k in planes {
        rhs::plane::<V>(flow, k);
        for j in (1..n - 1).step_by(V::WIDTH) {
            let u = Place { start: own.u.as_mut_ptr(), number: V::WIDTH, step: UNKNOWNS * V::WIDTH };
            let r = Place { start: own.rhs.as_mut_ptr(), ..u };
            for lane in 0..V::WIDTH {
                // If there are fewer lines than lanes, the extra lanes repeat the last line; their results are not
                // used.
                let row = (j + lane).min(n - 2);
                gather(flow.u.at(k, row), flow.u.number, u.start.add(lane), V::WIDTH, n);
                gather(flow.rhs.at(k, row), flow.rhs.number, r.start.add(lane), V::WIDTH, n);
            }
            lines::solve::<V, 1>(u, r, blocks, flow.size);
            for lane in 0..V::WIDTH.min(n - 1 - j) {
                scatter(flow.rhs.at(k, j + lane), flow.rhs.number, r.start.add(lane), V::WIDTH, n);
            }
        }
        for i in (0..n).step_by(V::WIDTH) {
            let u = Place { start: flow.u.at(k, 0).add(i), number: flow.u.number, step: flow.u.row };
            let r = Place { start: flow.rhs.at(k, 0).add(i), number: flow.rhs.number, step: flow.rhs.row };
            lines::solve::<V, 2>(u, r, blocks, flow.size);
        }
    }
}

/// Copies one row into one lane of interleaved lines.
#[inline(always)]
unsafe fn gather(row: *const f64, number: usize, lane: *mut f64, width: usize, n: usize) {
    for m in 0..UNKNOWNS {
        for i in 0..n {
            *lane.add((i * UNKNOWNS + m) * width) = *row.add(m * number + i);
        }
    }
}

/// Copies the inner points of one lane back into its row.
#[inline(always)]
unsafe fn scatter(row: *mut f64, number: usize, lane: *const f64, width: usize, n: usize) {
    for m in 0..UNKNOWNS {
        for i in 1..n - 1 {
            *row.add(m * number + i) = *lane.add((i * UNKNOWNS + m) * width);
        }
    }
}

#[inline(always)]
unsafe fn each_sheet<V: Lanes>(flow: &Flow, sheets: Range<usize>, own: &mut Scratch) {
    let n = flow.size.n;
    for j in sheets {
        for i in (0..n).step_by(V::WIDTH) {
            let u = Place { start: flow.u.at(0, j).add(i), number: flow.u.number, step: flow.u.plane };
            let r = Place { start: flow.rhs.at(0, j).add(i), number: flow.rhs.number, step: flow.rhs.plane };
            lines::solve::<V, 3>(u, r, own.blocks.as_mut_ptr(), flow.size);
            for k in 1..n - 1 {
                update::<V>(flow, k, j, i);
            }
        }
    }
}

/// Adds the step to the unknowns, and updates the derived values.
#[inline(always)]
unsafe fn update<V: Lanes>(flow: &Flow, k: usize, j: usize, i: usize) {
    let (to, step) = (flow.u.at(k, j).add(i), flow.rhs.at(k, j).add(i));
    let mut u: [V; UNKNOWNS] = load_each(to, flow.u.number);
    for (m, u) in u.iter_mut().enumerate() {
        *u = u.plus(V::load(step.add(m * flow.rhs.number)));
    }
    store_each(&u, to, flow.u.number);
    let per_density = V::splat(1.0).over(u[0]);
    let [_, x, y, z, _] = times_each(&u, per_density);
    let squares = u[3].times_plus(z, u[2].times_plus(y, u[1].times(x)));
    let energy = V::splat(0.5).times(squares);
    let derived = [per_density, x, y, z, energy.times(per_density), energy];
    store_each(&derived, flow.derived.at(k, j).add(i), flow.derived.number);
}
