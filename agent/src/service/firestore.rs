//! Firestore in native mode over gRPC: a row is a document of one collection, named by its key, with the fields `g` and
//! `v`.
//!
//! Every read is strong. Queries by `g` use the index that the service makes of each field by itself. A batch is one
//! Commit, which writes all of its rows or none.

use std::time::SystemTime;

use http::{HeaderValue, Request};

use super::call::{Answer, Call, Group, Reading, Row};
use super::client::foreign_call;
use super::credential::Credential;
use super::firestore_answer::{Document, document, documents, written};
use super::grpc::{self, Grpc, wrong};
use super::outcome::{Done, Failure, Kind};
use super::proto::Message;
use super::sigv4::encode;
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::{Fault, OrFault};

/// The most writes of one Commit.
const BATCH: u64 = 500;
const EQUAL: u64 = 5;
/// The code of ABORTED, by which the service refuses changes of a document that others change at the same time.
const ABORTED: usize = 10;

pub struct Firestore {
    grpc: Grpc,
    /// The collection's full name.
    collection: String,
    /// What stands before its own name: `projects/P/databases/D/documents`.
    parent: String,
    database: String,
    prefix: HeaderValue,
    database_param: String,
    parent_param: String,
}

impl Firestore {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Firestore, Fault> {
        let collection = service.data_set.clone();
        let parent = collection.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
        let Some(database) = parent.strip_suffix("/documents").filter(|name| name.split('/').count() == 4) else {
            let what = "bad job: the data_set of firestore is no collection";
            return Err(Fault::bad_job(what, "write projects/P/databases/(default)/documents/COLLECTION"));
        };
        Ok(Firestore {
            grpc: Grpc::new(service, credential)?,
            prefix: HeaderValue::from_str(database).or_fault("the data set is no header", "give another")?,
            database_param: format!("database={}", encode(database, true)),
            parent_param: format!("parent={}", encode(&parent, true)),
            database: database.to_owned(),
            parent,
            collection,
        })
    }

    fn name(&self, row: &Row) -> String {
        format!("{}/{}", self.collection, row.key())
    }

    /// Returns the write that makes a row a document, whether or not there is one.
    fn update(&self, row: &Row) -> Message {
        let (group, value) = (row.group(), row.value());
        let field = |name, text: &str| Message::new().text(1, name).message(2, &Message::new().text(17, text));
        let fields = Message::new().text(1, &self.name(row)).message(2, &field("g", &group));
        Message::new().message(1, &fields.message(2, &field("v", &value)))
    }

    fn commit(&self, writes: impl Iterator<Item = Message>) -> (&str, &str, Message) {
        let commit = Message::new().text(1, &self.database);
        ("Commit", &self.database_param, writes.fold(commit, |commit, write| commit.message(2, &write)))
    }

    fn get(&self, row: &Row) -> (&str, &str, Message) {
        let get = Message::new().text(1, &self.database).text(2, &self.name(row));
        ("BatchGetDocuments", &self.database_param, get)
    }

    fn query(&self, group: &str) -> (&str, &str, Message) {
        let id = &self.collection[self.parent.len() + 1..];
        let field = Message::new().text(2, "g");
        let equal = Message::new().message(1, &field).number(2, EQUAL).message(3, &Message::new().text(17, group));
        let query = Message::new().message(2, &Message::new().text(2, id));
        let query = query.message(3, &Message::new().message(2, &equal));
        ("RunQuery", &self.parent_param, Message::new().text(1, &self.parent).message(2, &query))
    }

    /// Whether a document is this row, with these fields and no other.
    fn is_row(&self, document: &Document, row: &Row) -> bool {
        let (group, value) = (row.group(), row.value());
        document.name == self.name(row) && document.fields == [("g", group.as_str()), ("v", value.as_str())]
    }

