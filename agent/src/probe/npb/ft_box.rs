//! The box of FT: complex values on a grid, their evolution, and transforms along its axes.

use std::ops::Range;

use super::fft::{LINES, POINT, Plan, Way, turn};
use super::lcg::{Lcg, SEED};
use super::shared::{Array, Each};
use super::team::{Member, Team};
use crate::fault::Fault;
use crate::simd::{Isa, Lanes, Pair};

/// The diffusion coefficient.
const ALPHA: f64 = 1e-6;
/// The number of points whose values a checksum adds.
const CHECKED: usize = 1024;

/// Points along each axis: powers of two, at least eight.
#[derive(Clone, Copy)]
pub struct Size {
    pub nx: usize,
    pub ny: usize,
    pub nz: usize,
}

impl Size {
    pub fn points(self) -> usize {
        self.nx * self.ny * self.nz
    }

    /// Returns the doubles from row to row and from plane to plane of complex values, with padding that spreads them
    /// over cache sets.
    fn strides(self) -> (usize, usize) {
        let row = 2 * self.nx + POINT;
        (row, self.ny * row + POINT)
    }

    fn longest(self) -> usize {
        self.nx.max(self.ny).max(self.nz)
    }
}

/// Values in the frequency and in the space domain, factors of a time step, and the tools of the transforms.
pub struct Heat {
    size: Size,
    isa: Isa,
    row: usize,
    plane: usize,
    frequency: Array<f64>,
    place: Array<f64>,
    factors: Array<f64>,
    plans: [Plan; 3],
    /// Two buffers per member, each for eight lines.
    rooms: Each<[Array<f64>; 2]>,
}

impl Heat {
    pub fn bytes(size: Size, threads: usize) -> u64 {
        let (_, plane) = size.strides();
        8 * (2 * size.nz * plane + size.points() + 2 * threads * size.longest() * POINT) as u64
    }

    pub fn new(size: Size, isa: Isa, team: &Team) -> Result<Heat, Fault> {
        let (row, plane) = size.strides();
        let room = || Array::new(size.longest() * POINT);
        let mut rooms = (0..team.threads()).map(|_| Ok([room()?, room()?])).collect::<Result<Vec<_>, Fault>>()?;
        Ok(Heat {
            size,
            isa,
            row,
            plane,
            frequency: Array::new(size.nz * plane)?,
            place: Array::new(size.nz * plane)?,
            factors: Array::new(size.points())?,
            plans: [size.nx, size.ny, size.nz].map(Plan::new),
            rooms: Each::new(team, |_| rooms.pop().expect("one for each member")),
        })
    }

    /// Computes the factors, the random initial values, and their transform.
    pub fn begin(&self, team: &Team) {
        team.all(|member| {
            // Safe: planes, and then rows of all planes, belong to one member.
            unsafe {
                for k in member.part(self.size.nz) {
                    self.set_factors(k);
                    self.set_first(k);
                }
                self.planes(member, Way::Forth);
                member.meet();
                self.columns(member, Way::Forth);
            }
        });
    }

    /// Runs one time step; afterwards `place` holds the values in the space domain.
    pub fn step(&self, team: &Team) {
        team.all(|member| {
            // Safe for the same reason as in `begin`.
            unsafe {
                self.columns(member, Way::Back);
                member.meet();
                self.planes(member, Way::Back);
            }
        });
    }

    /// Returns the mean of some values, by the number of points.
    pub fn checksum(&self) -> [f64; 2] {
        let (Size { nx, ny, nz }, mut sum) = (self.size, [0.0; 2]);
        for j in 1..=CHECKED {
            let (i, row, k) = (j % nx, 3 * j % ny, 5 * j % nz);
            // Safe: no member is working.
            let value = unsafe { self.block(&self.place, k, row, i / LINES).add(i % LINES) };
            sum = unsafe { [sum[0] + *value, sum[1] + *value.add(LINES)] };
        }
        sum.map(|part| part / self.size.points() as f64)
    }

    /// Returns a block of eight neighbours along x: their real parts, then their imaginary parts.
    #[inline(always)]
    unsafe fn block(&self, values: &Array<f64>, k: usize, j: usize, block: usize) -> *mut f64 {
        values.as_ptr().add(k * self.plane + j * self.row + block * POINT)
    }

    /// Sets exp(-4 pi^2 alpha |frequency|^2) in a plane.
    unsafe fn set_factors(&self, k: usize) {
        let Size { nx, ny, nz } = self.size;
        let scale = -4.0 * ALPHA * std::f64::consts::PI * std::f64::consts::PI;
        let square = |at: usize, n: usize| {
            let frequency = if at < n / 2 { at } else { n - at };
            frequency * frequency
        };
        for j in 0..ny {
            let others = square(k, nz) + square(j, ny);
            let first = (k * ny + j) * nx;
            for (i, factor) in self.factors.part(first..first + nx).iter_mut().enumerate() {
                *factor = (scale * (square(i, nx) + others) as f64).exp();
            }
        }
    }

    /// Sets random values in a plane: real and imaginary parts alternate, row by row.
    unsafe fn set_first(&self, k: usize) {
        let Size { nx, ny, .. } = self.size;
        let mut numbers = Lcg::after(SEED, (2 * k * nx * ny) as u64);
        for j in 0..ny {
            for i in 0..nx {
                let value = self.block(&self.place, k, j, i / LINES).add(i % LINES);
                *value = numbers.next();
                *value.add(LINES) = numbers.next();
            }
        }
    }

