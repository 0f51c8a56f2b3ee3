//! Bigtable over gRPC: rows with the columns `g` and `v` of the family `f`.
//!
//! Bigtable has no secondary index. A query by `g` is a scan of all rows of its set with a filter on the side of the
//! service, and its answer is bounded by a limit of rows. A cluster that is alone has strong reads only.

use std::time::SystemTime;

use http::Request;

use super::bigtable_batch;
use super::bigtable_rows::{self as rows, Cell, Read};
use super::call::{Answer, Call, Group, Reading, Row};
use super::client::foreign_call;
use super::credential::Credential;
use super::grpc::{self, Grpc, wrong};
use super::outcome::{Done, Failure};
use super::proto::{self, Message};
use super::row::GROUP;
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::Fault;

/// Rows of one MutateRows: as many as Google's own batches have by default.
const BATCH: u64 = 100;
const FAMILY: &str = "f";
const GROUP_COLUMN: &[u8] = b"g";
const VALUE_COLUMN: &[u8] = b"v";
/// The service writes its own time, as it does for Google's own client.
const SERVICE_TIME: u64 = -1_i64 as u64;

pub struct Bigtable {
    grpc: Grpc,
    table: String,
    /// The header by which the service finds the table before it reads the message; `/` is not escaped.
    params: String,
}

impl Bigtable {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Bigtable, Fault> {
        let table = service.data_set.clone();
        let parts: Vec<&str> = table.split('/').collect();
        if !matches!(parts[..], ["projects", _, "instances", _, "tables", _]) {
            let what = "bad job: the data_set of bigtable is no table";
            return Err(Fault::bad_job(what, "write projects/P/instances/I/tables/T"));
        }
        let params = format!("table_name={}&app_profile_id=", table.replace(':', "%3A"));
        Ok(Bigtable { grpc: Grpc::new(service, credential)?, table, params })
    }

    fn table(&self) -> Message {
        Message::new().text(1, &self.table)
    }

    fn get(&self, row: &Row) -> Message {
        let keys = Message::new().text(1, &row.key());
        self.table().message(2, &keys).message(3, &newest()).number(4, 1)
    }

    /// Reads all rows of a set and returns those of a group; one more than it may have tells that there are too many.
    fn query(&self, row: &Row) -> Message {
        let key = row.key();
        let first = key.as_bytes()[0];
        let range = Message::new().bytes(1, &[first]).bytes(3, &[first + 1]);
        let keys = Message::new().message(2, &range);
        self.table().message(2, &keys).message(3, &of_group(&row.group())).number(4, GROUP + 1)
    }

    fn change(&self, row: &Row, mutations: Vec<Message>) -> Message {
        let message = self.table().text(2, &row.key());
        mutations.iter().fold(message, |message, mutation| message.message(3, mutation))
    }

    fn load(&self, first: &Row, count: u64) -> Message {
        let entry = |index| {
            let row = Row { index, ..*first };
            let entry = Message::new().text(1, &row.key());
            put(&row).iter().fold(entry, |entry, mutation| entry.message(2, mutation))
        };
        (first.index..first.index + count).fold(self.table(), |message, index| message.message(2, &entry(index)))
    }
}

/// Returns the mutations that write a row.
fn put(row: &Row) -> Vec<Message> {
    let set = |column: &[u8], value: &str| {
        let cell = Message::new().text(1, FAMILY).bytes(2, column).number(3, SERVICE_TIME).text(4, value);
        Message::new().message(1, &cell)
    };
    vec![set(GROUP_COLUMN, &row.group()), set(VALUE_COLUMN, &row.value())]
}

fn delete() -> Vec<Message> {
    vec![Message::new().message(4, &Message::new())]
}

/// Returns the filter that drops all cells of a column but the newest.
fn newest() -> Message {
    Message::new().number(12, 1)
}

/// Returns the filter that keeps the newest cells of rows whose `g` has this value, which needs no escape in a pattern.
fn of_group(name: &str) -> Message {
    let parts =
        [Message::new().text(5, FAMILY), Message::new().bytes(6, GROUP_COLUMN), newest(), Message::new().text(9, name)];
    let chain = parts.iter().fold(Message::new(), |chain, part| chain.message(1, part));
    let condition = Message::new().message(1, &Message::new().message(1, &chain)).message(2, &newest());
    Message::new().message(3, &condition)
}

impl Protocol for Bigtable {
    fn http2(&self) -> bool {
        true
    }

    fn batch(&self) -> u64 {
        BATCH
    }

