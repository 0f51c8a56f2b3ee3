//! Queues of Azure Storage: XML messages of text, hidden while they are received, deleted by id and receipt.

use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, StatusCode};

use super::azure::{self, Account, Header};
use super::call::{Answer, Call, Reading, Received};
use super::client::foreign_call;
use super::credential::Credential;
use super::outcome::{Done, Failure, Kind};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol, sigv4, xml};
use crate::fault::Fault;

const NONE: &[Header] = &[];
const XML: &[Header] = &[("content-type", "application/xml")];
/// The longest time for which the service hides a message that was received, s.
const LONGEST_HIDDEN_S: u64 = 7 * 24 * 3600;

pub struct AzureQueue {
    account: Account,
    /// The path of its messages.
    messages: String,
}

impl AzureQueue {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<AzureQueue, Fault> {
        let messages = format!("{}/messages", sigv4::encode(&service.data_set, true));
        Ok(AzureQueue { account: Account::new(service, credential)?, messages })
    }
}

impl Protocol for AzureQueue {
    fn request(&self, call: &Call, now: SystemTime) -> Result<(http::Request<Body>, Reading), Fault> {
        let (method, path, query, headers, body) = match call {
            Call::Send(message) => {
                let text = message.text();
                let text = format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
                (Method::POST, self.messages.clone(), String::new(), XML, Body::bytes(Bytes::from(text)))
            }
            Call::Receive { hidden_s, .. } => {
                let hidden_s = (*hidden_s).clamp(1, LONGEST_HIDDEN_S);
                let query = format!("numofmessages=1&visibilitytimeout={hidden_s}");
                (Method::GET, self.messages.clone(), query, NONE, Body::empty())
            }
            Call::DeleteMessage(handle) => {
                let (id, receipt) = handle.split_once(' ').unwrap_or((handle, ""));
                let path = format!("{}/{}", self.messages, sigv4::encode(id, false));
                let query = format!("popreceipt={}", sigv4::encode(receipt, false));
                (Method::DELETE, path, query, NONE, Body::empty())
            }
            Call::Purge => (Method::DELETE, self.messages.clone(), String::new(), NONE, Body::empty()),
            _ => return Err(foreign_call(Name::AzureQueue)),
        };
        Ok((self.account.request(method, &path, &query, headers, body, now)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        match (call, answer.status) {
            (Call::Send(message), StatusCode::CREATED) => Ok(Done::new(message.size, true)),
            (Call::Receive { size, .. }, StatusCode::OK) => received(*size, answer),
            (Call::DeleteMessage(_) | Call::Purge, StatusCode::NO_CONTENT) => Ok(Done::new(0, false)),
            _ => Err(azure::failure(answer)),
        }
    }
}

/// Reads the one message of an answer, or that there is none.
fn received(size: u64, answer: &Answer) -> Result<Done, Failure> {
    let text = String::from_utf8_lossy(&answer.text);
    let word = |name| xml::text(&text, name);
    if let (Some(id), Some(receipt), Some(body)) = (word("MessageId"), word("PopReceipt"), word("MessageText")) {
        return Received::judge(body, format!("{id} {receipt}"), size);
    }
    let end = text.trim_end();
    let whole = end.ends_with("</QueueMessagesList>") || end.ends_with("<QueueMessagesList/>");
    match (whole || end.ends_with("<QueueMessagesList />")) && xml::count(&text, "QueueMessage") == 0 {
        true => Ok(Done::new(0, false)),
        false => Err(Failure::new(Kind::WrongBody, "no list of messages")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::azure::tests::answer;
    use super::super::call::{Blob, Message, Set};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn queue() -> AzureQueue {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1:10001/one", "protocol": "azure-queue",
            "data_set": "mine"});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        AzureQueue::new(&service, Some(&Credential::Sas { query: "sig=5ec3e7".into() })).unwrap()
    }

    #[test]
    fn messages_are_sent_received_hidden_and_deleted_by_id_and_receipt() {
        let request = |call: &Call| queue().request(call, SystemTime::now()).unwrap().0;
        let line = |call: &Call| format!("{} {}", request(call).method(), request(call).uri());
        assert_eq!(line(&Call::Send(Message::new(50, 1))), "POST /one/mine/messages?sig=5ec3e7");
        let receive = |hidden_s| line(&Call::Receive { size: 50, hidden_s });
        let own = "GET /one/mine/messages?numofmessages=1&visibilitytimeout";
        assert_eq!(receive(30), format!("{own}=30&sig=5ec3e7"));
        assert_eq!(receive(0), format!("{own}=1&sig=5ec3e7"), "the service hides for a second at least");
        let delete = "DELETE /one/mine/messages/a-b?popreceipt=c%2Fd%3D&sig=5ec3e7";
        assert_eq!(line(&Call::DeleteMessage("a-b c/d=".into())), delete);
        assert_eq!(line(&Call::Purge), "DELETE /one/mine/messages?sig=5ec3e7");
        let blob = Call::Delete(Blob::new(Set::Kept, 1, 0));
        assert!(queue().request(&blob, SystemTime::now()).is_err(), "no queue has blobs");
    }

    #[test]
    fn a_message_is_known_by_its_text_and_an_empty_list_has_none() {
        let judge = |text: &str| queue().judge(&Call::Receive { size: 50, hidden_s: 30 }, &answer(200, None, text));
        let list = |text: &str| {
            let message =
                format!("<MessageId>a-b</MessageId><PopReceipt>c/d=</PopReceipt><MessageText>{text}</MessageText>");
            format!("<?xml?><QueueMessagesList><QueueMessage>{message}</QueueMessage></QueueMessagesList>")
        };
        let message = Message::new(50, 7);
        let done = judge(&list(&message.text())).unwrap();
        assert_eq!((done.bytes, done.there), (50, true));
        assert_eq!(done.received, Some(Received { message, handle: "a-b c/d=".into() }));
        for empty in
            ["<?xml?><QueueMessagesList />", "<QueueMessagesList/>", "<QueueMessagesList></QueueMessagesList>\n"]
        {
            assert_eq!(judge(empty), Ok(Done::new(0, false)));
        }
        assert_eq!(judge("").unwrap_err().kind, Kind::WrongBody);
        let cut = list(&message.text()).replace("<PopReceipt>c/d=</PopReceipt>", "");
        assert_eq!(judge(&cut).unwrap_err().kind, Kind::WrongBody);
        let gone = queue().judge(&Call::DeleteMessage("a b".into()), &answer(404, Some("MessageNotFound"), ""));
        assert_eq!(gone.unwrap_err().what, "404 MessageNotFound");
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_lists_of_any_shape_never_panic(text in r"(</?(QueueMessagesList|QueueMessage|MessageId|MessageText|PopReceipt) ?/?>|\PC{0,6}){0,9}") {
            if let Ok(done) = received(50, &answer(200, None, &text)) {
                prop_assert_eq!(done.there, done.received.is_some());
            }
        }
    }
}
