//! The placement and its annealing. Lengths are whole numbers; only the acceptance probability is a fraction.

use super::circuit::Circuit;
use crate::rng::Rng;

const ROW_HEIGHT: i32 = 16;
/// Width of the bins in which overlaps are counted.
const BIN: i32 = 64;
const OVERLAP_WEIGHT: i64 = 12;
const ROW_WEIGHT: i64 = 10;
const TEMPERATURES: u32 = 80;
const COOLING: f64 = 0.9;
const MOVES_A_CELL: usize = 30;
const SEED: u64 = 0x0070_6c61_6365;

#[derive(Clone, Copy, Default, PartialEq)]
struct Spot {
    row: i32,
    /// The cell's left edge.
    x: i32,
}

pub struct Placement<'a> {
    circuit: &'a Circuit,
    spots: Vec<Spot>,
    /// Total width of the cells whose middle lies in a bin, by row.
    bins: Vec<i32>,
    bins_a_row: usize,
    row_widths: Vec<i32>,
    rows: i32,
    width: i32,
    net_lengths: Vec<i32>,
    wire: i64,
    penalty: i64,
    rng: Rng,
}

impl<'a> Placement<'a> {
    /// Places the cells at random.
    pub fn new(circuit: &'a Circuit) -> Placement<'a> {
        let total: i64 = circuit.widths.iter().map(|&width| i64::from(width)).sum();
        let rows = ((total as f64 / f64::from(ROW_HEIGHT)).sqrt() as i32).max(2);
        let width = (total / i64::from(rows)) as i32 + BIN;
        let bins_a_row = (width / BIN + 1) as usize;
        let mut rng = Rng::new(SEED, circuit.widths.len() as u64);
        let spots: Vec<Spot> = (circuit.widths.iter())
            .map(|&own| Spot { row: rng.below(rows as u64) as i32, x: rng.below((width - own) as u64) as i32 })
            .collect();
        let mut new = Placement {
            circuit,
            bins: vec![0; bins_a_row * rows as usize],
            bins_a_row,
            row_widths: vec![0; rows as usize],
            rows,
            width,
            net_lengths: vec![0; circuit.cells_of.len()],
            wire: 0,
            penalty: 0,
            spots,
            rng,
        };
        new.account();
        new
    }

    pub fn cells(&self) -> usize {
        self.spots.len()
    }

    /// Recomputes the totals of wire length and penalty.
    fn account(&mut self) {
        self.bins.fill(0);
        self.row_widths.fill(0);
        for cell in 0..self.spots.len() {
            let (spot, own) = (self.spots[cell], self.circuit.widths[cell]);
            let bin = self.bin(spot, own);
            self.bins[bin] += own;
            self.row_widths[spot.row as usize] += own;
        }
        (self.wire, self.penalty) = (0, 0);
        for net in 0..self.net_lengths.len() {
            self.net_lengths[net] = self.length(net as u32);
            self.wire += i64::from(self.net_lengths[net]);
        }
        self.penalty += self.bins.iter().map(|&fill| overfull(fill)).sum::<i64>();
        let rows: i64 = self.row_widths.iter().map(|&width| self.uneven(width)).sum();
        self.penalty += rows;
    }

    /// Whether the running totals match recomputed ones, and every cell is in the rows.
    pub fn consistent(&mut self) -> bool {
        let running = (self.wire, self.penalty);
        self.account();
        let within = |(spot, own): (&Spot, &i32)| {
            (0..self.rows).contains(&spot.row) && spot.x >= 0 && spot.x + own <= self.width.max(self.longest_row())
        };
        running == (self.wire, self.penalty) && self.spots.iter().zip(&self.circuit.widths).all(within)
    }

    fn longest_row(&self) -> i32 {
        self.row_widths.iter().copied().max().unwrap_or(0)
    }

    #[inline]
    fn bin(&self, spot: Spot, own: i32) -> usize {
        spot.row as usize * self.bins_a_row + (((spot.x + own / 2) / BIN) as usize).min(self.bins_a_row - 1)
    }

    /// Returns half the bounding box of a net, from the middles of its cells.
    #[inline]
    fn length(&self, net: u32) -> i32 {
        let (mut left, mut right, mut low, mut high) = (i32::MAX, i32::MIN, i32::MAX, i32::MIN);
        for &cell in self.circuit.cells_of.of(net) {
            let spot = self.spots[cell as usize];
            let x = spot.x + self.circuit.widths[cell as usize] / 2;
            (left, right) = (left.min(x), right.max(x));
            (low, high) = (low.min(spot.row), high.max(spot.row));
        }
        right - left + (high - low) * ROW_HEIGHT
    }

    #[inline]
    fn uneven(&self, width: i32) -> i64 {
        ROW_WEIGHT * i64::from((width - (self.width - BIN)).abs())
    }

    /// Runs all temperatures, from one at which nearly every move is accepted to one at which only improvements are.
    pub fn anneal(&mut self) {
        let mut temperature = self.wire as f64 / self.net_lengths.len() as f64;
        for step in 0..TEMPERATURES {
            // The window shrinks from the whole chip to a few cells.
            let share = 1.0 - f64::from(step) / f64::from(TEMPERATURES);
            let window = Spot {
                row: 1 + (share * share * f64::from(self.rows)) as i32,
                x: 2 * BIN + (share * share * f64::from(self.width)) as i32,
            };
            for _ in 0..MOVES_A_CELL * self.spots.len() {
                self.try_move(window, temperature);
            }
            temperature *= COOLING;
        }
    }

    fn try_move(&mut self, window: Spot, temperature: f64) {
        let cell = self.rng.below(self.spots.len() as u64) as usize;
        let (from, own) = (self.spots[cell], self.circuit.widths[cell]);
        let row = near(from.row, window.row, self.rows - 1, &mut self.rng);
        let x = near(from.x, window.x, self.width - own, &mut self.rng);
        let before = self.wire + self.penalty;
        if self.rng.next() & 3 == 0 {
            // An interchange: the other cell takes this one's place.
            let other = self.rng.below(self.spots.len() as u64) as usize;
            let there = self.spots[other];
            let fits = |spot: Spot, width: i32| Spot { x: spot.x.min(self.width - width).max(0), ..spot };
            let (to, back) = (fits(there, own), fits(from, self.circuit.widths[other]));
            if other == cell {
                return;
            }
            self.put(cell, to);
            self.put(other, back);
            if !self.accepts(self.wire + self.penalty - before, temperature) {
                self.put(other, there);
                self.put(cell, from);
            }
        } else {
            self.put(cell, Spot { row, x });
            if !self.accepts(self.wire + self.penalty - before, temperature) {
                self.put(cell, from);
            }
        }
    }

    /// Moves a cell, and updates the totals.
    #[inline]
    fn put(&mut self, cell: usize, to: Spot) {
        let (from, own) = (self.spots[cell], self.circuit.widths[cell]);
        for (spot, width) in [(from, -own), (to, own)] {
            let bin = self.bin(spot, own);
            let (fill, row) = (self.bins[bin], self.row_widths[spot.row as usize]);
            self.penalty += overfull(fill + width) - overfull(fill) + self.uneven(row + width) - self.uneven(row);
            self.bins[bin] = fill + width;
            self.row_widths[spot.row as usize] = row + width;
        }
        self.spots[cell] = to;
        for &net in self.circuit.nets_of.of(cell as u32) {
            let length = self.length(net);
            self.wire += i64::from(length - self.net_lengths[net as usize]);
            self.net_lengths[net as usize] = length;
        }
    }

    #[inline]
    fn accepts(&mut self, change: i64, temperature: f64) -> bool {
        change <= 0 || self.rng.centred() + 0.5 < falling_exponential(change as f64 / temperature)
    }

    /// Packs each row from the left in the order of its cells; returns the resulting wire length.
    pub fn legalise(&mut self) -> i64 {
        let mut order: Vec<usize> = (0..self.spots.len()).collect();
        order.sort_by_key(|&cell| (self.spots[cell].row, self.spots[cell].x, cell));
        let (mut row, mut x) = (-1, 0);
        for cell in order {
            if self.spots[cell].row != row {
                (row, x) = (self.spots[cell].row, 0);
            }
            self.spots[cell].x = x;
            x += self.circuit.widths[cell];
        }
        self.account();
        self.wire
    }
}

/// Returns a place at most `window` away, within the bounds.
#[inline]
fn near(from: i32, window: i32, most: i32, rng: &mut Rng) -> i32 {
    let (low, high) = ((from - window).max(0), (from + window).min(most.max(0)));
    low + rng.below((high - low).max(0) as u64 + 1) as i32
}

#[inline]
fn overfull(fill: i32) -> i64 {
    OVERLAP_WEIGHT * i64::from((fill - BIN).max(0))
}

/// Returns e^-x for x above 0, by additions and multiplications alone, so that every machine rounds alike.
#[inline]
fn falling_exponential(x: f64) -> f64 {
    if x > 40.0 {
        return 0.0;
    }
    // (1 - x/2^12 + ...)^(2^12): the error is below 1e-9, far too small to affect a placement.
    let y = x / 4096.0;
    let mut power = 1.0 - y + y * y * 0.5 - y * y * y * (1.0 / 6.0);
    for _ in 0..12 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_stay_correct_through_moves_and_the_exponential_is_accurate() {
        let circuit = Circuit::new(300);
        let mut placement = Placement::new(&circuit);
        for _ in 0..5000 {
            placement.try_move(Spot { row: 3, x: 100 }, 50.0);
        }
        assert!(placement.consistent());
        for x in [0.0, 0.1, 1.0, 5.0, 20.0] {
            assert!((falling_exponential(x) - (-x).exp()).abs() < 1e-8, "{x}");
        }
    }
}
