//! What the questions on requests share.

use record::Operation;

/// Whether a request carries data, to the device or from it, or says what
/// data is no longer needed. The others have no place on a device.
pub(crate) const fn carries_data(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Read | Operation::Write | Operation::Discard
    )
}

/// A quotient, rounded to the nearest number.
pub(crate) fn rounded(sum: i64, count: i64) -> i64 {
    let count = i128::from(count.max(1));
    let quotient = (i128::from(sum) + count / 2).div_euclid(count);
    i64::try_from(quotient).unwrap_or(i64::MAX)
}
