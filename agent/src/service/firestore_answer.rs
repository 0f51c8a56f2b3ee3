//! The answers of Firestore: documents whose fields are text, and the results of a Commit.

use super::grpc::wrong;
use super::outcome::Failure;
use super::proto::{self, Field};

/// A document as the service writes it: its name, and its fields, all of them text, in the order of their names.
pub struct Document<'a> {
    pub name: &'a str,
    pub fields: Vec<(&'a str, &'a str)>,
}

/// Reads the answer to a question for one document: the document, or `None` if it is said to be missing.
pub fn document<'a>(messages: &[&'a [u8]], name: &str) -> Result<Option<Document<'a>>, Failure> {
    let (mut found, mut missing) = (Vec::new(), 0);
    for &message in messages {
        let fields = proto::fields(message).ok_or_else(|| wrong("an answer that is no message"))?;
        found.extend(proto::all(&fields, 1));
        missing += proto::all(&fields, 2).iter().filter(|other| **other == name.as_bytes()).count();
    }
    match (found.as_slice(), missing) {
        ([], 1) => Ok(None),
        ([document], 0) => read(document).map(Some).ok_or_else(|| wrong("a document that is no row")),
        _ => Err(wrong("an answer to another question than for one document")),
    }
}

/// Reads the documents of the answer to a query.
pub fn documents<'a>(messages: &[&'a [u8]]) -> Result<Vec<Document<'a>>, Failure> {
    let mut documents = Vec::new();
    for &message in messages {
        let fields = proto::fields(message).ok_or_else(|| wrong("an answer that is no message"))?;
        for document in proto::all(&fields, 1) {
            documents.push(read(document).ok_or_else(|| wrong("a document that is no row"))?);
        }
    }
    // Even a query that finds nothing is answered, with the time at which it looked.
    if messages.is_empty() { Err(wrong("a query without an answer")) } else { Ok(documents) }
}

/// Reads a document whose fields are all text.
fn read(document: &[u8]) -> Option<Document<'_>> {
    let document = proto::fields(document)?;
    let mut fields = Vec::new();
    for field in proto::all(&document, 2) {
        let field = proto::fields(field)?;
        fields.push((proto::text(&field, 1)?, text_value(proto::one(&field, 2)?)?));
    }
    fields.sort_unstable();
    Some(Document { name: proto::text(&document, 1)?, fields })
}

/// Returns the text of a value that is nothing but text.
fn text_value(value: &[u8]) -> Option<&str> {
    match proto::fields(value)?.as_slice() {
        [(17, Field::Bytes(text))] => std::str::from_utf8(text).ok(),
        _ => None,
    }
}

/// Judges the answer to a Commit: one result for each of its writes.
pub fn written(messages: &[&[u8]], writes: u64) -> Result<(), Failure> {
    let [message] = messages else { return Err(wrong("a commit with more or less than one answer")) };
    let fields = proto::fields(message).ok_or_else(|| wrong("an answer that is no message"))?;
    match proto::all(&fields, 1).len() as u64 {
        results if results == writes => Ok(()),
        results => Err(wrong(&format!("{results} of {writes} rows are said to be written"))),
    }
}
