//! C numbers at each point of a cube, stored `[k][j][number][i]`: rows along x are contiguous and start on cache
//! lines.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Rows are padded to whole cache lines, for every width of lanes.
const LANES: usize = 8;
/// Readable doubles before and after: a stencil reads two points past the ends of a row.
const MARGIN: usize = 16;

/// A field. The caller ensures that each thread writes only to its own planes or sheets.
pub struct Field<const C: usize> {
    memory: *mut f64,
    layout: Layout,
    /// Doubles between two numbers of a point: a row padded to whole cache lines.
    pub number: usize,
    /// Doubles from one point to its neighbour along y.
    pub row: usize,
    /// Doubles from one point to its neighbour along z: not a multiple of a page, or all planes would share one cache
    /// set.
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

    /// Creates a field of zeros; a page belongs to the thread that first writes to it.
    pub fn new(n: usize) -> Field<C> {
        let (row, plane, layout) = Field::<C>::layout(n);
        let memory = unsafe { alloc_zeroed(layout) }.cast::<f64>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Field { memory, layout, number: row / C, row, plane }
    }

    /// Returns the first number of the first point of row j in plane k.
    ///
    /// # Safety
    /// For this function and the following ones: the point lies within the cube, and nobody writes to it during the
    /// call.
    #[inline(always)]
    pub unsafe fn at(&self, k: usize, j: usize) -> *mut f64 {
        self.memory.add(MARGIN + k * self.plane + j * self.row)
    }

    /// Returns all numbers of a point.
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
