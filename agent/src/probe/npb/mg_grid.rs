//! The grids of MG and their operations: residual, correction, restriction and prolongation.
//!
//! A grid has n^3 points and a shell of copies from the opposite sides. Members own planes. Each operation ends with a
//! complete shell and a barrier of all members, so that the next operation may read anything.

use std::ops::Range;

use super::shared::Array;
use super::team::Member;
use crate::fault::Fault;
use crate::simd::Isa;

/// The minimum row length in addition to the points: one point of the shell at each end.
const SHELL: usize = 2;
/// The largest number of points in a row with its shell: classes have 256.
const ROW: usize = 256 + 16;

/// Values on a cube, `[k][j][i]`, each index from 0 to n + 1.
pub struct Grid {
    pub n: usize,
    /// Doubles from row to row, and from plane to plane: not a multiple of a page, or all would share one cache set.
    row: usize,
    plane: usize,
    values: Array<f64>,
}

impl Grid {
    fn strides(n: usize) -> (usize, usize) {
        let row = (n + SHELL).next_multiple_of(8);
        (row, row * (n + SHELL) + 8)
    }

    pub fn bytes(n: usize) -> u64 {
        (8 * Grid::strides(n).1 * (n + SHELL)) as u64
    }

    pub fn new(n: usize) -> Result<Grid, Fault> {
        let (row, plane) = Grid::strides(n);
        Ok(Grid { n, row, plane, values: Array::new(plane * (n + SHELL))? })
    }

    #[inline(always)]
    pub fn row(&self, k: usize, j: usize) -> *mut f64 {
        self.values.as_ptr().wrapping_add(k * self.plane + j * self.row)
    }

    /// Returns a row with its shell.
    #[inline(always)]
    unsafe fn get(&self, k: usize, j: usize) -> &[f64] {
        std::slice::from_raw_parts(self.row(k, j), self.n + SHELL)
    }

    /// Returns a row that no other thread uses now.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn own(&self, k: usize, j: usize) -> &mut [f64] {
        std::slice::from_raw_parts_mut(self.row(k, j), self.n + SHELL)
    }

    /// Returns the planes of a member, without the shell.
    fn planes(&self, member: &Member) -> Range<usize> {
        let part = member.part(self.n);
        part.start + 1..part.end + 1
    }

    /// Clears a member's planes and the adjacent shell planes; other members may still be clearing theirs.
    pub fn clear(&self, member: &Member) {
        let part = member.part(self.n);
        let first = if part.start == 0 { 0 } else { part.start + 1 };
        let last = if part.end == self.n { self.n + 1 } else { part.end };
        if part.is_empty() {
            return;
        }
        // Safe: shares of different members never overlap.
        unsafe { self.values.part(first * self.plane..(last + 1) * self.plane).fill(0.0) };
    }

    /// Copies both ends of a plane's rows, and its first and last row, to the opposite side.
    unsafe fn wrap_plane(&self, k: usize) {
        let n = self.n;
        for j in 1..=n {
            let row = self.own(k, j);
            row[0] = row[n];
            row[n + 1] = row[1];
        }
        self.own(k, 0).copy_from_slice(self.get(k, n));
        self.own(k, n + 1).copy_from_slice(self.get(k, 1));
    }

    /// Fills the whole shell; every member calls it after writing its planes.
    pub fn wrap(&self, member: &Member) {
        // Safe: planes belong to one member until all meet; each shell plane has one writer.
        unsafe { self.planes(member).for_each(|k| self.wrap_plane(k)) };
        self.wrap_ends(member);
    }

    /// Does the same if the sides of the planes are already filled.
    fn wrap_ends(&self, member: &Member) {
        let (n, planes) = (self.n, self.planes(member));
        for (from, to) in [(n, 0), (1, n + 1)] {
            if planes.contains(&from) {
                unsafe { self.values.as_ptr().add(from * self.plane).copy_to(self.row(to, 0), self.plane) };
            }
        }
        member.meet();
    }

    /// Returns the sum of squares of the points of these planes, counted without the shell.
    pub unsafe fn squares(&self, planes: Range<usize>) -> f64 {
        let mut sums = [0.0; 8];
        for k in planes {
            for j in 1..=self.n {
                for (i, value) in self.get(k + 1, j)[1..=self.n].iter().enumerate() {
                    sums[i % 8] += value * value;
                }
            }
        }
        sums.iter().sum()
    }
}

