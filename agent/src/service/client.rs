//! One service as a trial's lanes see it: where it is, what it speaks, and whom it trusts.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::azure_blob::AzureBlob;
use super::azure_queue::AzureQueue;
use super::azure_table::AzureTable;
use super::bigtable::Bigtable;
use super::credential::Credential;
use super::dynamodb::DynamoDb;
use super::firestore::Firestore;
use super::gcs::Gcs;
use super::pubsub::PubSub;
use super::s3::S3;
use super::sqs::Sqs;
use super::swift::Swift;
use super::target::{Protocol as Name, Service};
use super::{Protocol, tls};
use crate::fault::{Fault, OrFault};

pub struct Client {
    pub service: Service,
    pub protocol: Box<dyn Protocol>,
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// What no reason may contain, even if a service sends it back.
    secrets: Vec<String>,
}

impl Client {
    pub fn new(service: &Service, credential: Option<&Credential>) -> Result<Client, Fault> {
        let protocol = protocol(service, credential)?;
        let tls = match service.url.tls {
            true => {
                let host = match service.style {
                    super::target::Style::Path => service.url.host.clone(),
                    super::target::Style::Host => format!("{}.{}", service.data_set, service.url.host),
                };
                let name = ServerName::try_from(host).or_fault("the endpoint has no name for TLS", "name its host")?;
                Some((tls::config(service.ca.as_deref(), protocol.http2())?, name))
            }
            false => None,
        };
        let secrets = credential.map_or(Vec::new(), secrets);
        Ok(Client { protocol, service: service.clone(), tls, secrets })
    }

    /// Returns a reason without the trial's secrets.
    pub fn redact(&self, what: &str) -> String {
        self.secrets.iter().fold(what.to_owned(), |what, secret| what.replace(secret.as_str(), "[hidden]"))
    }
}

/// Returns the client side of the protocol that the service speaks.
fn protocol(service: &Service, credential: Option<&Credential>) -> Result<Box<dyn Protocol>, Fault> {
    Ok(match service.protocol {
        Name::S3 => Box::new(S3::new(service, credential)?),
        Name::DynamoDb => Box::new(DynamoDb::new(service, credential)?),
        Name::Sqs => Box::new(Sqs::new(service, credential)?),
        Name::AzureBlob => Box::new(AzureBlob::new(service, credential)?),
        Name::AzureTable => Box::new(AzureTable::new(service, credential)?),
        Name::AzureQueue => Box::new(AzureQueue::new(service, credential)?),
        Name::Gcs => Box::new(Gcs::new(service, credential)?),
        Name::Bigtable => Box::new(Bigtable::new(service, credential)?),
        Name::Firestore => Box::new(Firestore::new(service, credential)?),
        Name::PubSub => Box::new(PubSub::new(service, credential)?),
        Name::Swift => Box::new(Swift::new(service, credential)?),
    })
}

/// Refuses a credential of another kind than the protocol's.
pub fn wrong_credential(service: &Service, takes: &str) -> Fault {
    let what = format!("bad job: {} takes a credential of kind {takes}", service.protocol.name());
    Fault::bad_job(what, "give that kind, or none")
}

/// Refuses an operation of another kind of service, such as a query of a queue.
pub fn foreign_call(protocol: Name) -> Fault {
    let what = format!("bad job: {} has no such operation", protocol.name());
    Fault::bad_job(what, "ask a service of the probe's kind: a blob, table or queue service")
}

fn secrets(credential: &Credential) -> Vec<String> {
    match credential {
        Credential::SigV4 { access_key, session_token, .. } => {
            session_token.iter().chain([access_key]).cloned().collect()
        }
        Credential::Sas { query } => {
            let signature = query.split('&').find_map(|part| part.strip_prefix("sig=")).unwrap_or(query);
            vec![query.clone(), signature.to_owned()]
        }
        Credential::SharedKey { key, .. } => vec![STANDARD.encode(key)],
        Credential::Token { value, .. } => {
            vec![value.clone(), value.rsplit(' ').next().unwrap_or(value).to_owned()]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_reason_never_holds_what_a_service_sent_back_of_a_secret() {
        let target = json!({"role": "service", "endpoint": "http://127.0.0.1", "protocol": "s3", "data_set": "mine"});
        let service = Service::read(target.as_object().unwrap(), |_| true).unwrap();
        let keys = BTreeMap::from([("20261126".to_owned(), [7; 32])]);
        let credential =
            Credential::SigV4 { access_key: "AKIA5ec3e7".into(), session_token: Some("tok5ec3e7".into()), keys };
        let client = Client::new(&service, Some(&credential)).unwrap();
        let reason = client.redact("403 InvalidAccessKeyId: AKIA5ec3e7 with tok5ec3e7");
        assert_eq!(reason, "403 InvalidAccessKeyId: [hidden] with [hidden]");
        let sas = Credential::Sas { query: "sv=1&sig=5ec3e7".into() };
        assert_eq!(secrets(&sas), ["sv=1&sig=5ec3e7", "5ec3e7"]);
        let token = Credential::Token { header: "authorization".into(), value: "Bearer 5ec3e7".into() };
        assert_eq!(secrets(&token), ["Bearer 5ec3e7", "5ec3e7"]);
    }
}
