use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Agent, SECRET, client_of, job, measure_pair, serve};
use serde_json::json;

#[test]
fn bytes_received_over_one_stream_and_over_several() {
    for streams in ["1", "3"] {
        let params = [("streams", streams), ("duration_s", "0.1"), ("interval_s", "0.05"), ("warmup_s", "0.02")];
        let (client, server) = measure_pair("tcp", &params);
        let cell = json!({"path": "loopback", "size_bytes": "131072", "streams": streams});
        let values = client.values("tcp_bytes_per_s", &cell);
        assert!(!values.is_empty() && values.iter().all(|value| (1e6..1e12).contains(value)), "{values:?}");
        assert!(server.note("cpu_time_s").is_some());
        for key in ["tcp_rtt_s", "tcp_rtt_max_s", "tcp_retransmits", "tcp_congestion_window_bytes"] {
            assert!(client.note(key).is_some_and(|value| value.as_f64().unwrap() >= 0.0), "{key}");
        }
    }
}

#[test]
fn a_chosen_window_is_that_of_both_ends_and_stands_in_the_cell() {
    let params = [("window_bytes", "32768"), ("duration_s", "0.1"), ("interval_s", "0.1"), ("warmup_s", "0.02")];
    let (client, _) = measure_pair("tcp", &params);
    let cell = json!({"path": "loopback", "size_bytes": "131072", "streams": "1", "window_bytes": "32768"});
    assert!(!client.values("tcp_bytes_per_s", &cell).is_empty());
    for key in ["send_buffer_bytes", "receive_buffer_bytes"] {
        assert_eq!(client.note(key).unwrap().as_u64(), Some(2 * 32_768), "{key}: Linux doubles what is asked for");
    }
    let (client, _) = measure_pair("tcp", &[("duration_s", "0.05")]);
    assert_ne!(client.note("receive_buffer_bytes").unwrap().as_u64(), Some(2 * 32_768));
}

#[test]
fn a_client_with_another_secret_gets_nothing() {
    let mut server = serve("tcp", &[("duration_s", "0.05")]);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let mut client = client_of(job("tcp", &[("duration_s", "0.05")]), &address);
    client["secret"] = SECRET.replace('0', "1").into();
    let (_, stream) = Agent::run(&client).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    // Strangers, silent or not, do not keep the server from its client.
    let mut stranger = TcpStream::connect(&address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(stranger.read(&mut [0; 64]).unwrap_or(0), 0, "not a byte before the secret");
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    client["secret"] = SECRET.into();
    let (_, stream) = Agent::run(&client).end();
    assert_eq!(stream.outcome, "ok", "{:#?}", stream.frames);
    drop(silent);
    assert_eq!(server.end().1.outcome, "ok");
}

#[test]
fn a_server_that_loses_its_controller_closes_its_port() {
    let mut server = serve("tcp", &[]);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    drop(server.child.stdin.take());
    let (code, stream) = server.end();
    assert_eq!((code, stream.outcome.as_str()), (0, "aborted"));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_missing_server_is_a_failure_with_a_reason() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = client_of(job("tcp", &[]), &port.to_string());
    client["deadline_s"] = 8.0.into();
    let (_, stream) = Agent::run(&client).end();
    assert_eq!((stream.outcome.as_str(), stream.count()), ("failed", 0));
    assert!(stream.error().contains("cannot connect"), "{}", stream.error());
}