/// Weights of a point and of its 6, 12 and 8 neighbours across a face, an edge and a corner.
#[derive(Clone, Copy)]
pub struct Weights([f64; 4]);

impl Weights {
    pub fn of(weights: [f64; 4]) -> Weights {
        Weights(weights)
    }
}

/// Compiles a function over planes once for each instruction set, and runs the version of `isa`.
macro_rules! widest {
    ($isa:expr, $work:ident($($argument:ident: $kind:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx2,fma")]
        unsafe fn widest($($argument: $kind),*) {
            $work($($argument),*);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn wide($($argument: $kind),*) {
            $work($($argument),*);
        }
        // Safe: the processor supports them, and each member writes its own planes.
        match $isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { widest($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { wide($($argument),*) },
            Isa::Base => unsafe { $work($($argument),*) },
        }
    }};
}

/// Computes to = right - A u. `right` and `to` may be the same.
pub fn residual(isa: Isa, member: &Member, weights: Weights, u: &Grid, right: &Grid, to: &Grid) {
    let planes = to.planes(member);
    widest!(isa, residual_of(planes: Range<usize>, weights: Weights, u: &Grid, right: &Grid, to: &Grid));
    to.wrap_ends(member);
}

/// Computes u = u + C r.
pub fn correct(isa: Isa, member: &Member, weights: Weights, r: &Grid, u: &Grid) {
    let planes = u.planes(member);
    widest!(isa, correct_of(planes: Range<usize>, weights: Weights, r: &Grid, u: &Grid));
    u.wrap_ends(member);
}

/// Restricts the finer residual to the coarser grid by an average over 27 points.
pub fn restrict(isa: Isa, member: &Member, fine: &Grid, coarse: &Grid) {
    let planes = coarse.planes(member);
    widest!(isa, restrict_of(planes: Range<usize>, fine: &Grid, coarse: &Grid));
    coarse.wrap_ends(member);
}

/// Interpolates the coarser correction and adds it to the finer grid, or stores it there (`fresh`).
pub fn prolong(isa: Isa, member: &Member, coarse: &Grid, fine: &Grid, fresh: bool) {
    let planes = fine.planes(member);
    widest!(isa, prolong_of(planes: Range<usize>, coarse: &Grid, fine: &Grid, fresh: bool));
    fine.wrap_ends(member);
}

/// Sums the four face neighbours and the four edge neighbours, in the plane through each point of a row.
#[inline(always)]
unsafe fn around(grid: &Grid, k: usize, j: usize, faces: &mut [f64; ROW], edges: &mut [f64; ROW]) {
    let len = grid.n + SHELL;
    let rows = [(k, j - 1), (k, j + 1), (k - 1, j), (k + 1, j)].map(|(k, j)| &grid.get(k, j)[..len]);
    let corners = [(k - 1, j - 1), (k - 1, j + 1), (k + 1, j - 1), (k + 1, j + 1)].map(|(k, j)| &grid.get(k, j)[..len]);
    let (faces, edges) = (&mut faces[..len], &mut edges[..len]);
    for i in 0..len {
        faces[i] = rows[0][i] + rows[1][i] + rows[2][i] + rows[3][i];
        edges[i] = corners[0][i] + corners[1][i] + corners[2][i] + corners[3][i];
    }
}

#[inline(always)]
unsafe fn residual_of(planes: Range<usize>, Weights(a): Weights, u: &Grid, right: &Grid, to: &Grid) {
    let (n, mut faces, mut edges) = (to.n, [0.0; ROW], [0.0; ROW]);
    for k in planes {
        for j in 1..=n {
            around(u, k, j, &mut faces, &mut edges);
            // `right` may be the written row, so both are pointers.
            let (here, right, to) = (&u.get(k, j)[..n + 2], right.row(k, j).cast_const(), to.row(k, j));
            let (faces, edges) = (&faces[..n + 2], &edges[..n + 2]);
            for i in 1..=n {
                let over_edges = edges[i] + faces[i - 1] + faces[i + 1];
                let over_corners = edges[i - 1] + edges[i + 1];
                *to.add(i) = *right.add(i) - a[0] * here[i] - a[2] * over_edges - a[3] * over_corners;
            }
        }
        to.wrap_plane(k);
    }
}

#[inline(always)]
unsafe fn correct_of(planes: Range<usize>, Weights(c): Weights, r: &Grid, u: &Grid) {
    let (n, mut faces, mut edges) = (u.n, [0.0; ROW], [0.0; ROW]);
    for k in planes {
        for j in 1..=n {
            around(r, k, j, &mut faces, &mut edges);
            let (here, to) = (&r.get(k, j)[..n + 2], &mut u.own(k, j)[..n + 2]);
            let (faces, edges) = (&faces[..n + 2], &edges[..n + 2]);
            for i in 1..=n {
                let over_faces = here[i - 1] + here[i + 1] + faces[i];
                let over_edges = edges[i] + faces[i - 1] + faces[i + 1];
                to[i] += c[0] * here[i] + c[1] * over_faces + c[2] * over_edges;
            }
        }
        u.wrap_plane(k);
    }
}

/// A coarse point coincides with the fine one at twice its indices.
#[inline(always)]
unsafe fn restrict_of(planes: Range<usize>, fine: &Grid, coarse: &Grid) {
    let (n, mut faces, mut edges) = (coarse.n, [0.0; ROW], [0.0; ROW]);
    for k in planes {
        for j in 1..=n {
            around(fine, 2 * k, 2 * j, &mut faces, &mut edges);
            let (here, to) = (&fine.get(2 * k, 2 * j)[..2 * n + 2], &mut coarse.own(k, j)[..n + 2]);
            let (faces, edges) = (&faces[..2 * n + 2], &edges[..2 * n + 2]);
            for (i, to) in to[..=n].iter_mut().enumerate().skip(1) {
                let at = 2 * i;
                let over_faces = here[at - 1] + here[at + 1] + faces[at];
                let over_edges = edges[at] + faces[at - 1] + faces[at + 1];
                let over_corners = edges[at - 1] + edges[at + 1];
                *to = 0.5 * here[at] + 0.25 * over_faces + 0.125 * over_edges + 0.0625 * over_corners;
            }
        }
        coarse.wrap_plane(k);
    }
}

/// A fine point gets the mean of the one, two, four or eight surrounding coarse points.
#[inline(always)]
unsafe fn prolong_of(planes: Range<usize>, coarse: &Grid, fine: &Grid, fresh: bool) {
    let (n, len) = (fine.n, coarse.n + SHELL);
    let mut mean = [0.0; ROW];
    for k in planes {
        for j in 1..=n {
            // An even index coincides with a coarse one, an odd index lies between two.
            let rows = [(k / 2, j / 2), (k / 2, j.div_ceil(2)), (k.div_ceil(2), j / 2), (k.div_ceil(2), j.div_ceil(2))];
            let rows = rows.map(|(k, j)| &coarse.get(k, j)[..len]);
            let mean = &mut mean[..len];
            for i in 0..len {
                mean[i] = 0.25 * ((rows[0][i] + rows[1][i]) + (rows[2][i] + rows[3][i]));
            }
            let to = &mut fine.own(k, j)[1..=n];
            for (pair, means) in to.chunks_exact_mut(2).zip(mean.windows(2)) {
                let new = [0.5 * (means[0] + means[1]), means[1]];
                for side in 0..2 {
                    pair[side] = new[side] + if fresh { 0.0 } else { pair[side] };
                }
            }
        }
        fine.wrap_plane(k);
    }
}
