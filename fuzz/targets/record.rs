//! The record reader: any text is an error, or a record whose written form reads back as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico::domain::Record;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(record) = Record::from_json(text) else { return };
    let written = record.to_json().expect("what was read can be written");
    let again = Record::from_json(&written).expect("what was written can be read");
    assert_eq!(record, again, "{written}");
    assert_eq!(again.to_json().unwrap(), written, "one spelling");
});
