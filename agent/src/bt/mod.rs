//! The flow that the benchmark BT computes: compressible Navier-Stokes equations on a cube, implicit in time; each
//! step is split into block tridiagonal systems along the three axes (Bailey et al., RNR-94-007, section 3).
//!
//! Rows of points are adjacent in memory, so that several lines of a system are solved at a time. A step has two
//! passes: planes of constant k (right-hand side, lines along x and y), then sheets of constant j (lines along z, and
//! the update). During a pass no thread reads another thread's writes, so threads can share its planes in any way.

#![allow(clippy::needless_range_loop)] // blocks are read by row and column

mod exact;
mod field;
mod jacobian;
mod lines;
mod rhs;
mod step;

use field::Field;
pub use step::Scratch;

/// The unknowns of a point: density, three momenta, energy.
pub const UNKNOWNS: usize = 5;
/// Derived values stored with a point: 1/density, three velocities, half of their squares, and the same times density.
const DERIVED: usize = 6;

/// Gas constants: ratio of specific heats, that ratio less 1, and products of the specification's c1 to c5.
const C1: f64 = 1.4;
const C2: f64 = 0.4;
const C3C4: f64 = 0.1;
const C1C5: f64 = 1.96;
const C1345: f64 = C1C5 * C3C4;
const FOUR_THIRDS: f64 = 4.0 / 3.0;
/// Second-order dissipation along x, y and z, and the fourth-order one.
const SECOND_ORDER: [f64; 3] = [0.75, 0.75, 1.0];
const FOURTH_ORDER: f64 = 0.25;

/// The size of a problem: points along an edge, length of a step.
#[derive(Clone, Copy)]
pub struct Size {
    pub n: usize,
    pub dt: f64,
}

/// The state of the flow and its forcing.
pub struct Flow {
    size: Size,
    u: Field<UNKNOWNS>,
    derived: Field<DERIVED>,
    rhs: Field<UNKNOWNS>,
    forcing: Field<UNKNOWNS>,
    /// `stencil[o][i]`: the fourth difference at point i of a line, its weight of the point i + o - 2.
    stencil: [Vec<f64>; 5],
    isa: crate::simd::Isa,
}

impl Flow {
    /// Returns the memory of a cube with `n` points per edge, bytes.
    pub fn bytes(n: usize) -> u64 {
        (3 * Field::<UNKNOWNS>::bytes(n) + Field::<DERIVED>::bytes(n)) as u64
    }

    pub fn new(size: Size, isa: crate::simd::Isa) -> Flow {
        let n = size.n;
        Flow {
            size,
            u: Field::new(n),
            derived: Field::new(n),
            rhs: Field::new(n),
            forcing: Field::new(n),
            stencil: rhs::stencil(n),
            isa,
        }
    }
}
