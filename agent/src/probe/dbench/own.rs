//! A loadfile of our own, for machines that have no other: office work on a file server.
//!
//! The day of one client: it first creates a few large filler files; then, in many rounds over three folders, it looks
//! up, opens, reads and saves documents (a save creates a new file that takes the old one's name), reads and writes a
//! small database under locks, and creates and deletes messages. The shares are those that studies of office traffic
//! agree on: most operations look names up, open and close; reads outnumber writes; one operation in a hundred waits
//! for the disk.

use std::fmt::Write as _;

use crate::rng::Rng;

/// Incremented with every change of the output of `text`, so that results of two loads are never mixed up.
pub const VERSION: u32 = 1;
const HOME: &str = "\\clients\\client1";
const FOLDERS: [&str; 3] = ["LETTERS", "SHEETS", "SLIDES"];
const FILLERS: u64 = 4;
const FILLER_BYTES: u64 = 1 << 20;
const DOCUMENTS: u64 = 12;
const ROUNDS: u64 = 120;
const RECORDS: u64 = 256;
const RECORD_BYTES: u64 = 512;
const PIECE_BYTES: u64 = 61_440;
const PAGE_BYTES: u64 = 4096;
const SEED: u64 = 2010;
const OK: &str = "NT_STATUS_OK";
const GONE: &str = "NT_STATUS_OBJECT_NAME_NOT_FOUND";

struct Author {
    text: String,
    rng: Rng,
    handle: u64,
    /// Sizes of the documents of each folder.
    sizes: [[u64; DOCUMENTS as usize]; FOLDERS.len()],
}

/// Returns the loadfile's text, which is always the same.
pub fn text() -> String {
    let sizes = [[0; DOCUMENTS as usize]; FOLDERS.len()];
    let mut author = Author { text: String::new(), rng: Rng::new(SEED, 0), handle: 100, sizes };
    author.furnish();
    for round in 0..ROUNDS {
        author.work(round);
    }
    author.line(&format!("Deltree \"{HOME}\""), OK);
    author.text
}

impl Author {
    fn line(&mut self, words: &str, status: &str) {
        writeln!(self.text, "{words} {status}").expect("a string takes all");
    }

    fn on(&mut self, words: &str) {
        let handle = self.handle;
        self.line(&words.replace('#', &handle.to_string()), OK);
    }

    fn open(&mut self, path: &str, disposition: u32) {
        self.handle += 1;
        let handle = self.handle;
        self.line(&format!("NTCreateX \"{path}\" 0x40 0x{disposition:x} {handle}"), OK);
    }

    fn close(&mut self) {
        self.on("Close #");
    }

    fn transfer(&mut self, name: &str, bytes: u64, piece: u64) {
        for offset in (0..bytes).step_by(piece as usize) {
            let size = piece.min(bytes - offset);
            self.on(&format!("{name} # {offset} {size} {size}"));
        }
    }

    fn look_up(&mut self, path: &str, there: bool) {
        let status = if there { OK } else { GONE };
        self.line(&format!("QUERY_PATH_INFORMATION \"{path}\" 1004"), status);
    }

    fn folder(&mut self, path: &str) {
        self.look_up(path, false);
        self.handle += 1;
        let handle = self.handle;
        self.line(&format!("NTCreateX \"{path}\" 0x1 0x2 {handle}"), OK);
        self.close();
    }

    fn document(&self, folder: usize, number: u64) -> String {
        format!("{HOME}\\{}\\DOC{number:02}.DAT", FOLDERS[folder])
    }

    /// Creates the folders, the large files, the first documents and the database.
    fn furnish(&mut self) {
        self.line(&format!("Deltree \"{HOME}\""), OK);
        self.line("Mkdir \"\\clients\"", OK);
        self.folder(HOME);
        for filler in 0..FILLERS {
            self.open(&format!("{HOME}\\FILLER.{filler:03}"), 2);
            self.line("QUERY_FS_INFORMATION 1", OK);
            self.transfer("WriteX", FILLER_BYTES, 65_536);
            self.on("QUERY_FILE_INFORMATION # 258");
            self.close();
        }
        for (folder, name) in FOLDERS.iter().enumerate() {
            self.folder(&format!("{HOME}\\{name}"));
            for number in 0..DOCUMENTS {
                self.create(folder, number);
            }
        }
        self.open(&format!("{HOME}\\RECORDS.DB"), 2);
        self.transfer("WriteX", RECORDS * RECORD_BYTES, PAGE_BYTES);
        self.on("Flush #");
        self.close();
    }

    /// Creates a document between 2 and 64 KiB; small ones are more frequent than large ones.
    fn create(&mut self, folder: usize, number: u64) {
        let bytes = 2048 << self.rng.below(5);
        let bytes = bytes + self.rng.below(bytes);
        self.sizes[folder][number as usize] = bytes;
        let path = self.document(folder, number);
        self.open(&path, 2);
        self.transfer("WriteX", bytes, PAGE_BYTES);
        self.close();
    }

