//! How Meta signs what it posts.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The value of `X-Hub-Signature-256` for these bytes.
pub(crate) fn signature(app_secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(app_secret.as_bytes()).expect("HMAC takes any key");
    mac.update(body);
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={digits}")
}
