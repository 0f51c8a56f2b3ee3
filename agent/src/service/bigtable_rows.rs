//! The rows of a ReadRows of Bigtable, put together from the pieces in which the service streams them.
//!
//! A row comes as cells, a cell as one or more pieces of its value. A piece repeats nothing that is as in the piece
//! before it: row, family, column. A row counts when its last piece commits it; the service may take a row back until
//! then, and send it anew.

use std::borrow::Cow;

use super::proto::{self, Field};

/// A whole row.
#[derive(Debug, PartialEq, Eq)]
pub struct Read<'a> {
    pub key: &'a [u8],
    pub cells: Vec<Cell<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    pub family: &'a [u8],
    pub column: &'a [u8],
    pub value: Cow<'a, [u8]>,
}

/// One piece as it came.
#[derive(Default)]
struct Piece<'a> {
    key: &'a [u8],
    family: Option<&'a [u8]>,
    column: Option<&'a [u8]>,
    /// Whether it names a time or labels, which only the first piece of a cell does.
    begins_cell: bool,
    value: &'a [u8],
    /// Whether more pieces of this value follow.
    goes_on: bool,
    reset: bool,
    commit: bool,
}

/// Rows, and the row that is not whole yet.
#[derive(Default)]
struct Rows<'a> {
    whole: Vec<Read<'a>>,
    /// The last key that cannot come again: of a row, or of one that was scanned and filtered out.
    last: Option<&'a [u8]>,
    open: Option<Read<'a>>,
    /// Whether the last cell of the open row lacks pieces.
    cut: bool,
}

/// Returns the rows of all messages of an answer, or what is wrong with it.
pub fn assemble<'a>(messages: &[&'a [u8]]) -> Result<Vec<Read<'a>>, &'static str> {
    let mut rows = Rows::default();
    for message in messages {
        for (field, value) in proto::fields(message).ok_or("an answer that is no message")? {
            match (field, value) {
                (1, Field::Bytes(chunk)) => rows.take(&piece(chunk).ok_or("a piece of a row that is no message")?)?,
                (2, Field::Bytes(key)) => rows.pass(key)?,
                _ => {}
            }
        }
    }
    match rows.open {
        Some(_) => Err("an answer that ends within a row"),
        None => Ok(rows.whole),
    }
}

fn piece(chunk: &[u8]) -> Option<Piece<'_>> {
    let mut piece = Piece::default();
    for (field, value) in proto::fields(chunk)? {
        match (field, value) {
            (1, Field::Bytes(key)) => piece.key = key,
            (2, Field::Bytes(family)) => piece.family = Some(wrapped(family)?),
            (3, Field::Bytes(column)) => piece.column = Some(wrapped(column)?),
            (4, Field::Number(time)) => piece.begins_cell |= time != 0,
            (5, Field::Bytes(_)) => piece.begins_cell = true,
            (6, Field::Bytes(value)) => piece.value = value,
            // The size of the whole value; a negative number is none.
            (7, Field::Number(size)) => piece.goes_on = (1..=i32::MAX as u64).contains(&size),
            (8, Field::Number(reset)) => piece.reset = reset != 0,
            (9, Field::Number(commit)) => piece.commit = commit != 0,
            (1..=9, _) => return None,
            _ => {}
        }
    }
    Some(piece)
}

/// Reads a message whose only field is a text or bytes.
fn wrapped(message: &[u8]) -> Option<&[u8]> {
    Some(proto::one(&proto::fields(message)?, 1).unwrap_or(&[]))
}