    fn request(&self, call: &Call, _now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let (method, message) = match call {
            Call::Get { row, .. } | Call::LookRow { row, .. } => ("ReadRows", self.get(row)),
            Call::Put(row) => ("MutateRow", self.change(row, put(row))),
            Call::DeleteRow(row) => ("MutateRow", self.change(row, delete())),
            Call::Query { group, .. } => ("ReadRows", self.query(&Row::new(group.set, group.index * GROUP))),
            Call::FindRow { row, .. } => ("ReadRows", self.query(row)),
            Call::Load { first, count } => ("MutateRows", self.load(first, *count)),
            _ => return Err(foreign_call(Name::Bigtable)),
        };
        let method = format!("/google.bigtable.v2.Bigtable/{method}");
        Ok((self.grpc.request(&method, &self.params, message)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let read = || rows::assemble(&grpc::messages(answer)?).map_err(wrong);
        match call {
            Call::Get { row, .. } => match read()?.as_slice() {
                [one] if is_row(one, row) => Ok(Done::new(row.bytes(), true)),
                [] => Err(wrong("no row, and one was written")),
                _ => Err(wrong("another row than was written")),
            },
            Call::LookRow { row, .. } => match read()?.as_slice() {
                [] => Ok(Done::new(0, false)),
                [one] if one.key == row.key().as_bytes() => Ok(Done::new(row.bytes(), is_row(one, row))),
                _ => Err(wrong("another row than was asked for")),
            },
            Call::Query { group, .. } => query(group, &read()?),
            Call::FindRow { row, .. } => {
                let there = read()?.iter().any(|one| one.key == row.key().as_bytes());
                Ok(Done::new(answer.received, there))
            }
            Call::Put(_) | Call::DeleteRow(_) => {
                proto::fields(grpc::message(answer)?).ok_or_else(|| wrong("an answer that is no message"))?;
                let there = matches!(call, Call::Put(_));
                Ok(Done::new(if there { call.bytes() } else { 0 }, there))
            }
            Call::Load { first, count } => {
                let unwritten = bigtable_batch::unwritten(&grpc::messages(answer)?, *count)?;
                Ok(Done { unwritten, ..Done::new(first.bytes() * (count - unwritten), true) })
            }
            _ => Err(wrong("an answer to no operation of a table")),
        }
    }
}

/// Whether a row has exactly these cells, in the order in which the service returns columns.
fn is_row(found: &Read, row: &Row) -> bool {
    let (key, group, value) = (row.key(), row.group(), row.value());
    found.key == key.as_bytes() && found.cells.len() == 2 && cells(found) == Some((group.as_str(), value.as_str()))
}

/// Returns group and value of a row with these two cells only.
fn cells<'a>(found: &'a Read) -> Option<(&'a str, &'a str)> {
    let of = |cell: &'a Cell, column: &[u8]| {
        let right = cell.family == FAMILY.as_bytes() && cell.column == column;
        std::str::from_utf8(&cell.value).ok().filter(|_| right)
    };
    match found.cells.as_slice() {
        [group, value] => Some((of(group, GROUP_COLUMN)?, of(value, VALUE_COLUMN)?)),
        _ => None,
    }
}

fn query(group: &Group, read: &[Read]) -> Result<Done, Failure> {
    let name = group.name();
    let pair = |one| match cells(one)? {
        (found, value) if found == name => Some((std::str::from_utf8(one.key).ok()?, value)),
        _ => None,
    };
    let mut found: Vec<(&str, &str)> = read.iter().map_while(pair).collect();
    if found.len() != read.len() || !group.is_right(&mut found) {
        let what = format!("a query with {} rows, not exactly the {} of its group", read.len(), group.rows);
        return Err(wrong(&what));
    }
    Ok(Done::new(found.iter().map(|(_, value)| value.len() as u64).sum(), true))
}

#[cfg(test)]
mod tests {
    use super::super::bigtable_rows::tests::{chunk, response};
    use super::super::call::Set;
    use super::super::grpc::tests::answer;
    use super::super::outcome::Kind;
    use super::super::proto::Field;
    use super::*;
    use http_body::Body as _;
    use proptest::prelude::*;
    use serde_json::json;

    const ROW: Row = Row { set: Set::Kept, index: 12, version: 0 };

