use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Agent, SECRET, job, listening, measure};

/// A web server in a thread: each connection gets the answer to its path, after a delay.
pub fn web(delay: Duration, answer: fn(&str) -> Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 2048];
            let had = stream.read(&mut bytes).unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..had]).into_owned();
            std::thread::sleep(delay);
            let _ = stream.write_all(&answer(text.split(' ').nth(1).unwrap_or("")));
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read(&mut bytes);
        }
    });
    format!("http://{address}")
}

fn bytes(path: &str) -> Vec<u8> {
    let Some(length) = path.strip_prefix("/base/bytes/").and_then(|number| number.parse().ok()) else {
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), &vec![b'.'; length]].concat()
}

pub fn looking(probe: &str, params: &[(&str, &str)], url: &str) -> Value {
    let mut job = job(probe, params);
    job["role"] = "vantage".into();
    job["targets"] = json!([{"role": "endpoint", "endpoint": url}]);
    job
}

fn fails(job: &Value, why: &str) {
    let (code, stream) = Agent::run(job).end();
    assert_eq!((code, stream.outcome.as_str()), (0, "failed"), "{:#?}", stream.frames);
    assert!(stream.error().contains(why), "{} lacks {why}", stream.error());
}

#[test]
fn a_page_is_timed_in_phases_over_new_connections() {
    let url = format!("{}/base", web(Duration::from_millis(20), bytes));
    for size in ["1", "100000", "2097152"] {
        let stream = measure(&looking("page", &[("count", "3"), ("size_bytes", size)], &url));
        let hists: Vec<&str> = stream.of("hist").map(|hist| hist["metric"].as_str().unwrap()).collect();
        assert_eq!(hists, ["wan_rtt_s", "wan_connect_s", "wan_first_byte_s", "wan_transfer_s", "wan_page_s"]);
        let page = stream.of("hist").last().unwrap();
        assert_eq!(page["params"], json!({"size_bytes": size, "vantage": "here"}));
        assert!(page["t_s"].as_f64().unwrap() >= 0.06, "three delays");
        assert_eq!(stream.values("wan_failed_ratio", &page["params"]), [0.0]);
        assert_eq!((stream.note("pages").unwrap(), stream.note("addresses").unwrap()), (&json!(3), &json!("127.0.0.1")));
        assert!(["icmp", "tcp connect"].contains(&stream.note("rtt_by").unwrap().as_str().unwrap()));
        assert!(stream.note("own_initial_window_segments").unwrap().as_u64().unwrap() > 0);
        assert!(stream.note("tcp_congestion_control").unwrap().is_string());
    }
}

#[test]
fn pages_that_fail_are_counted_with_their_reasons() {
    let url = web(Duration::ZERO, bytes);
    fails(&looking("page", &[("count", "2")], &url), "no page came: first_byte: status 404");
    let cut = web(Duration::ZERO, |_| b"HTTP/1.1 200 OK\r\nContent-Length: 102400\r\n\r\nshort".to_vec());
    fails(&looking("page", &[("count", "1")], &cut), "transfer: cut off");
    let other = web(Duration::ZERO, |_| b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort".to_vec());
    fails(&looking("page", &[("count", "1")], &other), "transfer: wrong length");
    let foreign = web(Duration::ZERO, |_| b"SSH-2.0-something\r\n".to_vec());
    fails(&looking("page", &[("count", "1")], &foreign), "first_byte: no HTTP");
    let slow = web(Duration::from_secs(5), bytes);
    fails(&looking("page", &[("count", "1"), ("patience_s", "0.2")], &slow), "first_byte: timed out");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fails(&looking("page", &[("count", "1")], &format!("http://{gone}")), "connect: refused");
}

#[test]
fn an_agent_serves_the_vantage_point_of_its_trial_alone() {
    let params = [("count", "2"), ("size_bytes", "2097152")];
    let mut server = Agent::run(&listening(job("page", &params), "endpoint", "127.0.0.1:0", ("vantage", &["127.0.0.1"])));
    assert_eq!(server.frame()["type"], "hello");
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let mut stranger = std::net::TcpStream::connect(&address).unwrap();
    stranger.write_all(b"GET /bytes/5 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stranger.read(&mut [0; 64]).unwrap_or(0), 0);
    let mut seen = job("page", &params);
    (seen["role"], seen["secret"]) = ("vantage".into(), SECRET.into());
    seen["targets"] = json!([{"role": "endpoint", "address": address}]);
    let stream = measure(&seen);
    assert!(stream.note("endpoint_kernel").unwrap().as_str().unwrap().starts_with("initial_window="));
    assert_eq!(stream.note("payload_bytes"), Some(&json!(2 * (2_097_152 + 1024))));
    drop(server.child.stdin.take());
    let (_, server) = server.end();
    assert_eq!(server.outcome, "aborted");
}

#[test]
fn jobs_of_other_shapes_are_refused() {
    for targets in [json!([]), json!([{"role": "endpoint", "endpoint": "http://a/?b"}]),
                    json!([{"role": "service", "endpoint": "http://127.0.0.1"}]),
                    json!([{"role": "endpoint", "endpoint": "http://127.0.0.1", "addresses": ["0.0.0.0"]}])] {
        let mut job = looking("page", &[], "http://127.0.0.1");
        job["targets"] = targets;
        let (code, stream) = Agent::run(&job).end();
        assert_eq!((code, stream.outcome.as_str()), (2, "failed"), "{:?}", stream.error());
    }
}
