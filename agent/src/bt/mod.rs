//! The flow that the benchmark BT computes: compressible Navier-Stokes equations on a cube, implicit in time, each step
//! split into block tridiagonal systems along the three axes (Bailey et al., RNR-94-007, section 3).
//!
//! Rows of points lie side by side, so that lines of a system are solved several at a time. A step is two passes:
//! planes of constant k (right-hand side, lines along x and y), then sheets of constant j (lines along z, and the
//! update). What a pass writes nobody else reads in it, so threads share its planes freely.

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
/// What is kept of a point beside them: 1/density, three velocities, half their square, and the same times density.
const DERIVED: usize = 6;

/// Gas constants: ratio of specific heats, that less 1, and products of the specification's c1 to c5.
const C1: f64 = 1.4;
const C2: f64 = 0.4;
const C3C4: f64 = 0.1;
const C1C5: f64 = 1.96;
const C1345: f64 = C1C5 * C3C4;
const FOUR_THIRDS: f64 = 4.0 / 3.0;
/// Second-order dissipation along x, y and z, and the fourth-order one.
const SECOND_ORDER: [f64; 3] = [0.75, 0.75, 1.0];
const FOURTH_ORDER: f64 = 0.25;

/// A problem's size: points along an edge, length of a step.
#[derive(Clone, Copy)]
pub struct Size {
    pub n: usize,
    pub dt: f64,
}

/// The state of the flow and what drives it.
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
    /// Memory that a cube of `n` points an edge takes, bytes.
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
