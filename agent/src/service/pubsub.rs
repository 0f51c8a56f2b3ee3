//! Pub/Sub over gRPC: a topic, and the subscription of the same name.

use std::time::{SystemTime, UNIX_EPOCH};

use http::Request;

use super::call::{Answer, Call, Reading, Received};
use super::client::foreign_call;
use super::credential::Credential;
use super::grpc::{self, Grpc, wrong};
use super::outcome::{Done, Failure};
use super::proto::{self, Message};
use super::target::{Protocol as Name, Service};
use super::{Body, Protocol};
use crate::fault::{Fault, OrFault};

pub struct PubSub {
    grpc: Grpc,
    topic: String,
    subscription: String,
}

impl PubSub {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<PubSub, Fault> {
        let topic = service.data_set.clone();
        if !topic.contains("/topics/") {
            return Err(Fault::bad_job("bad job: the data_set of pubsub is no topic", "write projects/P/topics/T"));
        }
        let subscription = topic.replacen("/topics/", "/subscriptions/", 1);
        Ok(PubSub { grpc: Grpc::new(service, credential)?, topic, subscription })
    }
}

impl Protocol for PubSub {
    fn http2(&self) -> bool {
        true
    }

    /// A received message is hidden for the subscription's own time, whatever the call says.
    fn request(&self, call: &Call, now: SystemTime) -> Result<(Request<Body>, Reading), Fault> {
        let of_subscription = Message::new().text(1, &self.subscription);
        let (method, message) = match call {
            Call::Send(message) => {
                let message = Message::new().text(1, &message.text());
                ("Publisher/Publish", Message::new().text(1, &self.topic).message(2, &message))
            }
            // At once, whether or not there is a message; one at most.
            Call::Receive { .. } => ("Subscriber/Pull", of_subscription.number(2, 1).number(3, 1)),
            Call::DeleteMessage(handle) => ("Subscriber/Acknowledge", of_subscription.text(2, handle)),
            Call::Purge => {
                let since = now.duration_since(UNIX_EPOCH).or_fault("the clock is before 1970", "set it")?;
                ("Subscriber/Seek", of_subscription.message(2, &Message::new().number(1, since.as_secs() + 1)))
            }
            _ => return Err(foreign_call(Name::PubSub)),
        };
        Ok((self.grpc.request(&format!("/google.pubsub.v1.{method}"), "", message)?, Reading::Text))
    }

    fn judge(&self, call: &Call, answer: &Answer) -> Result<Done, Failure> {
        let message = grpc::message(answer)?;
        let fields = proto::fields(message).ok_or_else(|| wrong("an answer that is no message"))?;
        match call {
            Call::Send(message) => match proto::all(&fields, 1).as_slice() {
                [id] if !id.is_empty() => Ok(Done::new(message.size, true)),
                _ => Err(wrong("a message without an id")),
            },
            Call::Receive { size, .. } => match proto::all(&fields, 1).as_slice() {
                [] => Ok(Done::new(0, false)),
                [received] => received_message(received, *size),
                _ => Err(wrong("more than one message")),
            },
            _ => Ok(Done::new(0, false)),
        }
    }
}

fn received_message(received: &[u8], size: u64) -> Result<Done, Failure> {
    let read = || {
        let received = proto::fields(received)?;
        let message = proto::fields(proto::one(&received, 2)?)?;
        Some((proto::text(&received, 1)?.to_owned(), proto::text(&message, 1).unwrap_or("").to_owned()))
    };
    let (handle, text) = read().ok_or_else(|| wrong("a message without its acknowledgement id"))?;
    Received::judge(&text, handle, size)
}

#[cfg(test)]
mod tests {
    use super::super::call::{Message as Sent, Row, Set};
    use super::super::grpc::tests::answer;
    use super::super::outcome::Kind;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const RECEIVE: Call = Call::Receive { size: 50, hidden_s: 60 };

    fn read(data_set: &str) -> Result<PubSub, Fault> {
        let target =
            json!({"role": "service", "endpoint": "http://127.0.0.1:8085", "protocol": "pubsub", "data_set": data_set});
        PubSub::new(&Service::read(target.as_object().unwrap(), |_| true).unwrap(), None)
    }

    fn pubsub() -> PubSub {
        read("projects/p/topics/t").unwrap()
    }

    #[test]
    fn a_topic_and_its_subscription_have_one_name() {
        assert_eq!(pubsub().subscription, "projects/p/subscriptions/t");
        assert!(read("projects/p/t").is_err());
        let uri = |call: &Call| pubsub().request(call, SystemTime::now()).unwrap().0.uri().path().to_owned();
        assert_eq!(uri(&RECEIVE), "/google.pubsub.v1.Subscriber/Pull");
        assert_eq!(uri(&Call::Send(Sent::new(50, 7))), "/google.pubsub.v1.Publisher/Publish");
        assert_eq!(uri(&Call::Purge), "/google.pubsub.v1.Subscriber/Seek");
        assert!(pubsub().request(&Call::Put(Row::new(Set::Kept, 0)), SystemTime::now()).is_err());
    }

    #[test]
    fn a_message_that_was_sent_is_received_with_its_acknowledgement_id() {
        let judge = |call: &Call, message| pubsub().judge(call, &answer("0", "", vec![message]));
        let sent = Sent::new(50, 7);
        let one = |text: &str| Message::new().text(1, "ack").message(2, &Message::new().text(1, text));
        let received = judge(&RECEIVE, Message::new().message(1, &one(&sent.text()))).unwrap().received.unwrap();
        assert_eq!((received.message, received.handle.as_str()), (sent, "ack"));
        assert_eq!(judge(&RECEIVE, Message::new()), Ok(Done::new(0, false)));
        let two = Message::new().message(1, &one("a")).message(1, &one("a"));
        for wrong in [Message::new().message(1, &one("other")), two, Message::new().text(1, "x")] {
            assert_eq!(judge(&RECEIVE, wrong).unwrap_err().kind, Kind::WrongBody);
        }
        assert_eq!(judge(&Call::Send(sent), Message::new().text(1, "id")), Ok(Done::new(50, true)));
        assert_eq!(judge(&Call::Send(sent), Message::new()).unwrap_err().kind, Kind::WrongBody);
        assert_eq!(judge(&Call::Purge, Message::new()), Ok(Done::new(0, false)));
        let denied = pubsub().judge(&RECEIVE, &answer("5", "no%20such", vec![])).unwrap_err();
        assert_eq!((denied.kind, denied.what.as_str()), (Kind::ClientError, "5 NOT_FOUND: no such"));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_answers_of_any_shape_never_panic_and_are_never_a_message(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut answer = answer("0", "", vec![Message::new().bytes(1, &bytes)]);
            prop_assert!(pubsub().judge(&RECEIVE, &answer).map_or(true, |done| done.received.is_none()));
            answer.text = bytes;
            prop_assert!(pubsub().judge(&RECEIVE, &answer).map_or(true, |done| done.received.is_none()));
        }
    }
}
