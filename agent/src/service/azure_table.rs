//! Tables of Azure Storage, and what speaks their protocol: JSON without metadata, batches of at most 100 rows.
//!
//! The partition of a row is the first two characters of its key, so that the rows of a batch are in one. Every read of
//! the primary region is strong.

use std::borrow::Cow;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;

use super::azure::{self, Account, Header};
use super::call::{Answer, Call, Group, Reading, Row};
use super::client::foreign_call;
use super::credential::Credential;
use super::outcome::{Done, Failure, Kind};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::Fault;

const BATCH: u64 = 100;
const ACCEPT: Header = ("accept", "application/json;odata=nometadata");
const DATA_SERVICE: Header = ("dataserviceversion", "3.0;NetFx");
const READ: &[Header] = &[ACCEPT, DATA_SERVICE];
const WRITE: &[Header] = &[ACCEPT, DATA_SERVICE, ("content-type", "application/json")];
const DELETE: &[Header] = &[ACCEPT, DATA_SERVICE, ("if-match", "*")];
const LOAD: &[Header] = &[ACCEPT, DATA_SERVICE, ("content-type", "multipart/mixed; boundary=batch_rows")];

pub struct AzureTable {
    account: Account,
    table: String,
}

/// A row as the service writes it.
#[derive(Deserialize)]
struct Entity<'a> {
    #[serde(rename = "RowKey", borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    g: Cow<'a, str>,
    #[serde(borrow)]
    v: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    value: Vec<Entity<'a>>,
}

impl Entity<'_> {
    fn is(&self, row: &Row) -> bool {
        self.key == row.key() && self.g == row.group() && self.v == row.value()
    }
}

impl AzureTable {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<AzureTable, Fault> {
        Ok(AzureTable { account: Account::new(service, credential)?, table: service.data_set.clone() })
    }

    fn path(&self, row: &Row) -> String {
        let key = row.key();
        format!("{}(PartitionKey='{}',RowKey='{key}')", self.table, &key[..2])
    }

    /// Builds the requests of a batch, which the service executes as one: all of them, or none.
    fn batch_body(&self, first: &Row, count: u64) -> String {
        let mut body = String::with_capacity(600 * count as usize + 200);
        body += "--batch_rows\r\nContent-Type: multipart/mixed; boundary=changeset_rows\r\n\r\n";
        for index in first.index..first.index + count {
            let row = Row { index, ..*first };
            body +=
                "--changeset_rows\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT ";
            body += &self.account.url(&self.path(&row));
            body += " HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nContent-Type: application/json\r\n";
            body += "DataServiceVersion: 3.0;\r\n\r\n";
            body += &entity(&row);
            body += "\r\n";
        }
        body + "--changeset_rows--\r\n--batch_rows--\r\n"
    }
}

