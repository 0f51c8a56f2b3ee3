//! Shared data of a team: arrays in which each member writes its own share, and sums over all members.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Range;

use super::team::{Member, Team};
use crate::fault::Fault;
use crate::memory_map::{MemoryMap, Pages};

/// Plain numbers in huge pages if the kernel provides them; initially zero, and untouched.
pub struct Array<T> {
    region: MemoryMap,
    kind: PhantomData<T>,
}

/// Types for which zero bytes are a valid value.
pub trait Plain: Copy + Send + Sync {}
impl Plain for f64 {}
impl Plain for u32 {}

unsafe impl<T: Plain> Sync for Array<T> {}

impl<T: Plain> Array<T> {
    pub fn new(len: usize) -> Result<Array<T>, Fault> {
        Ok(Array { region: MemoryMap::new(len * size_of::<T>(), Pages::Huge)?, kind: PhantomData })
    }

    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        self.region.as_ptr().cast()
    }

    pub fn len(&self) -> usize {
        self.region.len() / size_of::<T>()
    }

    /// # Safety
    /// No thread writes to it while the slice is in use.
    #[inline(always)]
    pub unsafe fn all(&self) -> &[T] {
        std::slice::from_raw_parts(self.as_ptr(), self.len())
    }

    /// # Safety
    /// No other thread reads or writes this range while the slice is in use.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len());
        std::slice::from_raw_parts_mut(self.as_ptr().add(range.start), range.len())
    }
}

/// A value for each member, on its own cache lines.
pub struct Each<T>(Vec<Slot<T>>);

#[repr(align(128))]
struct Slot<T>(UnsafeCell<T>);

unsafe impl<T: Send> Sync for Each<T> {}

impl<T> Each<T> {
    pub fn new(team: &Team, mut make: impl FnMut(usize) -> T) -> Each<T> {
        Each((0..team.threads()).map(|index| Slot(make(index).into())).collect())
    }

    /// # Safety
    /// Called once at a time for each member, and no thread uses `of` for it while the reference is in use.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn own(&self, member: &Member) -> &mut T {
        &mut *self.0[member.index].0.get()
    }

    /// # Safety
    /// The member that owns it does not change it while the reference is in use.
    #[inline(always)]
    pub unsafe fn of(&self, index: usize) -> &T {
        &*self.0[index].0.get()
    }
}

/// Sums over all members, added up in their order; successive sums alternate between two sets of slots.
pub struct Sums(Each<[[f64; 2]; 2]>);

impl Sums {
    pub fn new(team: &Team) -> Sums {
        Sums(Each::new(team, |_| [[0.0; 2]; 2]))
    }

    /// Computes two sums at once, with a barrier. `turn` alternates between a member's calls.
    pub fn of(&self, member: &Member, turn: &mut usize, own: [f64; 2]) -> [f64; 2] {
        *turn ^= 1;
        // Safe: a slot is written again two calls later, when all members have passed the barrier after reading it.
        unsafe { (*self.0.own(member))[*turn] = own };
        member.meet();
        let mut total = [0.0; 2];
        for index in 0..member.members() {
            let part = unsafe { self.0.of(index)[*turn] };
            total = [total[0] + part[0], total[1] + part[1]];
        }
        total
    }
}
