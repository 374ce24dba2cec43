//! When a provider wants to be asked again, from an answer's headers, in the order in which the official SDKs read them.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Longer waits are not believed; whoever retries has a far lower cap of its own.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// `x-should-retry`: the provider's own word on whether asking again makes sense.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match text(headers, "x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if let Some(ms) = text(headers, "retry-after-ms").and_then(|v| v.parse::<f64>().ok()) {
        return duration(ms / 1000.0);
    }
    let value = text(headers, RETRY_AFTER.as_str())?;
    match value.parse::<f64>() {
        Ok(seconds) => duration(seconds),
        Err(_) => http_date(value).map(|at| at.duration_since(now).unwrap_or_default().min(LONGEST)),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Negative numbers and what is no number give `None`.
fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|d| d.min(LONGEST))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers may send (RFC 9110, 5.6.7).
pub(crate) fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = parts[..] else { return None };
    let month = MONTHS.iter().position(|m| *m == month)? + 1;
    humantime::parse_rfc3339(&format!("{year}-{month:02}-{day}T{time}Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn every_spelling_is_read_in_the_sdks_order() {
        let now = humantime::parse_rfc3339("2026-11-30T21:00:00Z").unwrap();
        type Case = (&'static [(&'static str, &'static str)], Option<f64>);
        let cases: &[Case] = &[
            (&[("retry-after", "7")], Some(7.0)),
            (&[("retry-after", "0.25")], Some(0.25)),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1.5)),
            (&[("retry-after", "Mon, 30 Nov 2026 21:00:30 GMT")], Some(30.0)),
            (&[("retry-after", "Mon, 30 Nov 2026 20:00:00 GMT")], Some(0.0)),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "999999999")], Some(86400.0)),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ];
        for (pairs, expected) in cases {
            assert_eq!(retry_after(&headers(pairs), now), expected.map(Duration::from_secs_f64), "{pairs:?}");
        }
    }

    #[test]
    fn should_retry_is_a_word_or_nothing() {
        assert_eq!(should_retry(&headers(&[("x-should-retry", "true")])), Some(true));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "false")])), Some(false));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "perhaps")])), None);
        assert_eq!(should_retry(&headers(&[])), None);
    }
}
