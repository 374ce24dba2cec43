//! What Meta's refusals mean. The number decides, never the title or the HTTP status, which say other things on other days.

use std::time::Duration;

use serde_json::Value;

use super::facts::clean;
use crate::channel::messenger::{DeliveryError, ErrorClass};

/// Characters of what goes into the log.
const LONGEST_DETAIL: usize = 300;

/// An answer that is no success.
pub(super) fn of_answer(status: u16, body: &Value, after: Option<Duration>) -> DeliveryError {
    let error = &body["error"];
    let words = [&error["message"], &error["error_data"]["details"]].map(|text| text.as_str().unwrap_or_default());
    let detail = clean(&words.join(" "), LONGEST_DETAIL);
    match error["code"].as_u64() {
        Some(code) => DeliveryError { code: code.to_string(), class: class(code, status, after), detail },
        None => DeliveryError { code: format!("http_{status}"), class: of_status(status, after), detail },
    }
}

/// What the operator does when the account stopped with that code.
pub(super) fn remedy(code: &str) -> &'static str {
    match code.parse::<u64>() {
        Ok(0 | 190) => "its access token is not good any more: make a new one and put it in access_token",
        Ok(3 | 10 | 200..=299 | 131_005) => {
            "its access token lacks a permission: make one with whatsapp_business_messaging, by a system user who has the account assigned"
        }
        Ok(368 | 131_031) => "Meta has blocked it: look at the account's notices in the WhatsApp Manager, and appeal there",
        Ok(131_042 | 131_044) => "Meta lacks a valid way to be paid: look at the billing of the WhatsApp account",
        Ok(131_048 | 131_064) => "Meta limits what this number may send: look at its quality and its limit in the WhatsApp Manager",
        Ok(131_037 | 131_045) => "the number is not ready: see to its registration and its display name in the WhatsApp Manager",
        Ok(_) => "look at its access token and at its standing in the WhatsApp Manager",
        Err(_) if code == "http_401" => "its access token is not taken: look at access_token and graph_url",
        Err(_) => "it is not Meta that answers: look at graph_url, and at what stands between",
    }
}

/// What a status `failed` gives; without a number that is known, nobody can say that it would go another time.
pub(super) fn of_status_code(code: &str) -> ErrorClass {
    code.parse().map_or(ErrorClass::Final, |code| class(code, 400, None))
}

/// By Meta's own number.
fn class(code: u64, status: u16, after: Option<Duration>) -> ErrorClass {
    match code {
        // the app, the business and the number each have a rate; the rest is overload and maintenance
        4 | 80_007 | 130_429 | 1 | 2 | 131_000 | 131_016 | 135_000 | 131_057 | 133_016 => ErrorClass::Retry { after },
        131_056 => ErrorClass::TooFast { after },
        131_047 => ErrorClass::Closed,
        // token; permission; policy, lock; payment; spam and messaging limit; certificate, name
        0 | 190 | 3 | 10 | 200..=299 | 131_005 | 368 | 131_031 | 131_042 | 131_044 | 131_048 | 131_064 | 131_045 | 131_037 => {
            ErrorClass::Account
        }
        // this message, or this person: no such user, blocked, withheld, not on a test number's list. 130497 is about the receiver's country:
        // taken for the account's fault, one person there would stop the number for everybody
        33 | 100 | 131_008 | 131_009 | 131_021 | 131_026 | 131_030 | 131_049 | 131_051..=131_053 | 131_062 | 130_472 | 130_497 => {
            ErrorClass::Final
        }
        // templates, flows, groups
        132_000..=132_099 | 131_200..=131_299 => ErrorClass::Final,
        _ => of_refusal(status, after),
    }
}

/// By the HTTP status, where Meta gave a number that is not known: its own refusal, whatever it is about.
fn of_refusal(status: u16, after: Option<Duration>) -> ErrorClass {
    match status {
        408 | 500.. => ErrorClass::Retry { after },
        _ => of_status(status, after),
    }
}

/// By the HTTP status, where there is no number: then it may not be Meta that answers.
fn of_status(status: u16, after: Option<Duration>) -> ErrorClass {
    match status {
        // a page of something in between, which has waited for Meta: the message may have arrived
        408 | 500.. => ErrorClass::Ambiguous,
        425 | 429 => ErrorClass::Retry { after },
        401 => ErrorClass::Account,
        // nobody answers so but something in between, or a wrong `graph_url`
        ..=399 => ErrorClass::Account,
        _ => ErrorClass::Final,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_stops_an_account_has_its_own_remedy() {
        let other = remedy("999999");
        for code in [0, 190, 3, 10, 200, 299, 131_005, 368, 131_031, 131_042, 131_044, 131_048, 131_064, 131_045, 131_037] {
            assert_eq!(class(code, 400, None), ErrorClass::Account, "{code}");
            assert_ne!(remedy(&code.to_string()), other, "{code}");
        }
        assert!(remedy("190").contains("access_token") && remedy("131031").contains("blocked") && remedy("131042").contains("billing"));
        assert!(remedy("http_302").contains("graph_url"));
    }
}