    /// Writes one round of office work.
    fn work(&mut self, round: u64) {
        let folder = (round % FOLDERS.len() as u64) as usize;
        let number = self.rng.below(DOCUMENTS);
        self.browse(folder);
        for _ in 0..4 {
            let other = self.rng.below(DOCUMENTS);
            self.read(folder, other);
        }
        self.save(folder, number);
        self.look_at_records();
        self.message(folder, round);
    }

    fn browse(&mut self, folder: usize) {
        let path = format!("{HOME}\\{}", FOLDERS[folder]);
        self.line("QUERY_FS_INFORMATION 259", OK);
        self.line(&format!("FIND_FIRST \"{path}\\*\" 260 1366 {DOCUMENTS}"), OK);
        self.line(&format!("FIND_FIRST \"{path}\\<.TMP\" 260 1366 0"), "NT_STATUS_NO_SUCH_FILE");
        for number in 0..4 {
            let path = self.document(folder, number);
            self.look_up(&path, true);
        }
    }

    fn read(&mut self, folder: usize, number: u64) {
        let (path, bytes) = (self.document(folder, number), self.sizes[folder][number as usize]);
        // Users do not type names in the case that the folder has.
        self.look_up(&path.replace("DOC", "Doc").replace("DAT", "dat"), true);
        self.open(&path, 1);
        self.on("QUERY_FILE_INFORMATION # 1004");
        let piece = if self.rng.below(4) == 0 { PIECE_BYTES } else { PAGE_BYTES };
        self.transfer("ReadX", bytes, piece);
        self.close();
    }

    /// Saves as office programs do: a new file, flushed, takes the name of the old one, which is then removed.
    fn save(&mut self, folder: usize, number: u64) {
        let path = self.document(folder, number);
        let (fresh, old) = (path.replace(".DAT", ".TMP"), path.replace(".DAT", ".BAK"));
        self.line(&format!("NTCreateX \"{fresh}\" 0x40 0x1 0"), GONE);
        let bytes = (self.sizes[folder][number as usize] + self.rng.below(PAGE_BYTES)).min(1 << 17);
        self.open(&fresh, 5);
        self.on(&format!("WriteX # {} 1 1", bytes - 1));
        self.transfer("WriteX", bytes, PAGE_BYTES);
        self.on("SET_FILE_INFORMATION # 1004");
        self.on("Flush #");
        self.close();
        self.line(&format!("Rename \"{path}\" \"{old}\""), OK);
        self.line(&format!("Rename \"{fresh}\" \"{path}\""), OK);
        self.line(&format!("Unlink \"{old}\" 0x6"), OK);
        self.sizes[folder][number as usize] = bytes;
    }

    /// Accesses a few records of the database, each under a lock.
    fn look_at_records(&mut self) {
        self.open(&format!("{HOME}\\RECORDS.DB"), 1);
        for turn in 0..8 {
            let offset = self.rng.below(RECORDS) * RECORD_BYTES;
            self.on(&format!("LockX # {offset} {RECORD_BYTES}"));
            let name = if turn % 4 == 3 { "WriteX" } else { "ReadX" };
            self.on(&format!("{name} # {offset} {RECORD_BYTES} {RECORD_BYTES}"));
            self.on(&format!("UnlockX # {offset} {RECORD_BYTES}"));
        }
        self.close();
    }

    /// Writes, reads and deletes a message with its folder, all in one round.
    fn message(&mut self, folder: usize, round: u64) {
        let inbox = format!("{HOME}\\{}\\IN{round:03}", FOLDERS[folder]);
        let path = format!("{inbox}\\MAIL.MSG");
        let bytes = 512 + self.rng.below(8192);
        self.folder(&inbox);
        self.open(&path, 2);
        self.transfer("WriteX", bytes, PAGE_BYTES);
        self.close();
        self.open(&path, 1);
        self.transfer("ReadX", bytes, PAGE_BYTES);
        self.close();
        self.line(&format!("Unlink \"{path}\" 0x6"), OK);
        if round.is_multiple_of(8) {
            self.line(&format!("Deltree \"{inbox}\""), OK);
        } else {
            self.line(&format!("Rmdir \"{inbox}\""), OK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Place;
    use super::super::load::parse;
    use super::super::model::Model;
    use super::super::ops::KINDS;
    use super::*;

    #[test]
    fn our_own_load_contains_every_operation_and_needs_little_space() {
        let load = parse(text().as_bytes()).unwrap();
        for (kind, name, _) in KINDS {
            assert!(load.steps.iter().any(|step| step.kind == kind), "{name}");
        }
        let mut model = Model::new(&load);
        model.go_to(Place { replays: 1, steps: 0 });
        assert!(model.known && (4 << 20..8 << 20).contains(&model.peak_bytes), "{}", model.peak_bytes);
        assert!((5_000..50_000).contains(&load.steps.len()), "{}", load.steps.len());
    }
}
