//! DynamoDB: rows are items with the attributes `k`, `g` and `v`; the index `by_group` serves queries by `g`.

use std::collections::HashSet;
use std::time::SystemTime;

use http::Request;
use serde_json::{Value, json};

use super::aws_json::{AwsJson, document, wrong};
use super::call::{Answer, Call, Group, Reading, Row};
use super::client::foreign_call;
use super::credential::Credential;
use super::outcome::{Done, Failure};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::Fault;

const INDEX: &str = "by_group";
/// The most rows of a BatchWriteItem.
const BATCH: u64 = 25;

pub struct DynamoDb {
    json: AwsJson,
    table: String,
}

impl DynamoDb {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<DynamoDb, Fault> {
        let json = AwsJson::new(service, credential, "dynamodb", "DynamoDB_20120810")?;
        Ok(DynamoDb { json, table: service.data_set.clone() })
    }

    fn get(&self, row: &Row, strong: bool) -> Value {
        json!({"TableName": self.table, "Key": {"k": {"S": row.key()}}, "ConsistentRead": strong})
    }

    fn query(&self, group: &str) -> Value {
        json!({
            "TableName": self.table, "IndexName": INDEX, "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": group}},
        })
    }
}

impl Protocol for DynamoDb {
    fn batch(&self) -> u64 {
        BATCH
    }

