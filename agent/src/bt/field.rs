//! C numbers at each point of a cube, stored `[k][j][number][i]`: rows along x are contiguous, and begin on cache lines.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Rows are as long as whole cache lines, for every width of lanes.
const LANES: usize = 8;
/// Readable doubles before and after: a stencil looks two points past the ends of a row.
const MARGIN: usize = 16;

/// Threads write to planes, or to sheets, that are theirs alone: it is for the caller to see to that.
pub struct Field<const C: usize> {
    memory: *mut f64,
    layout: Layout,
    /// Doubles from one of a point's numbers to the next: a row with what fills up its last cache line.
    pub number: usize,
    /// Doubles from one point to its neighbour along y.
    pub row: usize,
    /// Doubles from one point to its neighbour along z: no multiple of a page, or all planes would meet in one set.
    pub plane: usize,
}

unsafe impl<const C: usize> Send for Field<C> {}
unsafe impl<const C: usize> Sync for Field<C> {}

impl<const C: usize> Field<C> {
    fn layout(n: usize) -> (usize, usize, Layout) {
        let row = C * n.next_multiple_of(LANES);
        let plane = n * row + LANES;
        let bytes = (n * plane + 2 * MARGIN) * size_of::<f64>();
        (row, plane, Layout::from_size_align(bytes, 64).expect("a cube of few points"))
    }

    pub fn bytes(n: usize) -> usize {
        Field::<C>::layout(n).2.size()
    }

    /// All zero; pages belong to whom writes them first.
    pub fn new(n: usize) -> Field<C> {
        let (row, plane, layout) = Field::<C>::layout(n);
        let memory = unsafe { alloc_zeroed(layout) }.cast::<f64>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Field { memory, layout, number: row / C, row, plane }
    }

    /// The first number of the first point of row j in plane k.
    ///
    /// # Safety
    /// Of this and what follows: the point lies within the cube, and nobody writes to it meanwhile.
    #[inline(always)]
    pub unsafe fn at(&self, k: usize, j: usize) -> *mut f64 {
        self.memory.add(MARGIN + k * self.plane + j * self.row)
    }

    /// All numbers of a point.
    pub unsafe fn get(&self, k: usize, j: usize, i: usize) -> [f64; C] {
        let point = self.at(k, j).add(i);
        std::array::from_fn(|m| *point.add(m * self.number))
    }

    pub unsafe fn set(&self, k: usize, j: usize, i: usize, numbers: [f64; C]) {
        for (m, number) in numbers.into_iter().enumerate() {
            *self.at(k, j).add(m * self.number + i) = number;
        }
    }
}

impl<const C: usize> Drop for Field<C> {
    fn drop(&mut self) {
        unsafe { dealloc(self.memory.cast(), self.layout) };
    }
}