impl<'a> Rows<'a> {
    fn take(&mut self, piece: &Piece<'a>) -> Result<(), &'static str> {
        let names = !piece.key.is_empty() || piece.family.is_some() || piece.column.is_some();
        if piece.reset {
            let bare = !names && !piece.begins_cell && piece.value.is_empty() && !piece.goes_on && !piece.commit;
            self.open.take().filter(|_| bare).ok_or("a reset of no row, or with a cell")?;
            self.cut = false;
            return Ok(());
        }
        if self.cut {
            let cell = self.open.as_mut().and_then(|row| row.cells.last_mut());
            let cell = cell.filter(|_| !names && !piece.begins_cell).ok_or("a cell within another one's value")?;
            cell.value.to_mut().extend_from_slice(piece.value);
        } else {
            self.begin(piece)?;
        }
        self.cut = piece.goes_on;
        if piece.commit {
            let row = self.open.take().filter(|_| !self.cut).ok_or("a row that ends within a cell")?;
            self.last = Some(row.key);
            self.whole.push(row);
        }
        Ok(())
    }

    /// Begins a cell, and a row if none is open.
    fn begin(&mut self, piece: &Piece<'a>) -> Result<(), &'static str> {
        let row = match &mut self.open {
            Some(row) if piece.key.is_empty() || piece.key == row.key => row,
            Some(_) => return Err("a row within another one"),
            None if piece.key.is_empty() => return Err("a row without its key"),
            None if self.last.is_some_and(|last| last >= piece.key) => return Err("rows that are not in their order"),
            None => self.open.insert(Read { key: piece.key, cells: Vec::new() }),
        };
        let before = row.cells.last().map(|cell| (cell.family, cell.column));
        let (family, column) = match (piece.family, piece.column, before) {
            (Some(family), Some(column), _) => (family, column),
            (None, Some(column), Some((family, _))) => (family, column),
            (None, None, Some(before)) => before,
            _ => return Err("a cell without its family or column"),
        };
        row.cells.push(Cell { family, column, value: Cow::Borrowed(piece.value) });
        Ok(())
    }

    /// Notes that the service has scanned up to this key.
    fn pass(&mut self, key: &'a [u8]) -> Result<(), &'static str> {
        if self.open.is_some() || self.last.is_some_and(|last| last >= key) {
            return Err("a scan that goes back, or on within a row");
        }
        self.last = Some(key);
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::proto::Message;
    use super::*;
    use proptest::prelude::*;

    /// Returns a piece of a row that ends with these fields.
    pub fn chunk(key: &[u8], family: Option<&str>, column: Option<&str>, end: Message) -> Message {
        let mut bytes = Vec::new();
        let wrapped = |text: &str| Message::new().text(1, text);
        if !key.is_empty() {
            bytes.extend(Message::new().bytes(1, key).into_bytes());
        }
        if let Some(family) = family {
            bytes.extend(Message::new().message(2, &wrapped(family)).into_bytes());
        }
        if let Some(column) = column {
            bytes.extend(Message::new().message(3, &wrapped(column)).into_bytes());
        }
        bytes.extend(end.into_bytes());
        Message::of_bytes(bytes)
    }

    /// Returns a message of these pieces.
    pub fn response(chunks: Vec<Message>) -> Message {
        chunks.iter().fold(Message::new(), |message, chunk| message.message(1, chunk))
    }

    /// Assembles one message for each list of pieces; a row is its key, and its cells as `family:column=value`.
    fn assembled(messages: Vec<Message>) -> Result<Vec<String>, &'static str> {
        let messages: Vec<Vec<u8>> = messages.into_iter().map(Message::into_bytes).collect();
        let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let cell = |cell: &Cell| format!(" {}:{}={}", text(cell.family), text(cell.column), text(&cell.value));
        let row = |row: &Read| text(row.key) + &row.cells.iter().map(cell).collect::<String>();
        Ok(assemble(&slices)?.iter().map(row).collect())
    }

    fn value(text: &str) -> Message {
        Message::new().text(6, text)
    }

    fn last(text: &str) -> Message {
        value(text).number(9, 1)
    }

    /// A part of a value that has more bytes.
    fn part(text: &str) -> Message {
        value(text).number(7, 9)
    }

    fn reset() -> Message {
        Message::new().number(8, 1)
    }

    fn bare(end: Message) -> Message {
        chunk(b"", None, None, end)
    }

    fn first(key: &str, end: Message) -> Message {
        chunk(key.as_bytes(), Some("f"), Some("g"), end)
    }

    #[test]
    fn a_piece_repeats_nothing_of_the_piece_before() {
        let row = vec![
            first("a", value("1")),
            chunk(b"", None, Some("v"), value("2")),
            bare(value("3").number(4, 7)),
            chunk(b"a", Some("h"), Some("v"), last("4")),
        ];
        assert_eq!(assembled(vec![response(row)]), Ok(vec!["a f:g=1 f:v=2 f:v=3 h:v=4".to_owned()]));
        let scanned = Message::new().text(2, "b");
        assert_eq!(
            assembled(vec![response(vec![first("a", last("1"))]), scanned, response(vec![first("c", last("2"))])]),
            Ok(vec!["a f:g=1".to_owned(), "c f:g=2".to_owned()])
        );
        assert_eq!(assembled(vec![]), Ok(vec![]));
    }

    #[test]
    fn a_value_may_come_in_pieces_and_a_row_may_be_taken_back() {
        let split = [first("a", part("1")), bare(part("2")), bare(last("3"))];
        assert_eq!(assembled(split.map(|one| response(vec![one])).into()), Ok(vec!["a f:g=123".to_owned()]));
        let again = vec![first("a", part("1")), reset(), first("a", value("2")), reset(), first("b", last("3"))];
        assert_eq!(assembled(vec![response(again)]), Ok(vec!["b f:g=3".to_owned()]));
    }

    #[test]
    fn what_breaks_the_order_of_pieces_is_wrong() {
        for pieces in [
            vec![first("a", value("1"))],
            vec![first("a", part("1"))],
            vec![first("a", part("1").number(9, 1))],
            vec![first("a", part("1")), first("a", last("2"))],
            vec![first("a", part("1")), bare(last("2").number(4, 7))],
            vec![first("a", part("1")), chunk(b"", None, Some("v"), last("2"))],
            vec![first("a", value("1")), first("b", last("2"))],
            vec![first("a", value("1")), chunk(b"", Some("h"), None, last("2"))],
            vec![first("a", last("1")), first("a", last("2"))],
            vec![first("b", last("1")), first("a", last("2"))],
            vec![first("a", last("1")), bare(last("2"))],
            vec![chunk(b"a", None, Some("g"), last("1"))],
            vec![chunk(b"a", Some("f"), None, last("1"))],
            vec![reset()],
            vec![first("a", last("1")), reset()],
            vec![first("a", value("1")), value("2").number(8, 1)],
            vec![first("a", value("1")), reset().number(9, 1)],
            vec![first("a", value("1")), reset()].into_iter().chain([bare(last("2"))]).collect(),
            vec![Message::new().number(1, 1)],
            vec![Message::new().text(6, "x").number(6, 1)],
        ] {
            assert!(assembled(vec![response(pieces)]).is_err());
        }
        let scanned = |key| Message::new().text(2, key);
        assert!(assembled(vec![response(vec![first("b", last("1"))]), scanned("a")]).is_err());
        assert!(assembled(vec![scanned("b"), response(vec![first("a", last("1"))])]).is_err());
        assert!(
            assembled(vec![response(vec![first("b", value("1"))]), scanned("c"), response(vec![bare(last(""))])])
                .is_err()
        );
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_pieces_of_any_shape_never_panic(pieces in prop::collection::vec(
            (prop::sample::select(vec!["", "a", "b"]), any::<bool>(), any::<bool>(), 0_u32..5, 0_u64..3, any::<bool>()), 0..8
        )) {
            let of = |&(key, family, column, kind, size, commit): &(&str, bool, bool, u32, u64, bool)| {
                let end = Message::new().number(kind + 4, size).number(7, size).number(9, u64::from(commit));
                chunk(key.as_bytes(), family.then_some("f"), column.then_some("g"), end)
            };
            if let Ok(rows) = assembled(vec![response(pieces.iter().map(of).collect())]) {
                prop_assert!(rows.len() <= 2 && rows.is_sorted());
            }
        }

        #[test]
        fn rows_are_the_same_however_they_are_cut(
            values in prop::collection::vec("[a-z]{0,12}", 1..6), cut in 1_usize..6, apart in any::<bool>(), taken_back in any::<bool>()
        ) {
            let mut pieces = Vec::new();
            for (index, text) in values.iter().enumerate() {
                let key = format!("r{index}");
                if taken_back {
                    pieces.extend([first(&key, part("other")), reset()]);
                }
                let parts: Vec<&str> = text.as_bytes().chunks(cut).map(|one| std::str::from_utf8(one).unwrap()).collect();
                for (at, one) in parts.iter().enumerate() {
                    let end = if at + 1 < parts.len() { part(one) } else { last(one) };
                    pieces.push(if at == 0 { first(&key, end) } else { bare(end) });
                }
                if parts.is_empty() {
                    pieces.push(first(&key, last("")));
                }
            }
            let messages = match apart {
                true => pieces.into_iter().map(|piece| response(vec![piece])).collect(),
                false => vec![response(pieces)],
            };
            let whole: Vec<String> = values.iter().enumerate().map(|(index, text)| format!("r{index} f:g={text}")).collect();
            prop_assert_eq!(assembled(messages), Ok(whole));
        }
    }
}
