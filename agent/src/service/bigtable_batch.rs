//! The statuses of the rows of a MutateRows of Bigtable: the service writes each row of a batch for itself.

use super::grpc::{self, wrong};
use super::outcome::{Failure, Kind};
use super::proto::{self, Field};

/// Returns how many rows of a batch the service throttled. Each row has a status; any other error is the batch's.
pub fn unwritten(messages: &[&[u8]], count: u64) -> Result<u64, Failure> {
    let (mut told, mut throttled) = (vec![false; count as usize], 0);
    for message in messages {
        let fields = proto::fields(message).ok_or_else(|| wrong("an answer that is no message"))?;
        for entry in proto::all(&fields, 1) {
            let (index, status) = status(entry).ok_or_else(|| wrong("a row without its status"))?;
            let own = usize::try_from(index).ok().and_then(|index| told.get_mut(index)).filter(|told| !**told);
            *own.ok_or_else(|| wrong("the status of a row that was not in the batch, or two of one"))? = true;
            match status {
                None => {}
                Some(failure) if failure.kind == Kind::Throttled => throttled += 1,
                Some(failure) => return Err(failure),
            }
        }
    }
    match told.iter().filter(|told| !**told).count() {
        0 => Ok(throttled),
        silent => Err(wrong(&format!("a batch without the status of {silent} of its {count} rows"))),
    }
}

/// Returns the index of a row in its batch, and why it was not written.
fn status(entry: &[u8]) -> Option<(u64, Option<Failure>)> {
    let number = |fields: &[(u32, Field)], field| {
        let of = |&(number, value): &(u32, Field)| match value {
            Field::Number(value) if number == field => Some(value),
            _ => None,
        };
        fields.iter().rev().find_map(of).unwrap_or(0)
    };
    let fields = proto::fields(entry)?;
    let status = proto::fields(proto::one(&fields, 2)?)?;
    let code = number(&status, 1) as usize;
    let words = proto::text(&status, 2).unwrap_or("");
    Some((number(&fields, 1), (code != 0).then(|| grpc::status(code, words))))
}

#[cfg(test)]
mod tests {
    use super::super::proto::Message;
    use super::*;
    use proptest::prelude::*;

    fn judge(messages: Vec<Message>) -> Result<u64, Failure> {
        let messages: Vec<Vec<u8>> = messages.into_iter().map(Message::into_bytes).collect();
        unwritten(&messages.iter().map(Vec::as_slice).collect::<Vec<_>>(), 3)
    }

    /// Returns a message for each status, of the row of an index.
    fn messages(statuses: &[(u64, u64)]) -> Vec<Message> {
        let of = |&(index, code): &(u64, u64)| {
            let status = Message::new().number(1, code).text(2, "words");
            Message::new().message(1, &Message::new().number(1, index).message(2, &status))
        };
        statuses.iter().map(of).collect()
    }

    #[test]
    fn each_row_of_a_batch_has_its_own_status() {
        assert_eq!(judge(messages(&[(2, 0), (0, 0), (1, 0)])), Ok(0));
        assert_eq!(judge(messages(&[(0, 8), (1, 0), (2, 8)])), Ok(2));
        let failed = judge(messages(&[(0, 0), (1, 5), (2, 8)])).unwrap_err();
        assert_eq!((failed.kind, failed.what.as_str()), (Kind::ClientError, "5 NOT_FOUND: words"));
        for wrong in [&[(0, 0), (1, 0)][..], &[(0, 0), (1, 0), (1, 0)], &[(0, 0), (1, 0), (3, 0)], &[]] {
            assert_eq!(judge(messages(wrong)).unwrap_err().kind, Kind::WrongBody, "{wrong:?}");
        }
        let silent = Message::new().message(1, &Message::new().number(1, 0));
        assert_eq!(judge(vec![silent]).unwrap_err().kind, Kind::WrongBody);
        let status = Message::new().message(2, &Message::new());
        let first = vec![Message::new().message(1, &status)];
        assert_eq!(judge(first.into_iter().chain(messages(&[(1, 0), (2, 0)])).collect()), Ok(0), "zeros are not sent");
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_statuses_of_any_shape_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), index in any::<u64>()) {
            prop_assert!(judge(vec![Message::new().bytes(1, &bytes)]).is_err());
            prop_assert!(judge(messages(&[(index, 0), (0, 0)])).is_err());
        }
    }
}
