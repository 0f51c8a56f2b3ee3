//! A circuit of standard cells: their widths, and the nets that connect them, generated from a fixed seed.

use crate::rng::Rng;

const SEED: u64 = 0x0074_776f_6c66;
/// Nets per hundred cells, as in circuits of gates with two or three pins.
const NETS_A_HUNDRED: usize = 110;

/// Lists of lists, stored in two arrays.
pub struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(lists: &[Vec<u32>]) -> Lists {
        let mut starts = vec![0_u32];
        starts.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len() as u32;
            Some(*sum)
        }));
        Lists { starts, items: lists.concat() }
    }

    #[inline]
    pub fn of(&self, index: u32) -> &[u32] {
        &self.items[self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize]
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
}

pub struct Circuit {
    pub widths: Vec<i32>,
    pub cells_of: Lists,
    pub nets_of: Lists,
}

impl Circuit {
    pub fn new(cells: usize) -> Circuit {
        let mut rng = Rng::new(SEED, cells as u64);
        let widths = (0..cells).map(|_| 2 * (2 + rng.below(7) as i32)).collect();
        let nets: Vec<Vec<u32>> = (0..cells * NETS_A_HUNDRED / 100).map(|_| net(cells, &mut rng)).collect();
        let mut nets_of = vec![Vec::new(); cells];
        for (index, net) in nets.iter().enumerate() {
            net.iter().for_each(|&cell| nets_of[cell as usize].push(index as u32));
        }
        Circuit { widths, cells_of: Lists::new(&nets), nets_of: Lists::new(&nets_of) }
    }
}

/// Generates a net of two to six cells, most of them close to each other in the order of the cells, as in Rent's rule.
fn net(cells: usize, rng: &mut Rng) -> Vec<u32> {
    let pins = 2 + (rng.below(5) * rng.below(5) / 4) as usize;
    let centre = rng.below(cells as u64);
    let mut net = vec![centre as u32];
    while net.len() < pins {
        // The reach doubles with each toss of a coin: few nets are long.
        let reach = (4_u64 << rng.next().trailing_ones().min(20)).min(cells as u64 / 2);
        let cell = ((centre + cells as u64 + rng.below(2 * reach + 1) - reach) % cells as u64) as u32;
        if !net.contains(&cell) {
            net.push(cell);
        }
    }
    net
}
