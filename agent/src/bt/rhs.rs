//! The right-hand side: fluxes, viscosity and dissipation by differences along the three axes, all in one pass.

use super::{C1, C1C5, C2, C3C4, FOUR_THIRDS, FOURTH_ORDER, Flow, SECOND_ORDER, UNKNOWNS};
use crate::simd::{Lanes, load_each, store_each, times_each};

/// Weights of the fourth difference at each point of a line, times the dissipation; one-sided at the ends of the line.
pub fn stencil(n: usize) -> [Vec<f64>; 5] {
    let mut weights: [Vec<f64>; 5] = std::array::from_fn(|_| vec![0.0; n.next_multiple_of(8)]);
    for i in 1..n - 1 {
        let mut own = [1.0, -4.0, 6.0, -4.0, 1.0];
        if i == 1 {
            own = [0.0, 0.0, 5.0, -4.0, 1.0];
        } else if i == 2 {
            own[0] = 0.0;
        }
        if i == n - 2 {
            own = [1.0, -4.0, 5.0, 0.0, 0.0];
        } else if i == n - 3 {
            own[4] = 0.0;
        }
        (0..5).for_each(|o| weights[o][i] = FOURTH_ORDER * own[o]);
    }
    weights
}

/// Weights of the differences along one axis.
struct Axis<V> {
    half: V,
    second: V,
    viscous: V,
    viscous_along: V,
    con3: V,
    con4: V,
    con5: V,
    c1: V,
    c2: V,
}

/// The memory layout of a point: the distance between its numbers, and to its neighbours.
#[derive(Clone, Copy)]
struct Place {
    u: *const f64,
    u_number: usize,
    u_step: usize,
    derived: *const f64,
    derived_number: usize,
    derived_step: usize,
}

impl<V: Lanes> Axis<V> {
    #[inline(always)]
    unsafe fn new(n: usize, axis: usize) -> Axis<V> {
        let (per_step, viscous) = ((n - 1) as f64, C3C4 * ((n - 1) * (n - 1)) as f64);
        Axis {
            half: V::splat(0.5 * per_step),
            second: V::splat(SECOND_ORDER[axis] * per_step * per_step),
            viscous: V::splat(viscous),
            viscous_along: V::splat(viscous * FOUR_THIRDS),
            con3: V::splat(viscous * (1.0 - C1C5)),
            con4: V::splat(viscous / 6.0),
            con5: V::splat(viscous * C1C5),
            c1: V::splat(C1),
            c2: V::splat(C2),
        }
    }
}

impl Place {
    /// Returns unknown m of the point before, the point, and the point after.
    #[inline(always)]
    unsafe fn u<V: Lanes>(&self, m: usize) -> [V; 3] {
        load_each(self.u.add(m * self.u_number).sub(self.u_step), self.u_step)
    }

    #[inline(always)]
    unsafe fn derived<V: Lanes>(&self, m: usize) -> [V; 3] {
        load_each(self.derived.add(m * self.derived_number).sub(self.derived_step), self.derived_step)
    }

    /// Subtracts the fourth difference of all unknowns; a weight of 0 covers a neighbour that does not exist.
    #[inline(always)]
    unsafe fn dissipate<V: Lanes>(&self, r: &mut [V; UNKNOWNS], weight: V, offset: isize) {
        for (m, r) in r.iter_mut().enumerate() {
            *r = weight.times_from(V::load(self.u.add(m * self.u_number).offset(offset * self.u_step as isize)), *r);
        }
    }
}

#[inline(always)]
unsafe fn second_difference<V: Lanes>([low, middle, high]: [V; 3]) -> V {
    low.plus(high).minus(middle.plus(middle))
}