    fn read(data_set: &str) -> Result<Bigtable, Fault> {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:8086", "protocol": "bigtable",
            "data_set": data_set});
        Bigtable::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), None)
    }

    fn bigtable() -> Bigtable {
        read("projects/p/instances/i/tables/t").unwrap()
    }

    fn judge(call: &Call, messages: Vec<Message>) -> Result<Done, Failure> {
        bigtable().judge(call, &answer("0", "", messages))
    }

    fn kind(call: &Call, messages: Vec<Message>) -> Option<Kind> {
        judge(call, messages).err().map(|failure| failure.kind)
    }

    /// Returns the answer that holds these rows.
    fn rows(rows: &[Row]) -> Vec<Message> {
        let of = |row: &Row| {
            let value = |column, value: &str, commit| {
                let key = if commit { String::new() } else { row.key() };
                let end = Message::new().text(6, value).number(9, u64::from(commit));
                chunk(key.as_bytes(), Some("f"), Some(column), end)
            };
            [value("g", &row.group(), false), value("v", &row.value(), true)]
        };
        vec![response(rows.iter().flat_map(of).collect())]
    }

    #[test]
    fn a_request_names_its_method_and_its_table() {
        let service = read("projects/example.org:p/instances/i/tables/t").unwrap();
        let of = |call: &Call| service.request(call, SystemTime::now()).unwrap().0;
        let query = Call::Query { group: Group::of(&ROW, 100), strong: true };
        let load = Call::Load { first: ROW, count: 3 };
        for (call, method) in [
            (&Call::Get { row: ROW, strong: true }, "ReadRows"),
            (&query, "ReadRows"),
            (&Call::Put(ROW), "MutateRow"),
            (&Call::DeleteRow(ROW), "MutateRow"),
            (&load, "MutateRows"),
        ] {
            let request = of(call);
            assert_eq!(request.uri().path(), format!("/google.bigtable.v2.Bigtable/{method}"));
            let params = request.headers()["x-goog-request-params"].to_str().unwrap();
            assert_eq!(params, "table_name=projects/example.org%3Ap/instances/i/tables/t&app_profile_id=");
        }
        assert!(
            of(&load).body().size_hint().exact().unwrap() > 3 * of(&Call::DeleteRow(ROW)).body().size_hint().lower()
        );
        assert!(service.request(&Call::Purge, SystemTime::now()).is_err(), "no table has messages");
        for other in ["projects/p/topics/t", "projects/p/instances/i/tables/t/x", "t"] {
            assert!(read(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_put_writes_two_cells_at_the_services_time() {
        let message = bigtable().change(&ROW, put(&ROW)).into_bytes();
        let fields = proto::fields(&message).unwrap();
        assert_eq!(proto::text(&fields, 2), Some("r00000012"));
        let cells: Vec<_> = proto::all(&fields, 3).iter().map(|one| proto::fields(one).unwrap()).collect();
        let cell = proto::fields(proto::one(&cells[0], 1).unwrap()).unwrap();
        assert_eq!(
            (proto::text(&cell, 1), proto::text(&cell, 2), proto::text(&cell, 4)),
            (Some("f"), Some("g"), Some("g1"))
        );
        assert_eq!((cell[2], cells.len()), ((3, Field::Number(u64::MAX)), 2));
    }

    #[test]
    fn a_query_is_a_bounded_scan_of_its_set_alone() {
        let message = bigtable().query(&ROW).into_bytes();
        let fields = proto::fields(&message).unwrap();
        assert_eq!(fields.last(), Some(&(4, Field::Number(11))));
        assert_eq!(proto::one(&fields, 2), Some(&[0x12, 6, 0x0a, 1, b'r', 0x1a, 1, b's'][..]));
        let filter = proto::one(&fields, 3).unwrap();
        assert!(filter.windows(2).any(|two| two == b"g1"), "{filter:?}");
    }

    #[test]
    fn only_the_row_that_was_written_is_right() {
        let get = Call::Get { row: ROW, strong: false };
        let look = Call::LookRow { row: ROW, strong: false };
        assert_eq!(judge(&get, rows(&[ROW])), Ok(Done::new(100, true)));
        assert_eq!(judge(&look, rows(&[ROW])), Ok(Done::new(100, true)));
        let older = Row { version: 1, ..ROW };
        assert_eq!(
            (kind(&get, rows(&[older])), judge(&look, rows(&[older]))),
            (Some(Kind::WrongBody), Ok(Done::new(100, false)))
        );
        assert_eq!((kind(&get, vec![]), judge(&look, vec![])), (Some(Kind::WrongBody), Ok(Done::new(0, false))));
        let next = Row::new(Set::Kept, 13);
        for wrong in [rows(&[ROW, next]), rows(&[next])] {
            assert_eq!((kind(&get, wrong), kind(&look, rows(&[next]))), (Some(Kind::WrongBody), Some(Kind::WrongBody)));
        }
        let more = chunk(b"r00000012", Some("f"), Some("x"), Message::new().number(9, 1));
        assert_eq!(kind(&get, vec![response(vec![more])]), Some(Kind::WrongBody));
        let failed = bigtable().judge(&get, &answer("14", "later", rows(&[ROW]))).unwrap_err();
        assert_eq!((failed.kind, failed.what.as_str()), (Kind::ServerError, "14 UNAVAILABLE: later"));
    }

    #[test]
    fn a_query_is_right_with_exactly_the_rows_of_its_group() {
        let group = Group::of(&ROW, 15);
        let call = Call::Query { group, strong: false };
        let all: Vec<Row> = group.rows().collect();
        assert_eq!(judge(&call, rows(&all)), Ok(Done::new(500, true)));
        let mut changed = all.clone();
        changed[4].version = 1;
        for wrong in [&all[1..], &[&all[..], &[Row::new(Set::Kept, 15)]].concat(), &changed, &[]] {
            assert_eq!(kind(&call, rows(wrong)), Some(Kind::WrongBody), "{wrong:?}");
        }
        let find = |row| judge(&Call::FindRow { row, strong: false }, rows(&all)).unwrap().there;
        assert!(find(ROW) && !find(Row::new(Set::Kept, 15)));
    }

    #[test]
    fn a_change_is_done_with_one_empty_message() {
        assert_eq!(judge(&Call::Put(ROW), vec![Message::new()]), Ok(Done::new(100, true)));
        assert_eq!(judge(&Call::DeleteRow(ROW), vec![Message::new()]), Ok(Done::new(0, false)));
        for call in [Call::Put(ROW), Call::DeleteRow(ROW)] {
            assert_eq!(kind(&call, vec![]), Some(Kind::WrongBody));
            assert_eq!(kind(&call, vec![Message::new(), Message::new()]), Some(Kind::WrongBody));
        }
    }

    #[test]
    fn rows_of_a_batch_that_were_throttled_are_not_written() {
        let call = Call::Load { first: Row::new(Set::Uploaded, 50), count: 3 };
        let entry = |(index, code): (u64, u64)| {
            let entry = Message::new().number(1, index).message(2, &Message::new().number(1, code));
            Message::new().message(1, &entry)
        };
        let some = Done { unwritten: 2, ..Done::new(100, true) };
        assert_eq!(judge(&call, [(0, 8), (1, 0), (2, 8)].map(entry).into()), Ok(some));
        assert_eq!(kind(&call, vec![]), Some(Kind::WrongBody));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic_and_are_never_right(
            bytes in prop::collection::vec(any::<u8>(), 0..40), field in 0_u32..10
        ) {
            let inner = chunk(b"r00000012", Some("f"), Some("g"), Message::new().bytes(field + 1, &bytes));
            let messages = [Message::new().bytes(1, &bytes), Message::new().bytes(2, &bytes), response(vec![inner])];
            for message in messages {
                let message = message.into_bytes();
                let mut answer = answer("0", "", vec![]);
                for text in [&message, &bytes] {
                    answer.text = [&[0, 0, 0, 0, text.len() as u8], text.as_slice()].concat();
                    let query = Call::Query { group: Group::of(&ROW, 20), strong: false };
                    for call in [Call::Get { row: ROW, strong: false }, query, Call::Load { first: ROW, count: 2 }] {
                        prop_assert!(bigtable().judge(&call, &answer).is_err());
                    }
                }
            }
        }

        #[test]
        fn an_answer_that_is_cut_or_changed_anywhere_is_never_right(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let whole = answer("0", "", rows(&Group::of(&ROW, 20).rows().collect::<Vec<_>>()));
            let call = Call::Query { group: Group::of(&ROW, 20), strong: false };
            prop_assert!(bigtable().judge(&call, &whole).is_ok());
            let mut cut = answer("0", "", vec![]);
            cut.text = whole.text[..at.index(whole.text.len())].to_vec();
            prop_assert!(bigtable().judge(&call, &cut).is_err());
            cut.text = whole.text.clone();
            cut.text[at.index(whole.text.len())] ^= 1 << bit;
            if let Ok(done) = bigtable().judge(&call, &cut) {
                prop_assert_eq!(done.bytes, 1000, "a flag that says nothing new, such as another true");
            }
        }
    }
}
