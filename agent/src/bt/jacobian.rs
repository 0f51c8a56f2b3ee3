//! The blocks of a line's system at one point: derivatives of flux and viscosity along an axis, by the unknowns.

use super::{C1, C2, C3C4, C1345, FOUR_THIRDS, SECOND_ORDER, Size, UNKNOWNS};
use crate::simd::{Lanes, times_each};

pub type Block<V> = [[V; UNKNOWNS]; UNKNOWNS];

/// The factors of the blocks of one axis.
pub struct Axis<V> {
    /// dt over twice the distance between two points.
    half: V,
    /// dt over the square of the distance, times the second-order dissipation.
    second: V,
    /// dt over the square of the distance, times the viscosity: across the axis, along it, and of heat.
    across: V,
    along: V,
    heat: V,
}

impl<V: Lanes> Axis<V> {
    #[inline(always)]
    pub unsafe fn new(size: Size, axis: usize) -> Axis<V> {
        let per_step = (size.n - 1) as f64;
        let full = size.dt * per_step * per_step;
        Axis {
            half: V::splat(0.5 * size.dt * per_step),
            second: V::splat(full * SECOND_ORDER[axis]),
            across: V::splat(full * C3C4),
            along: V::splat(full * C3C4 * FOUR_THIRDS),
            heat: V::splat(full * C1345),
        }
    }
}

/// The gas at a point: 1/density, velocities, half of their squares, energy over density.
#[derive(Clone, Copy)]
pub struct Gas<V> {
    per_density: V,
    velocity: [V; 3],
    half_square: V,
    energy: V,
}

impl<V: Lanes> Gas<V> {
    #[inline(always)]
    pub unsafe fn new(u: [V; UNKNOWNS]) -> Gas<V> {
        let per_density = V::splat(1.0).over(u[0]);
        let [_, x, y, z, energy] = times_each(&u, per_density);
        let half_square = V::splat(0.5).times(x.times_plus(x, y.times_plus(y, z.times(z))));
        Gas { per_density, velocity: [x, y, z], half_square, energy }
    }

    /// Returns dt/2h times the derivatives of the flux, along axis D.
    #[inline(always)]
    unsafe fn flux<const D: usize>(&self, axis: &Axis<V>) -> Block<V> {
        let (zero, t, c2) = (V::splat(0.0), axis.half, V::splat(C2).times(axis.half));
        let v = times_each(&self.velocity, t);
        let (along, t_along) = (self.velocity[D - 1], v[D - 1]);
        let mut f = [[zero; UNKNOWNS]; UNKNOWNS];
        f[0][D] = t;
        for m in 1..=3 {
            f[m][0] = v[m - 1].times_from(along, zero);
            f[m][m] = t_along;
            f[m][D] = v[m - 1];
            f[D][m] = V::splat(-C2).times(v[m - 1]);
            f[4][m] = f[D][m].times(along);
        }
        f[D][0] = c2.times_plus(self.half_square, f[D][0]);
        f[D][D] = V::splat(2.0 - C2).times(t_along);
        f[D][4] = c2;
        let heat = V::splat(C1).times(self.energy);
        f[4][0] = V::splat(2.0 * C2).times(self.half_square).minus(heat).times(t_along);
        f[4][D] = c2.times_from(along.times_plus(along, self.half_square), heat.times(t));
        f[4][4] = V::splat(C1).times(t_along);
        f
    }

    /// Returns dt/h^2 times the derivatives of the viscosity, along axis D, with the dissipation's on the diagonal.
    #[inline(always)]
    unsafe fn viscosity<const D: usize>(&self, axis: &Axis<V>) -> Viscosity<V> {
        let zero = V::splat(0.0);
        let (mut first, mut own, mut last) = ([zero; 5], [axis.second; 5], [zero; 5]);
        let heat = axis.heat.times(self.per_density);
        first[4] = heat.times_from(self.energy, zero);
        for m in 1..=3 {
            let factor = if m == D { axis.along } else { axis.across }.times(self.per_density);
            let v = self.velocity[m - 1];
            own[m] = own[m].plus(factor);
            first[m] = factor.times_from(v, zero);
            last[m] = factor.minus(heat).times(v);
            first[4] = last[m].times_from(v, first[4]);
        }
        own[4] = own[4].plus(heat);
        Viscosity { first, own, last }
    }

    /// Returns the block that couples a point to this one, the point before it.
    #[inline(always)]
    pub unsafe fn lower<const D: usize>(&self, axis: &Axis<V>) -> Block<V> {
        let mut flux = self.flux::<D>(axis);
        for row in &mut flux {
            *row = times_each(row, V::splat(-1.0));
        }
        self.viscosity::<D>(axis).taken_from(flux)
    }

    /// Returns the block that couples a point to this one, the point after it.
    #[inline(always)]
    pub unsafe fn upper<const D: usize>(&self, axis: &Axis<V>) -> Block<V> {
        self.viscosity::<D>(axis).taken_from(self.flux::<D>(axis))
    }

    /// Returns the block of the point itself.
    #[inline(always)]
    pub unsafe fn middle<const D: usize>(&self, axis: &Axis<V>) -> Block<V> {
        let Viscosity { first, own, last } = self.viscosity::<D>(axis);
        let twice = V::splat(-2.0);
        let both = Viscosity {
            first: times_each(&first, twice),
            own: times_each(&own, twice),
            last: times_each(&last, twice),
        };
        let mut unit = [[V::splat(0.0); UNKNOWNS]; UNKNOWNS];
        for (m, row) in unit.iter_mut().enumerate() {
            row[m] = V::splat(1.0);
        }
        both.taken_from(unit)
    }
}

/// The nonzero derivatives of the viscosity: the first column, the diagonal and the last row.
struct Viscosity<V> {
    first: [V; UNKNOWNS],
    own: [V; UNKNOWNS],
    last: [V; UNKNOWNS],
}

impl<V: Lanes> Viscosity<V> {
    #[inline(always)]
    unsafe fn taken_from(&self, mut block: Block<V>) -> Block<V> {
        for m in 0..UNKNOWNS {
            block[m][m] = block[m][m].minus(self.own[m]);
        }
        for m in 1..=3 {
            block[m][0] = block[m][0].minus(self.first[m]);
            block[4][m] = block[4][m].minus(self.last[m]);
        }
        block[4][0] = block[4][0].minus(self.first[4]);
        block
    }
}