/// Adds the contribution of the differences along axis D (1, 2, 3: its momentum) to the right-hand side.
#[inline(always)]
unsafe fn flux<V: Lanes, const D: usize>(r: &mut [V; UNKNOWNS], at: Place, axis: &Axis<V>) {
    let [along_low, along, along_high] = at.derived::<V>(D);
    let [energy_low, energy, energy_high] = at.u::<V>(4);
    let [square_low, _, square_high] = at.derived::<V>(5);
    let [momentum_low, _, momentum_high] = at.u::<V>(D);
    r[0] = axis.second.times_plus(second_difference(at.u(0)), r[0]);
    r[0] = axis.half.times_from(momentum_high.minus(momentum_low), r[0]);
    for m in 1..=3 {
        let [low, middle, high] = at.u::<V>(m);
        let viscous = if m == D { axis.viscous_along } else { axis.viscous };
        let mut carried = high.times(along_high).minus(low.times(along_low));
        if m == D {
            let pressure = energy_high.minus(square_high).minus(energy_low.minus(square_low));
            carried = axis.c2.times_plus(pressure, carried);
        }
        let mut sum = axis.second.times_plus(second_difference([low, middle, high]), r[m]);
        sum = viscous.times_plus(second_difference(at.derived(m)), sum);
        r[m] = axis.half.times_from(carried, sum);
    }
    let [low, middle, high] = at.derived::<V>(0);
    let energies = [energy_low.times(low), energy.times(middle), energy_high.times(high)];
    let squares = [along_low.times(along_low), along.times(along), along_high.times(along_high)];
    let carried_low = axis.c2.times_from(square_low, axis.c1.times(energy_low)).times(along_low);
    let carried = axis.c2.times_from(square_high, axis.c1.times(energy_high)).times(along_high).minus(carried_low);
    let mut sum = axis.second.times_plus(second_difference([energy_low, energy, energy_high]), r[4]);
    sum = axis.con3.times_plus(second_difference(at.derived(4)), sum);
    sum = axis.con4.times_plus(second_difference(squares), sum);
    sum = axis.con5.times_plus(second_difference(energies), sum);
    r[4] = axis.half.times_from(carried, sum);
}

/// Computes the right-hand side, times dt, of the inner points of plane k.
#[inline(always)]
pub unsafe fn plane<V: Lanes>(flow: &Flow, k: usize) {
    let n = flow.size.n;
    let (x, y, z) = (Axis::<V>::new(n, 0), Axis::<V>::new(n, 1), Axis::<V>::new(n, 2));
    for j in 1..n - 1 {
        let (u, derived) = (flow.u.at(k, j), flow.derived.at(k, j));
        let (forcing, rhs) = (flow.forcing.at(k, j), flow.rhs.at(k, j));
        for i in (0..n).step_by(V::WIDTH) {
            let mut r: [V; UNKNOWNS] = load_each(forcing.add(i), flow.forcing.number);
            let along_x = Place {
                u: u.add(i),
                u_number: flow.u.number,
                u_step: 1,
                derived: derived.add(i),
                derived_number: flow.derived.number,
                derived_step: 1,
            };
            let along_y = Place { u_step: flow.u.row, derived_step: flow.derived.row, ..along_x };
            let along_z = Place { u_step: flow.u.plane, derived_step: flow.derived.plane, ..along_x };
            flux::<V, 1>(&mut r, along_x, &x);
            flux::<V, 2>(&mut r, along_y, &y);
            flux::<V, 3>(&mut r, along_z, &z);
            for (o, weights) in flow.stencil.iter().enumerate() {
                let offset = |weight: f64| if weight == 0.0 { 0 } else { o as isize - 2 };
                along_x.dissipate(&mut r, V::load(weights.as_ptr().add(i)), o as isize - 2);
                along_y.dissipate(&mut r, V::splat(weights[j]), offset(weights[j]));
                along_z.dissipate(&mut r, V::splat(weights[k]), offset(weights[k]));
            }
            r = times_each(&r, V::splat(flow.size.dt));
            store_each(&r, rhs.add(i), flow.rhs.number);
        }
        // The faces and the padding of a row keep their values.
        for m in 0..UNKNOWNS {
            let row = rhs.add(m * flow.rhs.number);
            *row = 0.0;
            (n - 1..flow.rhs.number).for_each(|i| *row.add(i) = 0.0);
        }
    }
}
