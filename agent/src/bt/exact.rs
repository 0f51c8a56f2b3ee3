//! The exact solution, a polynomial in each coordinate, and values computed from it: initial values, forcing, errors.

use std::ops::Range;

use super::{DERIVED, Flow, UNKNOWNS};

/// Coefficients of each unknown: the constant, then x, y, z to the first, second, third and fourth power.
const CE: [[f64; 13]; UNKNOWNS] = [
    [2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3],
    [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3],
    [5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2],
];

/// Returns the solution at a point of the unit cube.
pub fn exact(place: [f64; 3]) -> [f64; UNKNOWNS] {
    CE.map(|ce| {
        let along = |axis: usize| {
            let x = place[axis];
            x * (ce[axis + 1] + x * (ce[axis + 4] + x * (ce[axis + 7] + x * ce[axis + 10])))
        };
        ce[0] + along(0) + along(1) + along(2)
    })
}

/// Returns initial values inside: blended from the exact values on the six faces (transfinite interpolation).
fn blended(place: [f64; 3]) -> [f64; UNKNOWNS] {
    let between = |axis: usize| {
        let face = |at: f64| {
            let mut place = place;
            place[axis] = at;
            exact(place)
        };
        let (low, high, x) = (face(0.0), face(1.0), place[axis]);
        std::array::from_fn::<f64, UNKNOWNS, _>(|m| x * high[m] + (1.0 - x) * low[m])
    };
    let (x, y, z) = (between(0), between(1), between(2));
    std::array::from_fn(|m| x[m] + y[m] + z[m] - x[m] * y[m] - x[m] * z[m] - y[m] * z[m] + x[m] * y[m] * z[m])
}

/// Computes the stored derived values of a point from its unknowns.
fn derived(u: [f64; UNKNOWNS]) -> [f64; DERIVED] {
    let per_density = 1.0 / u[0];
    let energy = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * per_density;
    [per_density, u[1] * per_density, u[2] * per_density, u[3] * per_density, energy * per_density, energy]
}

impl Flow {
    fn place(&self, k: usize, j: usize, i: usize) -> [f64; 3] {
        let step = 1.0 / (self.size.n - 1) as f64;
        [i as f64 * step, j as f64 * step, k as f64 * step]
    }

    /// Sets planes of the flow to the exact solution.
    ///
    /// # Safety
    /// For this function and the following ones: planes lie within the cube, and each belongs to one thread during the
    /// call.
    pub unsafe fn set_exact(&self, planes: Range<usize>) {
        self.set_planes(planes, |place, _| exact(place));
    }

    /// Sets planes of the flow to the initial values.
    pub unsafe fn set_first(&self, planes: Range<usize>) {
        self.set_planes(planes, |place, face| if face { exact(place) } else { blended(place) });
    }

    unsafe fn set_planes(&self, planes: Range<usize>, value: impl Fn([f64; 3], bool) -> [f64; UNKNOWNS]) {
        let n = self.size.n;
        let end = |at: usize| at == 0 || at == n - 1;
        for k in planes {
            for j in 0..n {
                for i in 0..self.u.number {
                    // The padding of a row takes part in the computation but is never used: any valid gas works.
                    let inside = i < n;
                    let face = end(k) || end(j) || end(i);
                    let u = if inside { value(self.place(k, j, i), face) } else { [1.0; UNKNOWNS] };
                    self.u.set(k, j, i, u);
                    self.derived.set(k, j, i, derived(u));
                }
            }
        }
    }

    /// Subtracts the right-hand side of the current values, without its dt, from all later right-hand sides.
    pub unsafe fn set_forcing(&self, planes: Range<usize>) {
        for k in planes {
            for j in 0..self.size.n {
                for i in 0..self.size.n {
                    self.forcing.set(k, j, i, self.rhs.get(k, j, i).map(|r| -r / self.size.dt));
                }
            }
        }
    }

    /// Returns the squared differences from the exact solution, summed over planes.
    pub unsafe fn squared_errors(&self, planes: Range<usize>) -> [f64; UNKNOWNS] {
        let mut sums = [0.0; UNKNOWNS];
        for k in planes {
            for j in 0..self.size.n {
                for i in 0..self.size.n {
                    let (u, want) = (self.u.get(k, j, i), exact(self.place(k, j, i)));
                    (0..UNKNOWNS).for_each(|m| sums[m] += (u[m] - want[m]).powi(2));
                }
            }
        }
        sums
    }

    /// Returns the squares of the right-hand side, without its dt, summed over planes.
    pub unsafe fn squared_residuals(&self, planes: Range<usize>) -> [f64; UNKNOWNS] {
        let mut sums = [0.0; UNKNOWNS];
        for k in planes {
            for j in 0..self.size.n {
                for i in 0..self.size.n {
                    let rhs = self.rhs.get(k, j, i);
                    (0..UNKNOWNS).for_each(|m| sums[m] += (rhs[m] / self.size.dt).powi(2));
                }
            }
        }
        sums
    }
}
