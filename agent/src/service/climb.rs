//! The lanes at which throughput stops growing: 1, 2, 4 and so on, each for a short time.

use crate::fault::Fault;

/// More lanes that bring less than this share more operations are of no use.
const GROWTH: f64 = 1.05;
pub const MOST_LANES: usize = 1024;

/// Returns the number of lanes with the best rate; `rate` measures operations per second at a number of lanes.
pub fn climb(mut rate: impl FnMut(usize) -> Result<f64, Fault>) -> Result<usize, Fault> {
    let (mut lanes, mut best) = (1, rate(1)?);
    while lanes < MOST_LANES {
        let more = rate(2 * lanes)?;
        if more <= 0.0 || more < best * GROWTH {
            break;
        }
        (lanes, best) = (2 * lanes, more);
    }
    Ok(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_where_more_lanes_bring_nothing() {
        let reached = |rate: fn(usize) -> f64| climb(|lanes| Ok(rate(lanes))).unwrap();
        assert_eq!(reached(|lanes| lanes.min(8) as f64), 8);
        assert_eq!(reached(|_| 5.0), 1);
        assert_eq!(reached(|lanes| lanes as f64), MOST_LANES);
        assert_eq!(reached(|lanes| if lanes > 2 { 1.0 } else { lanes as f64 }), 2);
        assert_eq!(reached(|_| 0.0), 1);
    }
}