    /// Transforms a member's planes along x and y, or inversely along y and x.
    unsafe fn planes(&self, member: &Member, way: Way) {
        let planes = member.part(self.size.nz);
        let rooms = self.rooms.own(member);
        let [x, y] = [rooms[0].as_ptr(), rooms[1].as_ptr()];
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::planes_avx512(self, planes, way, x, y),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::planes_avx2(self, planes, way, x, y),
            Isa::Base => each_plane::<Pair>(self, planes, way, x, y),
        }
    }

    /// Transforms a member's columns along z, or evolves them and transforms them inversely.
    unsafe fn columns(&self, member: &Member, way: Way) {
        let sheets = member.part(self.size.ny);
        let rooms = self.rooms.own(member);
        let [x, y] = [rooms[0].as_ptr(), rooms[1].as_ptr()];
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::columns_avx512(self, sheets, way, x, y),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::columns_avx2(self, sheets, way, x, y),
            Isa::Base => each_column::<Pair>(self, sheets, way, x, y),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256d, __m512d};
    use std::ops::Range;

    use super::{Heat, Way, each_column, each_plane};

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub unsafe fn planes_avx512(heat: &Heat, planes: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
        each_plane::<__m512d>(heat, planes, way, x, y);
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn planes_avx2(heat: &Heat, planes: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
        each_plane::<__m256d>(heat, planes, way, x, y);
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub unsafe fn columns_avx512(heat: &Heat, sheets: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
        each_column::<__m512d>(heat, sheets, way, x, y);
    }

    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn columns_avx2(heat: &Heat, sheets: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
        each_column::<__m256d>(heat, sheets, way, x, y);
    }
}

#[inline(always)]
unsafe fn each_plane<V: Lanes>(heat: &Heat, planes: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
    for k in planes {
        if way == Way::Forth {
            along_x::<V>(heat, k, way, x, y);
            along_y::<V>(heat, k, way, x, y);
        } else {
            along_y::<V>(heat, k, way, x, y);
            along_x::<V>(heat, k, way, x, y);
        }
    }
}

/// Transforms eight rows at a time, transposed so that they are in parallel lanes.
#[inline(always)]
unsafe fn along_x<V: Lanes>(heat: &Heat, k: usize, way: Way, x: *mut f64, y: *mut f64) {
    let Size { nx, ny, .. } = heat.size;
    for j in (0..ny).step_by(LINES) {
        for block in 0..nx / LINES {
            let from = heat.block(&heat.place, k, j, block);
            let to = x.add(block * LINES * POINT);
            turn::<V>(from, heat.row, to, POINT);
            turn::<V>(from.add(LINES), heat.row, to.add(LINES), POINT);
        }
        let result = heat.plans[0].transform::<V>(way, x, y);
        for block in 0..nx / LINES {
            let to = heat.block(&heat.place, k, j, block);
            let from = result.add(block * LINES * POINT);
            turn::<V>(from, POINT, to, heat.row);
            turn::<V>(from.add(LINES), POINT, to.add(LINES), heat.row);
        }
    }
}

#[inline(always)]
unsafe fn along_y<V: Lanes>(heat: &Heat, k: usize, way: Way, x: *mut f64, y: *mut f64) {
    let Size { nx, ny, .. } = heat.size;
    for block in 0..nx / LINES {
        for j in 0..ny {
            copy::<V>(heat.block(&heat.place, k, j, block), x.add(j * POINT));
        }
        let result = heat.plans[1].transform::<V>(way, x, y);
        for j in 0..ny {
            copy::<V>(result.add(j * POINT), heat.block(&heat.place, k, j, block));
        }
    }
}

/// Transforms along z to frequencies; or multiplies by a time step's factors, stores the frequencies, and inverts.
#[inline(always)]
unsafe fn each_column<V: Lanes>(heat: &Heat, sheets: Range<usize>, way: Way, x: *mut f64, y: *mut f64) {
    let Size { nx, ny, nz } = heat.size;
    let to = if way == Way::Forth { &heat.frequency } else { &heat.place };
    for j in sheets {
        for block in 0..nx / LINES {
            for k in 0..nz {
                if way == Way::Forth {
                    copy::<V>(heat.block(&heat.place, k, j, block), x.add(k * POINT));
                } else {
                    let factors = heat.factors.as_ptr().add((k * ny + j) * nx + block * LINES);
                    evolve::<V>(heat.block(&heat.frequency, k, j, block), factors, x.add(k * POINT));
                }
            }
            let result = heat.plans[2].transform::<V>(way, x, y);
            for k in 0..nz {
                copy::<V>(result.add(k * POINT), heat.block(to, k, j, block));
            }
        }
    }
}

#[inline(always)]
unsafe fn copy<V: Lanes>(from: *const f64, to: *mut f64) {
    for at in (0..POINT).step_by(V::WIDTH) {
        V::load(from.add(at)).store(to.add(at));
    }
}

#[inline(always)]
unsafe fn evolve<V: Lanes>(value: *mut f64, factors: *const f64, to: *mut f64) {
    for at in (0..LINES).step_by(V::WIDTH) {
        let factor = V::load(factors.add(at));
        for part in [at, LINES + at] {
            let new = V::load(value.add(part)).times(factor);
            new.store(value.add(part));
            new.store(to.add(part));
        }
    }
}
