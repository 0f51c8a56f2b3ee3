//! What the slow start of TCP follows from: windows, segment sizes and settings of this kernel.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use serde_json::{Value, json};

/// What the kernel says of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    pub window_segments: u32,
    pub own_mss: u32,
    pub peer_mss: u32,
    pub smoothed_rtt_us: u32,
    pub sent_again: u32,
}

/// Reads what the kernel knows of a connection; `None` if it does not say.
pub fn connection(stream: &TcpStream) -> Option<Connection> {
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as u32;
    let at = (&raw mut info).cast();
    let done = unsafe { libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &raw mut length) };
    (done == 0).then_some(Connection {
        window_segments: info.tcpi_snd_cwnd,
        own_mss: info.tcpi_snd_mss,
        peer_mss: info.tcpi_rcv_mss,
        smoothed_rtt_us: info.tcpi_rtt,
        sent_again: info.tcpi_total_retrans,
    })
}

/// Returns the settings of this kernel for TCP; a setting that cannot be read is null.
pub fn settings() -> Value {
    let text = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok();
    let word = |name: &str| text(name).map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "));
    json!({
        "congestion_control": word("tcp_congestion_control"),
        "slow_start_after_idle": word("tcp_slow_start_after_idle").map(|value| value == "1"),
        "receive_buffer_bytes": word("tcp_rmem"),
        "timestamps": word("tcp_timestamps").map(|value| value != "0"),
    })
}