/// Returns a row as JSON; no character of its fields has to be escaped.
fn entity(row: &Row) -> String {
    let key = row.key();
    let (partition, group, value) = (&key[..2], row.group(), row.value());
    format!(r#"{{"PartitionKey":"{partition}","RowKey":"{key}","g":"{group}","v":"{value}"}}"#)
}

/// Returns the query of the rows of a group. It names their partition too: a service ends a page where one ends.
fn filter(row: &Row) -> String {
    format!("$filter=PartitionKey%20eq%20'{}'%20and%20g%20eq%20'{}'", &row.key()[..2], row.group())
}

impl Protocol for AzureTable {
    fn batch(&self) -> u64 {
        BATCH
    }

    fn request(&self, call: &Call, now: SystemTime) -> Result<(http::Request<Body>, Reading), Fault> {
        let text = |text: String| Body::bytes(Bytes::from(text));
        let query = |row: &Row| (Method::GET, format!("{}()", self.table), filter(row), READ, Body::empty());
        let (method, path, query, headers, body) = match call {
            Call::Get { row, .. } | Call::LookRow { row, .. } => {
                (Method::GET, self.path(row), String::new(), READ, Body::empty())
            }
            Call::Put(row) => (Method::PUT, self.path(row), String::new(), WRITE, text(entity(row))),
            Call::DeleteRow(row) => (Method::DELETE, self.path(row), String::new(), DELETE, Body::empty()),
            Call::Query { group, .. } => query(&first(group)),
            Call::FindRow { row, .. } => query(row),
            Call::Load { first, count } => {
                (Method::POST, "$batch".to_owned(), String::new(), LOAD, text(self.batch_body(first, *count)))
            }
            _ => return Err(foreign_call(Name::AzureTable)),
        };
        Ok((self.account.request(method, &path, &query, headers, body, now)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let done = |bytes, there| Ok(Done::new(bytes, there));
        let wrong = |what: &str| Err(Failure::new(Kind::WrongBody, what));
        let missing = || azure::code(answer).as_deref() == Some("ResourceNotFound");
        match (call, answer.status) {
            (Call::Get { row, .. }, StatusCode::OK) => match serde_json::from_slice::<Entity>(&answer.text) {
                Ok(entity) if entity.is(row) => done(row.bytes(), true),
                _ => wrong("another row than was written"),
            },
            (Call::LookRow { row, .. }, StatusCode::OK) => match serde_json::from_slice::<Entity>(&answer.text) {
                Ok(entity) => done(row.bytes(), entity.is(row)),
                Err(_) => wrong("no row"),
            },
            (Call::LookRow { .. } | Call::DeleteRow(_), StatusCode::NOT_FOUND) if missing() => done(0, false),
            (Call::Put(row), StatusCode::NO_CONTENT) => done(row.bytes(), true),
            (Call::DeleteRow(_), StatusCode::NO_CONTENT) => done(0, false),
            (Call::Query { group, .. }, StatusCode::OK) => match serde_json::from_slice::<Page>(&answer.text) {
                Ok(page) if is_group(group, &page) => done(call.bytes(), true),
                _ if goes_on(answer) => wrong("a part of the rows: the service ended its page early"),
                _ => wrong("other rows than were written"),
            },
            (Call::FindRow { row, .. }, StatusCode::OK) => match serde_json::from_slice::<Page>(&answer.text) {
                Ok(page) => done(answer.received, page.value.iter().any(|entity| entity.key == row.key())),
                Err(_) => wrong("no rows"),
            },
            (Call::Load { first, count }, StatusCode::ACCEPTED) => loaded(first, *count, answer),
            _ => Err(azure::failure(answer)),
        }
    }
}

fn first(group: &Group) -> Row {
    Row::new(group.set, group.index * super::row::GROUP)
}

fn is_group(group: &Group, page: &Page) -> bool {
    let name = group.name();
    let mut found: Vec<(&str, &str)> = page.value.iter().map(|entity| (&*entity.key, &*entity.v)).collect();
    page.value.iter().all(|entity| entity.g == name) && group.is_right(&mut found)
}

fn goes_on(answer: &Answer) -> bool {
    answer.headers.keys().any(|name| name.as_str().starts_with("x-ms-continuation"))
}

/// Judges the answer to a batch: one good status for each row, or the error of the row for which none was written.
fn loaded(first: &Row, count: u64, answer: &Answer) -> Result<Done, Failure> {
    let text = String::from_utf8_lossy(&answer.text);
    let mut statuses = text.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse::<u16>().ok());
    let good = text.lines().filter(|line| line.starts_with("HTTP/1.1 204")).count() as u64;
    match statuses.find(|status| !(200..300).contains(status)).map(StatusCode::from_u16) {
        None if good == count => Ok(Done::new(first.bytes() * count, true)),
        Some(Ok(status)) => {
            let error = text.lines().find(|line| line.starts_with('{')).unwrap_or("");
            let headers = http::HeaderMap::new();
            Err(azure::failure(&Answer { status, headers, text: error.as_bytes().to_vec(), received: 0 }))
        }
        _ => Err(Failure::new(Kind::WrongBody, format!("{good} of {count} rows are said to be written"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::azure::tests::answer;
    use super::super::call::Set;
    use super::*;
    use http_body::Body as _;
    use proptest::prelude::*;
    use serde_json::json;

    fn table() -> AzureTable {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:10002/one", "protocol": "azure-table",
            "data_set": "mine"});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        AzureTable::new(&service, Some(&Credential::Sas { query: "tn=mine&sig=5ec3e7".into() })).unwrap()
    }

    fn page(rows: &[Row]) -> String {
        format!(r#"{{"value":[{}]}}"#, rows.iter().map(entity).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn rows_are_asked_for_by_key_and_by_group() {
        let uri = |call: &Call| table().request(call, SystemTime::now()).unwrap().0.uri().to_string();
        let row = Row::new(Set::Kept, 123);
        let own = "/one/mine(PartitionKey='r0',RowKey='r00000123')?tn=mine&sig=5ec3e7";
        for call in [Call::Get { row, strong: false }, Call::Put(row), Call::DeleteRow(row)] {
            assert_eq!(uri(&call), own);
        }
        let query = Call::Query { group: Group::of(&row, 1000), strong: true };
        let filter = "$filter=PartitionKey%20eq%20'r0'%20and%20g%20eq%20'g12'";
        assert_eq!(uri(&query), format!("/one/mine()?{filter}&tn=mine&sig=5ec3e7"));
        let (batch, _) = table().request(&Call::Load { first: row, count: 3 }, SystemTime::now()).unwrap();
        assert_eq!(batch.uri(), "/one/$batch?tn=mine&sig=5ec3e7");
        let body = table().batch_body(&row, 3);
        assert_eq!(batch.body().size_hint().exact(), Some(body.len() as u64));
        assert_eq!(body.matches("PUT http://127.0.0.1:10002/one/mine(PartitionKey='r0',RowKey='r0000012").count(), 3);
        assert!(!body.contains("5ec3e7") && body.contains(&entity(&Row::new(Set::Kept, 125))));
        assert!(table().request(&Call::Purge, SystemTime::now()).is_err(), "no table has messages");
    }

    #[test]
    fn only_the_row_and_the_rows_that_were_written_are_right() {
        let (table, row) = (table(), Row::new(Set::Kept, 123));
        let judge = |call: &Call, status, text: &str| table.judge(call, &answer(status, None, text));
        let get = Call::Get { row, strong: false };
        assert_eq!(judge(&get, 200, &entity(&row)), Ok(Done::new(100, true)));
        let older = Row { version: 1, ..row };
        assert_eq!(judge(&get, 200, &entity(&older)).unwrap_err().kind, Kind::WrongBody);
        assert_eq!(judge(&Call::LookRow { row, strong: false }, 200, &entity(&older)), Ok(Done::new(100, false)));
        let error = |code| format!(r#"{{"odata.error":{{"code":"{code}","message":{{"value":"None."}}}}}}"#);
        let look = Call::LookRow { row, strong: false };
        assert_eq!(judge(&look, 404, &error("ResourceNotFound")), Ok(Done::new(0, false)));
        assert_eq!(judge(&look, 404, &error("TableNotFound")).unwrap_err().what, "404 TableNotFound: None.");
        let group = Group::of(&row, 1000);
        let (query, rows) = (Call::Query { group, strong: false }, group.rows().collect::<Vec<_>>());
        assert!(judge(&query, 200, &page(&rows)).is_ok());
        assert_eq!(judge(&query, 200, &page(&rows[1..])).unwrap_err().kind, Kind::WrongBody);
        let find = Call::FindRow { row, strong: false };
        assert_eq!(judge(&find, 200, &page(&rows)).map(|done| done.there), Ok(true));
        assert_eq!(judge(&find, 200, &page(&rows[..3])).map(|done| done.there), Ok(false));
    }

    #[test]
    fn a_batch_is_written_whole_or_not_at_all() {
        let load = Call::Load { first: Row::new(Set::Uploaded, 0), count: 2 };
        let judge = |text: &str| table().judge(&load, &answer(202, None, text));
        let good = "--b\r\nHTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(judge(&good.repeat(2)), Ok(Done::new(200, true)));
        assert_eq!(judge(good).unwrap_err().kind, Kind::WrongBody);
        let busy = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en","value":"1:Slower.\nRequestId:1"}}}"#;
        let failure = judge(&format!("HTTP/1.1 503 Service Unavailable\r\n\r\n{busy}\r\n")).unwrap_err();
        assert_eq!((failure.kind, failure.what.as_str()), (Kind::Throttled, "503 ServerBusy: 1:Slower."));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic_and_are_never_right(
            text in r#"(HTTP/1.1 |204|503|\r\n|\{"value":\[|\{"RowKey":"r|"g":"g0"|[\[\]{}",:]|\PC{0,6}){0,9}"#
        ) {
            let (row, answer) = (Row::new(Set::Kept, 1), answer(200, None, &text));
            let group = Group::of(&row, 20);
            for call in [Call::Get { row, strong: false }, Call::Query { group, strong: false }] {
                prop_assert!(table().judge(&call, &answer).is_err());
            }
            prop_assert!(loaded(&row, 50, &answer).is_err());
        }
    }
}
