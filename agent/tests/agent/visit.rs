use std::time::Duration;

use serde_json::json;

use crate::common::measure;
use crate::page::{looking, web};

#[test]
fn a_watched_url_gives_one_sample_a_request() {
    let url = web(Duration::ZERO, |_| b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_vec());
    let stream = measure(&looking("visit", &[("count", "4"), ("interval_s", "0.02")], &url));
    let times: Vec<f64> = stream
        .of("sample")
        .filter(|frame| frame["metric"] == "visit_response_s")
        .map(|frame| frame["t_s"].as_f64().unwrap())
        .collect();
    assert_eq!(times.len() as u64 + stream.note("skipped").unwrap().as_u64().unwrap(), 4);
    assert!(times.windows(2).all(|two| two[1] > two[0]), "{times:?}");
    assert!(times.last().is_some_and(|&last| last >= 0.02), "no request comes before its time: {times:?}");
    let stream = measure(&looking("visit", &[("count", "2"), ("interval_s", "0")], "http://127.0.0.1:9"));
    assert_eq!(stream.values("visit_failed_ratio", &json!({"vantage": "here"})), [1.0]);
    assert!(stream.note("failed").unwrap().as_str().unwrap().ends_with("connect: refused"));
}
