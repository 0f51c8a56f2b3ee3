//! Rows of a table. Key, group and value of a row follow from its fields, so that every trial can verify them.

use super::call::Set;
use super::content;

/// The length of a row's value, bytes.
pub const VALUE_BYTES: u64 = 100;
/// Rows of a group: what a query selects by a field that is no key.
pub const GROUP: u64 = 10;

/// A row with three fields of text: the key `k`, the group `g` and the value `v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub set: Set,
    pub index: u64,
    /// Part of the value alone: another version replaces it under the same key.
    pub version: u64,
}

/// The rows with one value of the field `g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    pub set: Set,
    pub index: u64,
    /// How many rows it has: the last group of a table may have fewer than [`GROUP`].
    pub rows: u64,
}

impl Row {
    pub fn new(set: Set, index: u64) -> Row {
        Row { set, index, version: 0 }
    }

    /// Returns the key: `r00000042`, or `u` or `c` in place of `r` for rows that no get or query reads.
    pub fn key(&self) -> String {
        let letter = match self.set {
            Set::Kept => 'r',
            Set::Uploaded => 'u',
            Set::Changing => 'c',
        };
        format!("{letter}{:08}", self.index)
    }

    /// Returns the value of the field `g`.
    pub fn group(&self) -> String {
        Group { set: self.set, index: self.index / GROUP, rows: 0 }.name()
    }

    /// Returns the value of the field `v`: letters, digits, `-` and `_`.
    pub fn value(&self) -> String {
        content::words(self.index, self.version, VALUE_BYTES as usize)
    }

    /// Returns the payload of the row, bytes: its value.
    pub fn bytes(&self) -> u64 {
        VALUE_BYTES
    }
}

impl Group {
    /// Returns the group of a row in a table of so many rows.
    pub fn of(row: &Row, entries: u64) -> Group {
        let index = row.index / GROUP;
        Group { set: row.set, index, rows: entries.saturating_sub(index * GROUP).min(GROUP) }
    }

    /// Returns the value of the field `g` of these rows.
    pub fn name(&self) -> String {
        match self.set {
            Set::Kept => format!("g{}", self.index),
            Set::Uploaded => format!("gu{}", self.index),
            Set::Changing => format!("gc{}", self.index),
        }
    }

    /// Returns its rows, in the order of their keys.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let (set, first) = (self.set, self.index * GROUP);
        (first..first + self.rows).map(move |index| Row::new(set, index))
    }

    /// Whether these are its rows, keys and values in any order: no other, none twice and none missing.
    pub fn is_right<T: AsRef<str> + Ord>(&self, found: &mut [(T, T)]) -> bool {
        found.sort_unstable();
        found.len() as u64 == self.rows
            && self
                .rows()
                .zip(found)
                .all(|(row, (key, value))| row.key() == key.as_ref() && row.value() == value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_by_set_and_index_and_grouped_by_ten() {
        let row = Row::new(Set::Kept, 1234);
        assert_eq!((row.key().as_str(), row.group().as_str(), row.value().len()), ("r00001234", "g123", 100));
        assert_eq!(Row::new(Set::Uploaded, 7).key(), "u00000007");
        assert_eq!(Row::new(Set::Changing, 77).group(), "gc7");
        assert!(row.value().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        let other = [Row { version: 1, ..row }, Row::new(Set::Kept, 1235)];
        assert!(other.iter().all(|other| other.value() != row.value()));
    }

    #[test]
    fn a_group_is_right_with_exactly_its_rows() {
        let group = Group::of(&Row::new(Set::Kept, 13), 15);
        assert_eq!((group.index, group.rows, group.name().as_str()), (1, 5, "g1"));
        let all = || group.rows().map(|row| (row.key(), row.value())).collect::<Vec<_>>();
        let mut found = all();
        found.reverse();
        assert!(group.is_right(&mut found));
        found.pop();
        assert!(!group.is_right(&mut found), "one is missing");
        found.push(found[0].clone());
        assert!(!group.is_right(&mut found), "one comes twice");
        let mut found = all();
        found[2].1.replace_range(5..6, "!");
        assert!(!group.is_right(&mut found), "another value");
        let mut found = all();
        found.push(("r00000020".to_owned(), Row::new(Set::Kept, 20).value()));
        assert!(!group.is_right(&mut found), "one too many");
        assert_eq!(Group::of(&Row::new(Set::Kept, 3), 15).rows, 10);
    }
}