    /// Returns the key of a document of the collection.
    fn key<'a>(&self, document: &Document<'a>) -> Option<&'a str> {
        document.name.strip_prefix(&self.collection)?.strip_prefix('/')
    }

    /// Judges the documents that a query found: exactly the rows of the group.
    fn found(&self, group: &Group, documents: &[Document]) -> Result<Done, Failure> {
        let name = group.name();
        let pair = |document: &Document| match document.fields.as_slice() {
            [("g", g), ("v", v)] if *g == name => Some((self.key(document)?.to_owned(), (*v).to_owned())),
            _ => None,
        };
        let mut found: Vec<_> = documents.iter().filter_map(pair).collect();
        if found.len() != documents.len() || !group.is_right(&mut found) {
            let what = format!("a query with {} rows, not exactly the {} of its group", documents.len(), group.rows);
            return Err(wrong(&what));
        }
        Ok(Done::new(found.iter().map(|(_, value)| value.len() as u64).sum(), true))
    }
}

impl Protocol for Firestore {
    fn http2(&self) -> bool {
        true
    }

    fn batch(&self) -> u64 {
        BATCH
    }

    fn request(&self, call: &Call, _now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let (method, params, message) = match call {
            Call::Get { row, .. } | Call::LookRow { row, .. } => self.get(row),
            Call::Put(row) => self.commit([self.update(row)].into_iter()),
            Call::DeleteRow(row) => self.commit([Message::new().text(2, &self.name(row))].into_iter()),
            Call::Query { group, .. } => self.query(&group.name()),
            Call::FindRow { row, .. } => self.query(&row.group()),
            Call::Load { first, count } => {
                let rows = first.index..first.index + count;
                self.commit(rows.map(|index| self.update(&Row { index, ..*first })))
            }
            _ => return Err(foreign_call(Name::Firestore)),
        };
        let mut request = self.grpc.request(&format!("/google.firestore.v1.Firestore/{method}"), params, message)?;
        request.headers_mut().insert("google-cloud-resource-prefix", self.prefix.clone());
        Ok((request, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let messages = grpc::messages(answer).map_err(|failure| match grpc::code(answer) {
            Ok(ABORTED) => Failure { kind: Kind::Throttled, ..failure },
            _ => failure,
        })?;
        match call {
            Call::Get { row, .. } => match document(&messages, &self.name(row))? {
                Some(document) if self.is_row(&document, row) => Ok(Done::new(row.bytes(), true)),
                Some(_) => Err(wrong("another row than was written")),
                None => Err(wrong("no row, and one was written")),
            },
            Call::LookRow { row, .. } => {
                let there = document(&messages, &self.name(row))?.is_some_and(|document| self.is_row(&document, row));
                Ok(Done::new(if there { row.bytes() } else { 0 }, there))
            }
            Call::Put(row) => written(&messages, 1).map(|()| Done::new(row.bytes(), true)),
            Call::Load { first, count } => written(&messages, *count).map(|()| Done::new(first.bytes() * count, true)),
            Call::DeleteRow(_) => written(&messages, 1).map(|()| Done::new(0, false)),
            Call::Query { group, .. } => self.found(group, &documents(&messages)?),
            Call::FindRow { row, .. } => {
                let key = row.key();
                let there = documents(&messages)?.iter().any(|document| self.key(document) == Some(&key));
                Ok(Done::new(answer.received, there))
            }
            _ => Err(wrong("an answer to no operation of a table")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::Set;
    use super::super::grpc::tests::answer;
    use super::super::proto;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const COLLECTION: &str = "projects/p/databases/(default)/documents/mine";

    fn made(data_set: &str) -> Result<Firestore, Fault> {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:8080", "protocol": "firestore",
            "data_set": data_set});
        Firestore::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), None)
    }

    fn firestore() -> Firestore {
        made(COLLECTION).unwrap()
    }

    /// Returns a row as a document, as the service sends it: with the times of its writes.
    fn sent(row: &Row) -> Message {
        let bytes = firestore().update(row).into_bytes();
        let fields = proto::fields(&bytes).unwrap();
        let mut document = proto::one(&fields, 1).unwrap().to_vec();
        document.extend(Message::new().message(3, &Message::new().number(1, 7)).into_bytes());
        Message::new().bytes(1, &document).message(4, &Message::new().number(1, 7))
    }

    fn judge(call: &Call, messages: Vec<Message>) -> Result<Done, Failure> {
        firestore().judge(call, &answer("0", "", messages))
    }

    #[test]
    fn requests_name_the_method_and_the_database_as_googles_client_does() {
        let row = Row::new(Set::Kept, 123);
        let look = Call::LookRow { row, strong: false };
        let query = Call::Query { group: Group::of(&row, 1000), strong: true };
        let load = Call::Load { first: row, count: 3 };
        let database = "database=projects/p/databases/%28default%29";
        let parent = "parent=projects/p/databases/%28default%29/documents";
        for (call, method, params) in [
            (&look, "BatchGetDocuments", database),
            (&Call::Get { row, strong: true }, "BatchGetDocuments", database),
            (&Call::Put(row), "Commit", database),
            (&Call::DeleteRow(row), "Commit", database),
            (&load, "Commit", database),
            (&query, "RunQuery", parent),
            (&Call::FindRow { row, strong: false }, "RunQuery", parent),
        ] {
            let (request, reading) = firestore().request(call, SystemTime::now()).unwrap();
            assert_eq!(request.uri().path(), format!("/google.firestore.v1.Firestore/{method}"));
            let header = |name| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
            assert_eq!(header("x-goog-request-params"), params);
            assert_eq!(header("google-cloud-resource-prefix"), "projects/p/databases/(default)");
            assert_eq!(reading, Reading::Text);
        }
        assert!(firestore().request(&Call::Purge, SystemTime::now()).is_err(), "no table has messages");
        assert!(firestore().http2() && firestore().batch() == 500);
    }

    #[test]
    fn a_data_set_is_a_collection_of_a_database() {
        for other in ["mine", "projects/p/databases/d/documents", "projects/p/databases/d/documents/a/b/c"] {
            assert!(made(other).is_err(), "{other}");
        }
        let named = made("projects/p/databases/documents/documents/mine").unwrap();
        assert_eq!(named.parent, "projects/p/databases/documents/documents");
    }

    #[test]
    fn only_the_row_that_was_written_is_right() {
        let row = Row::new(Set::Kept, 123);
        let (get, look) = (Call::Get { row, strong: false }, Call::LookRow { row, strong: true });
        let missing = |name: &str| vec![Message::new().text(2, &format!("{COLLECTION}/{name}"))];
        assert_eq!(judge(&get, vec![sent(&row)]), Ok(Done::new(100, true)));
        assert_eq!(judge(&look, vec![sent(&row)]), Ok(Done::new(100, true)));
        assert_eq!(judge(&look, missing("r00000123")), Ok(Done::new(0, false)));
        let older = Row { version: 1, ..row };
        assert_eq!(judge(&look, vec![sent(&older)]), Ok(Done::new(0, false)));
        for answers in [
            vec![sent(&older)],
            vec![sent(&Row::new(Set::Kept, 124))],
            vec![sent(&row), sent(&row)],
            vec![],
            vec![Message::new()],
            missing("r00000123"),
            missing("r00000124"),
        ] {
            assert_eq!(judge(&get, answers).unwrap_err().kind, Kind::WrongBody);
        }
        assert_eq!(judge(&look, missing("r00000124")).unwrap_err().kind, Kind::WrongBody);
        // A field more, and a field of another type.
        let field = |value: Message| Message::new().text(1, "w").message(2, &value);
        for value in [Message::new().text(17, "text"), Message::new().number(2, 7)] {
            let mut document = proto::one(&proto::fields(&sent(&row).into_bytes()).unwrap(), 1).unwrap().to_vec();
            document.extend(Message::new().message(2, &field(value)).into_bytes());
            assert_eq!(judge(&get, vec![Message::new().bytes(1, &document)]).unwrap_err().kind, Kind::WrongBody);
        }
    }

    #[test]
    fn a_query_finds_exactly_the_rows_of_its_group() {
        let row = Row::new(Set::Kept, 123);
        let group = Group::of(&row, 1000);
        let (query, find) = (Call::Query { group, strong: false }, Call::FindRow { row, strong: false });
        let all = || group.rows().map(|row| sent(&row)).collect::<Vec<_>>();
        assert_eq!(judge(&query, all()), Ok(Done::new(1000, true)));
        assert_eq!(judge(&find, all()).map(|done| done.there), Ok(true));
        let nothing = || vec![Message::new().message(3, &Message::new().number(1, 7))];
        assert_eq!(judge(&find, nothing()).map(|done| done.there), Ok(false));
        assert_eq!(judge(&find, vec![]).unwrap_err().kind, Kind::WrongBody);
        assert_eq!(judge(&query, nothing()).unwrap_err().kind, Kind::WrongBody);
        for other in
            [Row::new(Set::Kept, 130), Row::new(Set::Kept, 124), Row { version: 1, ..Row::new(Set::Kept, 129) }]
        {
            let mut rows = all();
            rows.pop();
            assert_eq!(judge(&query, rows).unwrap_err().kind, Kind::WrongBody);
            let mut rows = all();
            rows.push(sent(&other));
            assert_eq!(judge(&query, rows).unwrap_err().kind, Kind::WrongBody);
        }
    }

    #[test]
    fn a_commit_has_a_result_for_each_of_its_writes() {
        let row = Row::new(Set::Uploaded, 0);
        let load = Call::Load { first: row, count: 3 };
        let results = |count| vec![(0..count).fold(Message::new(), |all, _| all.message(1, &Message::new()))];
        assert_eq!(judge(&load, results(3)), Ok(Done::new(300, true)));
        assert_eq!(judge(&load, results(2)).unwrap_err().what, "2 of 3 rows are said to be written");
        assert_eq!(judge(&Call::Put(row), results(1)), Ok(Done::new(100, true)));
        assert_eq!(judge(&Call::DeleteRow(row), results(1)), Ok(Done::new(0, false)));
        for call in [Call::Put(row), Call::DeleteRow(row)] {
            for wrong in [vec![], results(0), results(2), vec![Message::new(), Message::new()]] {
                assert_eq!(judge(&call, wrong).unwrap_err().kind, Kind::WrongBody);
            }
        }
    }

    #[test]
    fn a_refusal_is_a_throttle_an_error_of_the_service_or_one_of_the_client() {
        for (code, kind) in [
            ("8", Kind::Throttled),
            ("10", Kind::Throttled),
            ("14", Kind::ServerError),
            ("13", Kind::ServerError),
            ("16", Kind::ClientError),
            ("5", Kind::ClientError),
        ] {
            let put = Call::Put(Row::new(Set::Kept, 1));
            let failure = firestore().judge(&put, &answer(code, "why", vec![])).unwrap_err();
            assert_eq!(failure.kind, kind, "{code}");
            assert!(failure.what.starts_with(code) && failure.what.ends_with(": why"), "{}", failure.what);
        }
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic_and_are_never_right(
            bytes in prop::collection::vec(any::<u8>(), 0..60), field in 1_u32..4
        ) {
            let row = Row::new(Set::Kept, 1);
            let mut answer = answer("0", "", vec![Message::new().bytes(field, &bytes)]);
            let whole = answer.text.clone();
            for text in [whole.clone(), whole[..whole.len() - 1].to_vec(), bytes.clone()] {
                answer.text = text;
                for call in [
                    Call::Get { row, strong: false },
                    Call::Query { group: Group::of(&row, 20), strong: false },
                    Call::Load { first: row, count: 50 },
                ] {
                    prop_assert!(firestore().judge(&call, &answer).is_err());
                }
                let look = Call::LookRow { row, strong: true };
                prop_assert!(firestore().judge(&look, &answer).map_or(true, |done| !done.there));
            }
        }

        #[test]
        fn a_document_that_is_cut_anywhere_is_never_right(at in 0_usize..200) {
            let row = Row::new(Set::Kept, 1);
            let whole = answer("0", "", vec![sent(&row)]);
            let text = whole.text[..at.min(whole.text.len() - 1)].to_vec();
            let (get, cut) = (Call::Get { row, strong: false }, Answer { text, ..whole });
            prop_assert!(firestore().judge(&get, &cut).is_err());
        }
    }
}
