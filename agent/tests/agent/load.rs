//! Batches of rows that a table service takes badly; right ones are read back by the tests of the controller.

use crate::common::bad_service::{TABLE, is_told};

#[test]
fn a_service_that_answers_badly_gives_no_figure_and_its_own_code() {
    is_told("load", &[("entries", "50")], "dynamodb", TABLE, "ProvisionedThroughputExceededException");
}