    fn request(&self, call: &Call, now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let (operation, body) = match call {
            Call::Get { row, strong } | Call::LookRow { row, strong } => ("GetItem", self.get(row, *strong)),
            Call::Put(row) => ("PutItem", json!({"TableName": self.table, "Item": item(row)})),
            Call::DeleteRow(row) => ("DeleteItem", json!({"TableName": self.table, "Key": {"k": {"S": row.key()}}})),
            Call::Query { strong: true, .. } | Call::FindRow { strong: true, .. } => {
                let what = "bad job: dynamodb has no strong reads of an index, which a query by a field uses";
                return Err(Fault::bad_job(what, "use read: eventual"));
            }
            Call::Query { group, .. } => ("Query", self.query(&group.name())),
            Call::FindRow { row, .. } => ("Query", self.query(&row.group())),
            Call::Load { first, count } => {
                let put = |index| json!({"PutRequest": {"Item": item(&Row { index, ..*first })}});
                let puts: Vec<Value> = (first.index..first.index + count).map(put).collect();
                let table = self.table.as_str();
                ("BatchWriteItem", json!({"RequestItems": {table: puts}}))
            }
            _ => return Err(foreign_call(Name::DynamoDb)),
        };
        Ok((self.json.request(operation, body.to_string(), now)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let document = document(answer)?;
        match call {
            Call::Get { row, .. } => match document.get("Item") {
                Some(found) if is_row(found, row) => Ok(Done::new(row.bytes(), true)),
                Some(_) => Err(wrong("another row than was written")),
                None => Err(wrong("no row, and one was written")),
            },
            Call::LookRow { row, .. } => {
                let there = document.get("Item").is_some_and(|found| is_row(found, row));
                Ok(Done::new(if there { row.bytes() } else { 0 }, there))
            }
            Call::Put(row) => Ok(Done::new(row.bytes(), true)),
            Call::DeleteRow(_) => Ok(Done::new(0, false)),
            Call::Query { group, .. } => query(group, &document),
            Call::FindRow { row, .. } => {
                let there = items(&document)?.iter().any(|item| text(item, "k") == Some(&row.key()));
                Ok(Done::new(0, there))
            }
            Call::Load { first, count } => {
                let unwritten = unwritten(&document, first, *count)?;
                let bytes = first.bytes() * (count - unwritten);
                Ok(Done { unwritten, ..Done::new(bytes, true) })
            }
            _ => Err(wrong("an answer to no operation of a table")),
        }
    }
}

fn item(row: &Row) -> Value {
    json!({"k": {"S": row.key()}, "g": {"S": row.group()}, "v": {"S": row.value()}})
}

/// Returns the text of an attribute.
fn text<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    item.get(name)?.get("S")?.as_str()
}

/// Whether an item is this row, with these attributes and no other.
fn is_row(found: &Value, row: &Row) -> bool {
    *found == item(row)
}

fn items(document: &Value) -> Result<&Vec<Value>, Failure> {
    document.get("Items").and_then(Value::as_array).ok_or_else(|| wrong("a query without items"))
}

fn query(group: &Group, document: &Value) -> Result<Done, Failure> {
    let items = items(document)?;
    // A page that is not the last lacks rows; ten rows fit into one.
    let whole = document.get("LastEvaluatedKey").is_none_or(Value::is_null);
    let pair = |item| Some((text(item, "k")?, text(item, "v")?));
    let name = group.name();
    let mut found: Vec<_> = items.iter().filter(|item| text(item, "g") == Some(&name)).filter_map(pair).collect();
    if !whole || found.len() != items.len() || !group.is_right(&mut found) {
        let what = format!("a query with {} rows, not exactly the {} of its group", items.len(), group.rows);
        return Err(wrong(&what));
    }
    Ok(Done::new(items.iter().map(|item| text(item, "v").map_or(0, |v| v.len() as u64)).sum(), true))
}

/// Returns how many rows of a batch the service did not write; a row that was not in the batch is wrong.
fn unwritten(document: &Value, first: &Row, count: u64) -> Result<u64, Failure> {
    let tables = match document.get("UnprocessedItems") {
        None | Some(Value::Null) => return Ok(0),
        Some(Value::Object(tables)) => tables,
        Some(_) => return Err(wrong("unprocessed items of another kind")),
    };
    let keys: HashSet<String> = (first.index..first.index + count).map(|index| Row { index, ..*first }.key()).collect();
    let left = tables.values().filter_map(Value::as_array).flatten();
    let left: Vec<Option<&str>> = left.map(|one| text(one.get("PutRequest")?.get("Item")?, "k")).collect();
    let different: HashSet<&str> = left.iter().flatten().copied().filter(|&key| keys.contains(key)).collect();
    if different.len() != left.len() {
        return Err(wrong("unprocessed items that were not in the batch"));
    }
    Ok(left.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::call::Set;
    use super::super::outcome::Kind;
    use super::*;
    use http::{HeaderMap, StatusCode};
    use http_body::Body as _;
    use proptest::prelude::*;

    fn service() -> DynamoDb {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:8000", "protocol": "dynamodb",
            "data_set": "cloudcmp-x"});
        DynamoDb::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), None).unwrap()
    }

    fn judge(call: &Call, document: &Value) -> Result<Done, Failure> {
        let text = document.to_string().into_bytes();
        let answer = Answer { status: StatusCode::OK, headers: HeaderMap::new(), received: text.len() as u64, text };
        service().judge(call, &answer)
    }

    fn kind(call: &Call, document: &Value) -> Option<Kind> {
        judge(call, document).err().map(|failure| failure.kind)
    }

    const ROW: Row = Row { set: Set::Kept, index: 12, version: 0 };

    #[test]
    fn a_get_is_right_with_exactly_its_row() {
        let call = Call::Get { row: ROW, strong: false };
        assert_eq!(judge(&call, &json!({"Item": item(&ROW)})).unwrap().bytes, 100);
        let mut more = item(&ROW);
        more["x"] = json!({"S": ""});
        for wrong in [json!({}), json!({"Item": item(&Row { version: 1, ..ROW })}), json!({"Item": more})] {
            assert_eq!(kind(&call, &wrong), Some(Kind::WrongBody), "{wrong}");
            assert!(!judge(&Call::LookRow { row: ROW, strong: true }, &wrong).unwrap().there);
        }
    }

    #[test]
    fn a_query_is_right_with_exactly_the_rows_of_its_group() {
        let group = Group::of(&ROW, 15);
        let call = Call::Query { group, strong: false };
        let all: Vec<Value> = group.rows().map(|row| item(&row)).collect();
        assert_eq!(judge(&call, &json!({"Items": all, "Count": 5})).unwrap().bytes, 500);
        let with = |change: fn(&mut Vec<Value>)| {
            let mut items = all.clone();
            change(&mut items);
            json!({"Items": items})
        };
        for wrong in [
            json!({}),
            with(|items| drop(items.pop())),
            with(|items| items.push(items[0].clone())),
            with(|items| items.push(item(&Row::new(Set::Kept, 20)))),
            with(|items| items[0]["g"] = json!({"S": "g2"})),
            with(|items| items[0]["v"] = json!({"S": "?"})),
            json!({"Items": all, "LastEvaluatedKey": {"k": {"S": "r"}}}),
        ] {
            assert_eq!(kind(&call, &wrong), Some(Kind::WrongBody), "{wrong}");
        }
        assert!(judge(&Call::FindRow { row: ROW, strong: false }, &json!({"Items": all})).unwrap().there);
        assert!(service().request(&Call::Query { group, strong: true }, SystemTime::now()).is_err());
    }

    #[test]
    fn what_a_batch_left_out_is_counted_by_rows() {
        let call = Call::Load { first: Row::new(Set::Uploaded, 50), count: 25 };
        let put = |index| json!({"PutRequest": {"Item": item(&Row::new(Set::Uploaded, index))}});
        assert_eq!(judge(&call, &json!({"UnprocessedItems": {}})).unwrap().bytes, 2500);
        let done = judge(&call, &json!({"UnprocessedItems": {"cloudcmp-x": [put(50), put(74)]}})).unwrap();
        assert_eq!((done.bytes, done.unwritten), (2300, 2));
        for left in [json!([put(75)]), json!([put(50), put(50)]), json!([{}])] {
            assert_eq!(kind(&call, &json!({"UnprocessedItems": {"cloudcmp-x": left}})), Some(Kind::WrongBody));
        }
    }

    #[test]
    fn a_request_names_its_operation_and_a_queue_is_none_of_its_business() {
        let (request, _) = service().request(&Call::Get { row: ROW, strong: true }, SystemTime::now()).unwrap();
        assert_eq!(
            (request.uri().path(), request.headers()["x-amz-target"].as_bytes()),
            ("/", &b"DynamoDB_20120810.GetItem"[..])
        );
        assert!(request.body().size_hint().exact().unwrap() > 50 && request.headers().get("authorization").is_none());
        assert!(service().request(&Call::Purge, SystemTime::now()).is_err());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_documents_of_any_shape_never_panic_and_are_never_right(
            text in r#"\{"(Item|Items|UnprocessedItems)":(\[|\{)?("[a-z]":)?(null|\{"S":1\}|[0-9]|"x")(\]|\})?\}"#
        ) {
            if let Ok(document) = serde_json::from_str::<Value>(&text) {
                let get = Call::Get { row: ROW, strong: false };
                let query = Call::Query { group: Group::of(&ROW, 15), strong: false };
                let _ = judge(&Call::Load { first: ROW, count: 3 }, &document);
                prop_assert!(judge(&get, &document).is_err() && judge(&query, &document).is_err());
            }
        }
    }
}
