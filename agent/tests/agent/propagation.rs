//! The propagation of messages in a queue service that answers badly.

use crate::common::bad_service::{QUEUE, is_told};

#[test]
fn a_service_that_answers_badly_gives_no_figure_and_its_own_code() {
    is_told("propagation", &[("duration_s", "0.2")], "sqs", QUEUE, "RequestThrottled");
}
