//! `serialise`: a pass writes 4,096 records as lines of JSON into one buffer, and reads them back as records.
//!
//! The texts of read records are borrowed from the buffer, so that the time is that of the format, not of the
//! allocator.

use serde::{Deserialize, Serialize};

use super::Part;
use super::answer::{expect, expect_sha256, numbers};
use super::compress::text;
use crate::fault::{Fault, OrFault};
use crate::rng::mix;

const RECORDS: usize = 4096;
const TEXT_BYTES: usize = 1 << 17;
/// Matches the output of Python's json module for the same records.
const JSON_SHA256: &str = "0b1e09c6002e9ab3d8858c437b9ffcb0c493911c273f8c47fc3d4680a1ba4a98";

#[derive(Serialize, Deserialize)]
struct Record<'a> {
    id: u64,
    name: &'a str,
    active: bool,
    place: Place,
    scores: [i32; 6],
    parent: Option<u32>,
    note: &'a str,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Place {
    latitude: f64,
    longitude: f64,
}

/// A record without its texts, which are stored as ranges of one text.
struct Row {
    id: u64,
    name: (usize, usize),
    place: Place,
    scores: [i32; 6],
    note: (usize, usize),
}

impl Row {
    fn record<'a>(&self, text: &'a str) -> Record<'a> {
        Record {
            id: self.id,
            name: &text[self.name.0..self.name.1],
            active: self.id.is_multiple_of(3),
            place: self.place,
            scores: self.scores,
            parent: (!self.id.is_multiple_of(4)).then_some(self.id as u32 / 4),
            note: &text[self.note.0..self.note.1],
        }
    }
}

impl Record<'_> {
    /// Returns a number that depends on every field.
    fn fold(&self, sum: u64) -> u64 {
        let text = |text: &str| text.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let texts = text(self.name) ^ text(self.note).rotate_left(32);
        let place = self.place.latitude.to_bits() ^ self.place.longitude.to_bits().rotate_left(7);
        let scores = self.scores.iter().fold(0_u64, |sum, &score| sum.wrapping_mul(31).wrapping_add(score as u64));
        let rest = self.id << 33 ^ u64::from(self.parent.map_or(0, |parent| parent + 1)) << 1 ^ u64::from(self.active);
        mix(sum ^ texts ^ place ^ scores.rotate_left(17) ^ rest)
    }
}

struct Serialise {
    text: String,
    rows: Vec<Row>,
    json: Vec<u8>,
    known: u64,
    read: u64,
    wrong_passes: u32,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Serialise::new())
}

impl Serialise {
    fn new() -> Serialise {
        let text = String::from_utf8_lossy(&text(TEXT_BYTES)).into_owned();
        let mut rng = numbers(100);
        let mut piece = |most: u64| {
            let length = 4 + rng.below(most - 4) as usize;
            let from = rng.below((TEXT_BYTES - length) as u64) as usize;
            (from, from + length)
        };
        let mut rows: Vec<Row> = Vec::with_capacity(RECORDS);
        let mut numbers = numbers(101);
        let mut whole = |bound: u64| numbers.below(bound) as i32;
        for id in 0..RECORDS as u64 {
            // Thousandths have a short decimal form, which is read back as the same number.
            let mut degrees = |most: i32| f64::from(whole(2000 * most as u64) - 1000 * most) / 1000.0;
            let place = Place { latitude: degrees(90), longitude: degrees(180) };
            let scores = std::array::from_fn(|_| whole(1 << 20) - (1 << 19));
            rows.push(Row { id, name: piece(24), place, scores, note: piece(120) });
        }
        let known = rows.iter().fold(0, |sum, row| row.record(&text).fold(sum));
        Serialise { text, rows, json: Vec::with_capacity(RECORDS * 512), known, read: 0, wrong_passes: 0 }
    }

    fn write(&mut self) -> Result<(), Fault> {
        self.json.clear();
        for row in &self.rows {
            serde_json::to_writer(&mut self.json, &row.record(&self.text)).or_fault("a record", "report this")?;
            self.json.push(b'\n');
        }
        Ok(())
    }

    /// Reads all readable records, and returns a number that depends on all of them.
    fn read(&self) -> u64 {
        let lines = self.json.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.fold(0, |sum, line| serde_json::from_slice::<Record>(line).map_or(!sum, |record| record.fold(sum)))
    }
}

impl Part for Serialise {
    fn pass(&mut self) -> Result<(), Fault> {
        self.write()?;
        self.read = self.read();
        self.wrong_passes += u32::from(self.read != self.known);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect(self.wrong_passes == 0, "what was read back from JSON")?;
        expect_sha256(&self.json, JSON_SHA256, "the JSON text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_field_and_a_wrong_letter_are_detected() {
        let mut task = Serialise::new();
        task.pass().unwrap();
        task.verify().unwrap();
        assert!(task.json.len() < RECORDS * 512, "the buffer never grew");
        let row = &mut task.rows[5];
        row.place.latitude += 0.001;
        task.pass().unwrap();
        assert!(task.verify().unwrap_err().what.contains("read back"));
        let mut task = Serialise::new();
        task.pass().unwrap();
        let at = task.json.iter().position(|&byte| byte == b':').unwrap();
        task.json[at] = b';';
        assert_ne!(task.read(), task.known, "a line that is no JSON");
        assert_eq!(task.verify().unwrap_err().outcome.name(), "invalid");
    }
}
