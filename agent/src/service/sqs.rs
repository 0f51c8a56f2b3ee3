//! SQS, standard queues. The data set is the path of the queue's URL: the account, then its name.

use std::time::SystemTime;

use http::Request;
use serde_json::{Value, json};

use super::aws_json::{AwsJson, document, wrong};
use super::call::{Answer, Call, Reading, Received};
use super::client::foreign_call;
use super::credential::Credential;
use super::outcome::{Done, Failure};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::Fault;

pub struct Sqs {
    json: AwsJson,
    url: String,
}

impl Sqs {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Sqs, Fault> {
        let json = AwsJson::new(service, credential, "sqs", "AmazonSQS")?;
        let endpoint = &service.url;
        let scheme = if endpoint.tls { "https" } else { "http" };
        let url = format!("{scheme}://{}{}/{}", endpoint.authority(None), endpoint.base, service.data_set);
        Ok(Sqs { json, url })
    }
}

impl Protocol for Sqs {
    fn request(&self, call: &Call, now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let url = self.url.as_str();
        let (operation, body) = match call {
            Call::Send(message) => ("SendMessage", json!({"QueueUrl": url, "MessageBody": message.text()})),
            Call::Receive { hidden_s, .. } => {
                let body = json!({
                    "QueueUrl": url, "MaxNumberOfMessages": 1, "WaitTimeSeconds": 0, "VisibilityTimeout": hidden_s,
                });
                ("ReceiveMessage", body)
            }
            Call::DeleteMessage(handle) => ("DeleteMessage", json!({"QueueUrl": url, "ReceiptHandle": handle})),
            Call::Purge => ("PurgeQueue", json!({"QueueUrl": url})),
            _ => return Err(foreign_call(Name::Sqs)),
        };
        Ok((self.json.request(operation, body.to_string(), now)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        // Deleting and purging are answered without a document.
        if answer.status == http::StatusCode::OK && matches!(call, Call::DeleteMessage(_) | Call::Purge) {
            return Ok(Done::new(0, false));
        }
        let document = document(answer)?;
        match call {
            Call::Send(message) if document.get("MessageId").is_some_and(Value::is_string) => {
                Ok(Done::new(message.size, true))
            }
            Call::Send(_) => Err(wrong("a message without an id")),
            Call::Receive { size, .. } => match document.get("Messages") {
                None | Some(Value::Null) => Ok(Done::new(0, false)),
                Some(Value::Array(messages)) => match messages.as_slice() {
                    [] => Ok(Done::new(0, false)),
                    [message] => received(message, *size),
                    _ => Err(wrong("more than one message")),
                },
                Some(_) => Err(wrong("messages of another kind")),
            },
            _ => Err(wrong("an answer to no operation of a queue")),
        }
    }
}

fn received(message: &Value, size: u64) -> Result<Done, Failure> {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    match (text("Body"), text("ReceiptHandle")) {
        (Some(body), Some(handle)) => Received::judge(body, handle.to_owned(), size),
        _ => Err(wrong("a message without a body or a receipt")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::Message;
    use super::super::outcome::Kind;
    use super::*;
    use http::{HeaderMap, StatusCode};
    use proptest::prelude::*;

    fn service() -> Sqs {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:9324", "protocol": "sqs",
            "data_set": "000000000000/cloudcmp-x"});
        Sqs::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), None).unwrap()
    }

    fn judge(call: &Call, status: u16, text: &str) -> Result<Done, Failure> {
        let (status, text) = (StatusCode::from_u16(status).unwrap(), text.as_bytes().to_vec());
        service().judge(call, &Answer { status, headers: HeaderMap::new(), received: text.len() as u64, text })
    }

    const RECEIVE: Call = Call::Receive { size: 50, hidden_s: 30 };

    #[test]
    fn a_message_that_was_sent_is_received_with_its_receipt() {
        let message = Message::new(50, 7);
        let right = json!({"Messages": [{"MessageId": "1", "ReceiptHandle": "r==", "Body": message.text()}]});
        let received = judge(&RECEIVE, 200, &right.to_string()).unwrap().received.unwrap();
        assert_eq!((received.message, received.handle.as_str()), (message, "r=="));
        for empty in ["{}", r#"{"Messages": []}"#, r#"{"Messages": null}"#] {
            assert!(!judge(&RECEIVE, 200, empty).unwrap().there, "{empty}");
        }
        for wrong in [
            r#"{"Messages": [{"ReceiptHandle": "r", "Body": "other"}]}"#,
            r#"{"Messages": [{"Body": "0"}]}"#,
            r#"{"Messages": [{}, {}]}"#,
            r#"{"Messages": "x"}"#,
            "",
        ] {
            assert_eq!(judge(&RECEIVE, 200, wrong).unwrap_err().kind, Kind::WrongBody, "{wrong}");
        }
    }

    #[test]
    fn a_send_needs_an_id_and_a_deletion_needs_no_document() {
        let send = Call::Send(Message::new(50, 7));
        assert_eq!(judge(&send, 200, r#"{"MessageId": "1"}"#).unwrap(), Done::new(50, true));
        assert_eq!(judge(&send, 200, "{}").unwrap_err().kind, Kind::WrongBody);
        for call in [Call::DeleteMessage("r".to_owned()), Call::Purge] {
            assert!(judge(&call, 200, "").is_ok());
            let failure = judge(&call, 400, r#"{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}"#).unwrap_err();
            assert_eq!(failure.what, "400 QueueDoesNotExist");
        }
    }

    #[test]
    fn a_request_names_the_queue_by_the_endpoint_that_is_asked() {
        assert_eq!(service().url, "http://127.0.0.1:9324/000000000000/cloudcmp-x");
        let (request, _) = service().request(&RECEIVE, SystemTime::now()).unwrap();
        assert_eq!(request.headers()["x-amz-target"].as_bytes(), b"AmazonSQS.ReceiveMessage");
        let row = super::super::call::Row::new(super::super::call::Set::Kept, 0);
        assert!(service().request(&Call::Put(row), SystemTime::now()).is_err());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic_and_are_never_a_message(
            status in 200_u16..600, text in r#"(\{"Messages":(\[\{)?("Body":)?("\PC{0,9}"|null|[0-9])?(\}\])?\}|\PC{0,9})"#
        ) {
            prop_assert!(judge(&RECEIVE, status, &text).map_or(true, |done| done.received.is_none()));
        }
    }
}
