//! Block tridiagonal systems, one line per lane: forward elimination, back substitution.
//!
//! Only inner points are unknown: at both ends of a line the blocks are the identity and 0, and the solution is 0.

use super::jacobian::{Axis, Block, Gas};
use super::{Size, UNKNOWNS};
use crate::simd::{Lanes, load_each, store_each};

/// The memory layout of a line: the distance between numbers of a point, and between points.
#[derive(Clone, Copy)]
pub struct Place {
    pub start: *mut f64,
    pub number: usize,
    pub step: usize,
}

/// Returns the doubles of a block, for all lanes.
pub const fn block_len(width: usize) -> usize {
    UNKNOWNS * UNKNOWNS * width
}

impl Place {
    #[inline(always)]
    unsafe fn get<V: Lanes>(&self, point: usize) -> [V; UNKNOWNS] {
        load_each(self.start.add(point * self.step), self.number)
    }

    #[inline(always)]
    unsafe fn put<V: Lanes>(&self, point: usize, values: &[V; UNKNOWNS]) {
        store_each(values, self.start.add(point * self.step), self.number);
    }
}

/// Solves the lines along axis D (1, 2, 3) through `u`: `r` holds the right-hand side on entry, the solution on
/// return.
///
/// `blocks` has room for one block per point.
#[inline(always)]
pub unsafe fn solve<V: Lanes, const D: usize>(u: Place, r: Place, blocks: *mut f64, size: Size) {
    let axis = Axis::<V>::new(size, D - 1);
    let n = size.n;
    let mut before = Gas::<V>::new(u.get(0));
    let mut here = Gas::new(u.get(1));
    let zero = V::splat(0.0);
    let mut last = [zero; UNKNOWNS];
    for point in 1..n - 1 {
        let after = Gas::new(u.get(point + 1));
        let mut middle = here.middle::<D>(&axis);
        let mut own: [V; UNKNOWNS] = r.get(point);
        if point > 1 {
            let lower = before.lower::<D>(&axis);
            subtract(&mut middle, &lower, blocks.add((point - 1) * block_len(V::WIDTH)));
            subtract_column(&mut own, &lower, &last);
        }
        let inverse = factor(&mut middle);
        let upper = after.upper::<D>(&axis);
        for column in 0..UNKNOWNS {
            let mut solved = [zero; UNKNOWNS];
            for row in 0..UNKNOWNS {
                solved[row] = upper[row][column];
            }
            substitute(&middle, &inverse, &mut solved);
            store_each(&solved, blocks.add(point * block_len(V::WIDTH) + column * UNKNOWNS * V::WIDTH), V::WIDTH);
        }
        substitute(&middle, &inverse, &mut own);
        r.put(point, &own);
        last = own;
        before = here;
        here = after;
    }
    for point in (1..n - 2).rev() {
        let mut own = r.get(point);
        let block = blocks.add(point * block_len(V::WIDTH));
        for column in 0..UNKNOWNS {
            for row in 0..UNKNOWNS {
                let factor = V::load(block.add((column * UNKNOWNS + row) * V::WIDTH));
                own[row] = factor.times_from(last[column], own[row]);
            }
        }
        r.put(point, &own);
        last = own;
    }
}

/// Subtracts the product of `lower` and a stored block, which is stored by columns, from `middle`.
#[inline(always)]
unsafe fn subtract<V: Lanes>(middle: &mut Block<V>, lower: &Block<V>, stored: *const f64) {
    for column in 0..UNKNOWNS {
        let from = stored.add(column * UNKNOWNS * V::WIDTH);
        for inner in 0..UNKNOWNS {
            let value = V::load(from.add(inner * V::WIDTH));
            for row in 0..UNKNOWNS {
                middle[row][column] = lower[row][inner].times_from(value, middle[row][column]);
            }
        }
    }
}

#[inline(always)]
unsafe fn subtract_column<V: Lanes>(own: &mut [V; UNKNOWNS], lower: &Block<V>, other: &[V; UNKNOWNS]) {
    for inner in 0..UNKNOWNS {
        for row in 0..UNKNOWNS {
            own[row] = lower[row][inner].times_from(other[inner], own[row]);
        }
    }
}

/// Factors a block in place, L U without row exchanges; returns the inverse of U's diagonal.
#[inline(always)]
unsafe fn factor<V: Lanes>(block: &mut Block<V>) -> [V; UNKNOWNS] {
    let mut inverse = [V::splat(1.0); UNKNOWNS];
    for pivot in 0..UNKNOWNS {
        inverse[pivot] = inverse[pivot].over(block[pivot][pivot]);
        for row in pivot + 1..UNKNOWNS {
            block[row][pivot] = block[row][pivot].times(inverse[pivot]);
            for column in pivot + 1..UNKNOWNS {
                block[row][column] = block[row][pivot].times_from(block[pivot][column], block[row][column]);
            }
        }
    }
    inverse
}

/// Solves for one right-hand side with a factored block.
#[inline(always)]
unsafe fn substitute<V: Lanes>(block: &Block<V>, inverse: &[V; UNKNOWNS], x: &mut [V; UNKNOWNS]) {
    for column in 0..UNKNOWNS - 1 {
        for row in column + 1..UNKNOWNS {
            x[row] = block[row][column].times_from(x[column], x[row]);
        }
    }
    for column in (0..UNKNOWNS).rev() {
        x[column] = x[column].times(inverse[column]);
        for row in 0..column {
            x[row] = block[row][column].times_from(x[column], x[row]);
        }
    }
}
