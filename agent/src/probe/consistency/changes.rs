//! The changes of a trial, and how a read of each looks; reader and writer derive the same ones from an order.

use crate::service::call::{Blob, Call, Message, Row, Set};
use crate::service::staleness::Change;
use crate::service::writer::Order;

const SIZE: u64 = 64;

/// Returns the message that an order sends to a queue.
pub fn message(order: &Order) -> Message {
    Message::new(SIZE, order.first + order.n)
}

/// Returns the change of a row or a blob. Blobs have no weaker reads than strong ones.
pub fn change(of: &str, order: Order, strong: bool) -> Change {
    let (change, read, there) = parts(of, &order, strong);
    Change { order, change, read, there }
}

fn parts(of: &str, order: &Order, strong: bool) -> (Call, Call, bool) {
    let (kind, first, n) = (order.kind.as_str(), order.first, order.n);
    if of == "table" {
        let new = Row::new(Set::Changing, first + n);
        let same = Row { version: n, ..Row::new(Set::Changing, first) };
        let look = |row| Call::LookRow { row, strong };
        return match kind {
            "update" => (Call::Put(same), look(same), true),
            "delete" => (Call::DeleteRow(new), look(new), false),
            "list" => (Call::Put(new), Call::FindRow { row: new, strong }, true),
            _ => (Call::Put(new), look(new), true),
        };
    }
    let blob = |index, version| Blob { version, ..Blob::new(Set::Changing, SIZE, index) };
    let new = blob(first + n, 0);
    match kind {
        "update" => (Call::Upload(blob(first, n)), Call::Look(blob(first, n)), true),
        "delete" => (Call::Delete(new), Call::Look(new), false),
        "list" => (Call::Upload(new), Call::Find(new), true),
        _ => (Call::Upload(new), Call::Look(new), true),
    }
}
