//! Messages that a queue service takes badly; right ones are read back by the tests of the controller.

use crate::common::bad_service::{QUEUE, is_told};

#[test]
fn a_service_that_answers_badly_gives_no_figure_and_its_own_code() {
    is_told("queue", &[("duration_s", "0.2"), ("op", "send")], "sqs", QUEUE, "RequestThrottled");
}
