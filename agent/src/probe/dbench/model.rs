//! The files that a loadfile leaves on disk, step by step: the space it needs, and the expected content where it
//! stopped.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::client::Place;
use super::load::{Call, Load, Step};
use super::ops::Expect;
use crate::fault::{Fault, OrFault};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    None,
    Folder,
    File(usize),
}

/// The files of one client in memory. Names that differ only in case are the same.
pub struct Model<'a> {
    load: &'a Load,
    /// Maps each path of the load to one path that represents all its spellings.
    same: Vec<usize>,
    folded: Vec<Vec<u8>>,
    live: Vec<Node>,
    sizes: Vec<u64>,
    slots: Vec<Node>,
    place: Place,
    bytes: u64,
    pub peak_bytes: u64,
    /// Whether the result of every step so far is known in advance.
    pub known: bool,
}

impl<'a> Model<'a> {
    pub fn new(load: &'a Load) -> Model<'a> {
        let mut ids: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut folded = Vec::new();
        let mut same = Vec::with_capacity(load.names.len());
        for name in &load.names {
            let low = name.full.as_bytes().to_ascii_lowercase();
            same.push(*ids.entry(low.clone()).or_insert_with(|| {
                folded.push(low);
                folded.len() - 1
            }));
        }
        Model {
            load,
            same,
            live: vec![Node::None; folded.len()],
            folded,
            sizes: Vec::new(),
            slots: vec![Node::None; load.slots],
            place: Place { replays: 0, steps: 0 },
            bytes: 0,
            peak_bytes: 0,
            known: true,
        }
    }

    /// Advances to a place, which must not lie before that of an earlier call.
    pub fn go_to(&mut self, place: Place) {
        while self.place < place {
            if self.place.steps == self.load.steps.len() {
                self.slots.fill(Node::None);
                self.place = Place { replays: self.place.replays + 1, steps: 0 };
                self.drop_deleted_sizes();
            } else {
                self.apply(&self.load.steps[self.place.steps]);
                self.place.steps += 1;
            }
        }
    }

    /// Drops the sizes of deleted files, so that many replays need no more memory than one.
    fn drop_deleted_sizes(&mut self) {
        let mut kept = Vec::new();
        for node in &mut self.live {
            if let Node::File(id) = node {
                kept.push(self.sizes[*id]);
                *id = kept.len() - 1;
            }
        }
        self.sizes = kept;
    }

    fn apply(&mut self, step: &Step) {
        match (step.expect, &step.call) {
            (_, Call::Find { .. }) | (Expect::Fails, _) => return,
            (Expect::Any, _) => self.known = false,
            _ => (),
        }
        let at = |path: u32| self.same[path as usize];
        match step.call {
            Call::Open { path, slot, how } => self.open(at(path), slot as usize, how.directory, how.truncate),
            Call::Close { slot } => self.slots[slot as usize] = Node::None,
            Call::Write { slot, moved, offset, .. } => self.write(slot as usize, offset + u64::from(moved)),
            Call::Rename { from, to } => self.rename(at(from), at(to)),
            Call::Unlink { path } | Call::Rmdir { path } => self.drop(at(path)),
            Call::Mkdir { path } => self.live[at(path)] = Node::Folder,
            Call::Deltree { path } => self.drop_tree(at(path)),
            _ => (),
        }
    }

    fn open(&mut self, at: usize, slot: usize, directory: bool, truncate: bool) {
        if self.live[at] == Node::None {
            self.live[at] = if directory { Node::Folder } else { self.fresh() };
        }
        if let (Node::File(id), true) = (self.live[at], truncate) {
            self.bytes -= std::mem::take(&mut self.sizes[id]);
        }
        self.slots[slot] = self.live[at];
    }

    fn fresh(&mut self) -> Node {
        self.sizes.push(0);
        Node::File(self.sizes.len() - 1)
    }

    fn write(&mut self, slot: usize, end: u64) {
        if let Node::File(id) = self.slots[slot] {
            self.bytes += end.saturating_sub(self.sizes[id]);
            self.sizes[id] = self.sizes[id].max(end);
            self.peak_bytes = self.peak_bytes.max(self.bytes);
        }
    }

    fn rename(&mut self, from: usize, to: usize) {
        // A renamed folder takes its content along, under names that the load may not contain.
        self.known &= self.live[from] != Node::Folder;
        if from != to {
            let node = self.live[from];
            self.live[from] = Node::None;
            self.drop(to);
            self.live[to] = node;
        }
    }

    fn drop(&mut self, at: usize) {
        if let Node::File(id) = self.live[at] {
            // Its size no longer counts; holders of an open handle may still write.
            self.bytes = self.bytes.saturating_sub(self.sizes[id]);
        }
        self.live[at] = Node::None;
    }

    fn drop_tree(&mut self, top: usize) {
        for at in 0..self.folded.len() {
            let rest = self.folded[at].strip_prefix(self.folded[top].as_slice());
            if self.folded[top] == b"." || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/') {
                self.drop(at);
            }
        }
    }

