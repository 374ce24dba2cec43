//! A reader's position: `<seq>` or `<seq>.<n>`.

use std::fmt;
use std::str::FromStr;

use super::Seq;

/// All records up to `seq`, and the first `n` live deltas of the attempt that is open there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    pub seq: Seq,
    pub n: u64,
}

/// Not a cursor that this gateway ever gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is <seq> or <seq>.<n>, as the id of an event gave it")]
pub struct Malformed;

impl Cursor {
    /// Appends what [`Display`](fmt::Display) gives: every event of every stream has one, and the formatter costs ten times as much.
    pub fn push_to(self, out: &mut String) {
        push_number(out, self.seq);
        if self.n > 0 {
            out.push('.');
            push_number(out, self.n);
        }
    }
}

fn push_number(out: &mut String, number: u64) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n {
            0 => write!(f, "{}", self.seq),
            n => write!(f, "{}.{n}", self.seq),
        }
    }
}

impl FromStr for Cursor {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let number = |part: &str| match part.bytes().all(|b| b.is_ascii_digit()) {
            true => part.parse::<u64>().map_err(|_| Malformed),
            false => Err(Malformed),
        };
        match text.split_once('.') {
            None => Ok(Cursor { seq: number(text)?, n: 0 }),
            Some((seq, n)) => Ok(Cursor { seq: number(seq)?, n: number(n)? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn cursors_round_trip_and_others_are_refused() {
        for good in ["0", "9", "10", "12.34", "1200.18446744073709551615"] {
            let (cursor, mut pushed) = (good.parse::<Cursor>().unwrap(), String::new());
            cursor.push_to(&mut pushed);
            assert_eq!((cursor.to_string().as_str(), pushed.as_str()), (good, good));
        }
        for bad in ["", "x", "-1", "1.", ".1", "1.2.3", "+1", "1 ", "99999999999999999999999"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad:?}");
        }
    }
}
