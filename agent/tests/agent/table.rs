//! Operations on a table service that answers badly; right answers are compared by the tests of the controller.

use crate::common::bad_service::{TABLE, is_told};

#[test]
fn a_service_that_answers_badly_gives_no_figure_and_its_own_code() {
    is_told("table", &[("duration_s", "0.2"), ("entries", "20")], "dynamodb", TABLE, "ProvisionedThroughputExceededException");
}