    /// Refuses a folder with other content; returns the number of files in it.
    pub fn verify(&self, root: &Path) -> Result<u64, Fault> {
        let mut there = BTreeMap::new();
        list(root, &mut Vec::new(), &mut there).or_fault("cannot look at what the clients left", "try again")?;
        let mut files = 0;
        for (path, &node) in self.folded.iter().zip(&self.live).filter(|(path, _)| *path != b".") {
            let expected = match node {
                Node::None => continue,
                Node::Folder => None,
                Node::File(id) => Some(self.sizes[id]),
            };
            files += u64::from(expected.is_some());
            match there.remove(path) {
                Some(actual) if actual == expected => (),
                actual => return Err(wrong(path, &format!("{}, not {}", describe(actual), describe(Some(expected))))),
            }
        }
        there.into_iter().next().map_or(Ok(files), |(path, _)| Err(wrong(&path, "there, and should be gone")))
    }
}

fn describe(actual: Option<Option<u64>>) -> String {
    match actual {
        None => "not there".into(),
        Some(None) => "a folder".into(),
        Some(Some(bytes)) => format!("{bytes} B"),
    }
}

fn wrong(path: &[u8], how: &str) -> Fault {
    let path = String::from_utf8_lossy(path).into_owned();
    Fault::invalid(format!("{path:?} is {how}"), "the file system lost something, or report this")
}

/// Lists everything below a folder, in lower case: the size of a file, or `None` for a folder.
fn list(folder: &Path, prefix: &mut Vec<u8>, actual: &mut BTreeMap<Vec<u8>, Option<u64>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let length = prefix.len();
        prefix.extend_from_slice(&entry.file_name().as_bytes().to_ascii_lowercase());
        let facts = entry.metadata()?;
        actual.insert(prefix.clone(), (!facts.is_dir()).then_some(facts.len()));
        if facts.is_dir() {
            prefix.push(b'/');
            list(&entry.path(), prefix, actual)?;
        }
        prefix.truncate(length);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::load::parse;
    use super::*;

    #[test]
    fn remaining_files_and_peak_size_follow_from_the_steps() {
        let load = parse(
            b"Deltree \"\\c\" NT_STATUS_OK\nMkdir \"\\c\" NT_STATUS_OK\nNTCreateX \"\\c\\a\" 0x40 0x2 1 NT_STATUS_OK\n\
              WriteX 1 100 50 50 NT_STATUS_OK\nClose 1 NT_STATUS_OK\nRename \"\\C\\A\" \"\\c\\b\" NT_STATUS_OK\n\
              NTCreateX \"\\c\\b\" 0x40 0x5 1 NT_STATUS_OK\nWriteX 1 0 7 7 NT_STATUS_OK\n",
        )
        .unwrap();
        let mut model = Model::new(&load);
        let dir = std::env::temp_dir().join(format!("cloudcmp-model-{}", std::process::id()));
        let make = |name: &str, bytes: usize| {
            std::fs::remove_dir_all(&dir).ok();
            std::fs::create_dir_all(dir.join("c")).unwrap();
            std::fs::write(dir.join("c").join(name), vec![0; bytes]).unwrap();
        };
        for (replays, steps, name, bytes) in [(0, 5, "a", 150), (0, 6, "B", 150), (0, 8, "b", 7), (2, 4, "A", 150)] {
            model.go_to(Place { replays, steps });
            make(name, bytes);
            assert_eq!(model.verify(&dir).unwrap(), 1, "{replays} {steps}");
            make(name, bytes + 1);
            assert!(model.verify(&dir).unwrap_err().what.contains("B, not "));
            make("other", bytes);
            assert!(model.verify(&dir).unwrap_err().what.contains("not there"));
        }
        assert!(model.known && model.peak_bytes == 150);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
