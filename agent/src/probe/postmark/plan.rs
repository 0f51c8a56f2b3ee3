//! The whole run, drawn in advance: which file is created, read, extended or removed when, and what must remain.

use crate::rng::Rng;

/// The requested load.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    pub files: u32,
    pub low_bytes: u32,
    pub high_bytes: u32,
    pub transactions: u32,
    pub folders: u32,
    /// Reads among ten reads and appends; creations among ten creations and deletions.
    pub bias_read: u32,
    pub bias_create: u32,
    pub seed: u64,
}

/// One half of a transaction, on file `file`; `bytes` is the amount that it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Create {
        file: u32,
        bytes: u32,
    },
    Read {
        file: u32,
        bytes: u32,
    },
    /// Appends from this offset of the file on.
    Append {
        file: u32,
        from: u32,
        bytes: u32,
    },
    Delete {
        file: u32,
    },
    /// An append to a file of the maximum size, or a deletion with no file left.
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub created: u64,
    pub read: u64,
    pub appended: u64,
    pub deleted: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

pub struct Plan {
    pub create: Vec<Act>,
    pub transactions: Vec<[Act; 2]>,
    pub delete: Vec<Act>,
    /// The size of every file that ever existed, in the order of creation.
    pub sizes: Vec<u32>,
    pub folder_of: Vec<u32>,
    /// The operations of the transactions, and the bytes that creating the pool writes.
    pub counts: Counts,
    pub pool_bytes: u64,
    pub peak_bytes: u64,
}

struct Author {
    parameters: Parameters,
    rng: Rng,
    live: Vec<u32>,
    bytes: u64,
    plan: Plan,
}

impl Plan {
    pub fn draw(parameters: Parameters) -> Plan {
        let plan = Plan {
            create: Vec::with_capacity(parameters.files as usize),
            transactions: Vec::with_capacity(parameters.transactions as usize),
            delete: Vec::new(),
            sizes: Vec::new(),
            folder_of: Vec::new(),
            counts: Counts::default(),
            pool_bytes: 0,
            peak_bytes: 0,
        };
        let mut author = Author { parameters, rng: Rng::new(parameters.seed, 0), live: Vec::new(), bytes: 0, plan };
        for _ in 0..parameters.files {
            let made = author.create();
            author.plan.create.push(made);
        }
        author.plan.pool_bytes = author.bytes;
        for _ in 0..parameters.transactions {
            let both = [author.read_or_append(), author.create_or_delete()];
            both.iter().for_each(|act| author.plan.counts.add(act));
            author.plan.transactions.push(both);
        }
        author.live.sort_unstable();
        author.plan.delete = author.live.iter().map(|&file| Act::Delete { file }).collect();
        author.plan
    }
}

impl Author {
    fn create(&mut self) -> Act {
        let Parameters { low_bytes, high_bytes, folders, .. } = self.parameters;
        let bytes = low_bytes + self.rng.below(u64::from(high_bytes - low_bytes) + 1) as u32;
        let file = self.plan.sizes.len() as u32;
        self.live.push(file);
        self.plan.sizes.push(bytes);
        self.plan.folder_of.push(self.rng.below(u64::from(folders)) as u32);
        self.grow(bytes);
        Act::Create { file, bytes }
    }

    fn grow(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.plan.peak_bytes = self.plan.peak_bytes.max(self.bytes);
    }

    /// Draws the index in `live` of a file; `None` if there is none.
    fn any(&mut self) -> Option<usize> {
        (!self.live.is_empty()).then(|| self.rng.below(self.live.len() as u64) as usize)
    }

    fn read_or_append(&mut self) -> Act {
        let reads = self.rng.below(10) < u64::from(self.parameters.bias_read);
        let Some(at) = self.any() else { return Act::Nothing };
        let file = self.live[at];
        let size = self.plan.sizes[file as usize];
        if reads {
            return Act::Read { file, bytes: size };
        }
        if size == self.parameters.high_bytes {
            return Act::Nothing;
        }
        let bytes = 1 + self.rng.below(u64::from(self.parameters.high_bytes - size)) as u32;
        self.plan.sizes[file as usize] += bytes;
        self.grow(bytes);
        Act::Append { file, from: size, bytes }
    }

    fn create_or_delete(&mut self) -> Act {
        if self.rng.below(10) < u64::from(self.parameters.bias_create) {
            return self.create();
        }
        let Some(at) = self.any() else { return Act::Nothing };
        let file = self.live.swap_remove(at);
        self.bytes -= u64::from(self.plan.sizes[file as usize]);
        Act::Delete { file }
    }
}

impl Counts {
    fn add(&mut self, act: &Act) {
        match *act {
            Act::Create { bytes, .. } => {
                (self.created, self.bytes_written) = (self.created + 1, self.bytes_written + u64::from(bytes))
            }
            Act::Read { bytes, .. } => {
                (self.read, self.bytes_read) = (self.read + 1, self.bytes_read + u64::from(bytes))
            }
            Act::Append { bytes, .. } => {
                (self.appended, self.bytes_written) = (self.appended + 1, self.bytes_written + u64::from(bytes))
            }
            Act::Delete { .. } => self.deleted += 1,
            Act::Nothing => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn parameters(files: u32, transactions: u32) -> Parameters {
        Parameters {
            files,
            low_bytes: 500,
            high_bytes: 10_000,
            transactions,
            folders: 3,
            bias_read: 5,
            bias_create: 5,
            seed: 42,
        }
    }

    #[test]
    fn a_plan_is_complete_and_reproducible() {
        let plan = Plan::draw(parameters(500, 5000));
        let again = Plan::draw(parameters(500, 5000));
        assert!(plan.transactions == again.transactions && plan.sizes == again.sizes);
        let mut live = vec![None; plan.sizes.len()];
        let halves = plan.create.iter().chain(plan.transactions.iter().flatten()).chain(&plan.delete);
        for act in halves {
            match *act {
                Act::Create { file, bytes } => assert_eq!(live[file as usize].replace(bytes), None),
                Act::Read { file, bytes } => assert_eq!(live[file as usize], Some(bytes)),
                Act::Append { file, from, bytes } => {
                    assert_eq!(live[file as usize].replace(from + bytes), Some(from));
                    assert!(from + bytes <= 10_000 && bytes > 0);
                }
                Act::Delete { file } => assert!(live[file as usize].take().is_some()),
                Act::Nothing => (),
            }
        }
        assert!(live.iter().all(Option::is_none), "every file that was made is removed");
        assert!(plan.sizes.iter().all(|bytes| (500..=10_000).contains(bytes)));
    }

    #[test]
    fn shares_and_sizes_match_the_parameters() {
        let Counts { created, read, appended, deleted, .. } = Plan::draw(parameters(500, 5000)).counts;
        assert!(read + appended <= 5000 && created + deleted <= 5000);
        for half in [created, read, appended, deleted] {
            assert!((2300..2700).contains(&half), "{half}");
        }
        let only = Plan::draw(Parameters { bias_read: 10, bias_create: 10, ..parameters(10, 100) });
        assert_eq!((only.counts.read, only.counts.created, only.delete.len()), (100, 100, 110));
        let none = Plan::draw(Parameters { low_bytes: 700, high_bytes: 700, bias_create: 1, ..parameters(2, 300) });
        assert!(none.counts.appended == 0 && none.sizes.iter().all(|bytes| *bytes == 700));
    }
}
