//! The webhook of a WhatsApp number, called as Meta calls it: signed over the raw bytes.

use serde_json::{Value, json};

use super::graph::{ACCESS_TOKEN, APP_SECRET, NUMBERS, VERIFY_TOKEN, payload, sign};
use super::{Answer, Gateway};

/// One number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook {
    pub(crate) account: &'static str,
    pub(crate) line: &'static str,
}

/// The number that most tests have.
pub(crate) const MAIN: Hook = Hook { account: "main", line: NUMBERS[0] };
/// Another of the same app.
pub(crate) const SECOND: Hook = Hook { account: "second", line: NUMBERS[1] };

/// Somebody with a phone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Person {
    pub(crate) phone: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) name: &'static str,
}

impl Person {
    /// Known by both ids.
    pub(crate) fn new(name: &'static str, n: u32) -> Self {
        Self { phone: Some(format!("155501{n:05}")), user: Some(format!("US.3000000000000{n:07}")), name }
    }

    /// One whose number the platform does not tell.
    pub(crate) fn hidden(&self) -> Self {
        Self { phone: None, ..self.clone() }
    }

    /// One whose user id the platform does not tell.
    pub(crate) fn by_phone(&self) -> Self {
        Self { user: None, ..self.clone() }
    }

    pub(crate) fn number(&self) -> &str {
        self.phone.as_deref().expect("a number")
    }

    fn contact(&self) -> Value {
        let mut contact = json!({"profile": {"name": self.name}});
        if let Some(phone) = &self.phone {
            contact["wa_id"] = json!(phone);
        }
        if let Some(user) = &self.user {
            contact["user_id"] = json!(user);
        }
        contact
    }

    /// A message of this person, of a kind and with its body.
    pub(crate) fn sends(&self, id: &str, kind: &str, body: impl Into<Value>) -> Value {
        let mut message = json!({"id": id, "timestamp": now().to_string(), "type": kind});
        message[kind] = body.into();
        if let Some(phone) = &self.phone {
            message["from"] = json!(phone);
        }
        if let Some(user) = &self.user {
            message["from_user_id"] = json!(user);
        }
        message
    }

    pub(crate) fn says(&self, id: &str, text: &str) -> Value {
        self.sends(id, "text", json!({"body": text}))
    }

    /// In a group.
    pub(crate) fn says_in(&self, group: &str, id: &str, text: &str) -> Value {
        let mut message = self.says(id, text);
        message["group_id"] = json!(group);
        message
    }

    pub(crate) fn edits(&self, id: &str, original: &str, text: &str) -> Value {
        let message = json!({"type": "text", "text": {"body": text}, "context": {"id": original}});
        self.sends(id, "edit", json!({"original_message_id": original, "message": message}))
    }

    pub(crate) fn revokes(&self, id: &str, original: &str) -> Value {
        self.sends(id, "revoke", json!({"original_message_id": original}))
    }

    /// Presses a button below a message of ours.
    pub(crate) fn presses(&self, id: &str, button: &str) -> Value {
        self.sends(id, "interactive", json!({"type": "button_reply", "button_reply": {"id": button, "title": "Yes"}}))
    }
}

impl Hook {
    /// The table of an account that answers everybody at once; `more` are further lines.
    pub(crate) fn table(&self, graph: &str, more: &str) -> String {
        let Self { account, line } = self;
        let default = |key: &str, line: &str| if more.contains(key) { String::new() } else { format!("{line}\n") };
        format!(
            "[channels.whatsapp.{account}]\nphone_number_id = \"{line}\"\napp_secret = \"{APP_SECRET}\"\nverify_token = \"{VERIFY_TOKEN}\"\n\
             access_token = \"{ACCESS_TOKEN}\"\ngraph_url = \"{graph}\"\n{}{}{more}\n",
            default("access =", "access = \"open\""),
            default("debounce_ms", "debounce_ms = 0"),
        )
    }

    fn path(&self) -> String {
        format!("/channels/whatsapp/{}", self.account)
    }

    /// The platform's first call.
    pub(crate) async fn handshake(&self, gateway: &Gateway, mode: &str, token: &str, challenge: &str) -> Answer {
        let query = format!("hub.mode={mode}&hub.verify_token={token}&hub.challenge={challenge}");
        gateway.get(&format!("{}?{query}", self.path())).await
    }

    /// These bytes with that signature.
    pub(crate) async fn signed_as(&self, gateway: &Gateway, body: &[u8], signature: Option<&str>) -> Answer {
        let headers: Vec<(&str, &str)> = signature.map(|s| ("X-Hub-Signature-256", s)).into_iter().collect();
        gateway.send("POST", &self.path(), &headers, Some(body)).await
    }

    /// These bytes, signed.
    pub(crate) async fn bytes(&self, gateway: &Gateway, body: &[u8]) -> Answer {
        self.signed_as(gateway, body, Some(&signature(body))).await
    }

    /// The exact bytes of a sample.
    pub(crate) async fn sample(&self, gateway: &Gateway, name: &str) -> Answer {
        self.bytes(gateway, &payload::sample(name)).await
    }

    /// Messages of persons, in one request.
    pub(crate) async fn post(&self, gateway: &Gateway, from: &[&Person], messages: &[Value]) -> Answer {
        self.bytes(gateway, self.envelope(from, messages).to_string().as_bytes()).await
    }

    /// One message, which is taken.
    pub(crate) async fn one(&self, gateway: &Gateway, from: &Person, message: Value) {
        self.post(gateway, &[from], &[message]).await.expect(200);
    }

    /// What the platform tells of a message of ours.
    pub(crate) async fn status(&self, gateway: &Gateway, message: &str, state: &str, token: Option<&str>, code: Option<u64>) {
        let mut status = json!({"id": message, "status": state, "timestamp": now().to_string()});
        if let Some(token) = token {
            status["biz_opaque_callback_data"] = json!(token);
        }
        if let Some(code) = code {
            status["errors"] = json!([{"code": code, "title": "refused"}]);
        }
        let body = self.value("messages", json!({"statuses": [status]}));
        self.bytes(gateway, body.to_string().as_bytes()).await.expect(200);
    }

    /// Somebody answers that person from the number's own phone.
    pub(crate) async fn echo(&self, gateway: &Gateway, to: &Person, id: &str, text: &str) {
        self.echoes(gateway, to, id, text).await.expect(200);
    }

    /// The same, and what it is answered with.
    pub(crate) async fn echoes(&self, gateway: &Gateway, to: &Person, id: &str, text: &str) -> Answer {
        let mut echo = json!({"from": "15550109000", "id": id, "timestamp": now().to_string(), "type": "text", "text": {"body": text}});
        echo["to"] = json!(to.phone);
        echo["to_user_id"] = json!(to.user);
        let body = self.value("smb_message_echoes", json!({"contacts": [to.contact()], "message_echoes": [echo]}));
        self.bytes(gateway, body.to_string().as_bytes()).await
    }

    pub(crate) fn envelope(&self, from: &[&Person], messages: &[Value]) -> Value {
        let contacts: Vec<Value> = from.iter().map(|person| person.contact()).collect();
        self.value("messages", json!({"contacts": contacts, "messages": messages}))
    }

    fn value(&self, field: &str, mut value: Value) -> Value {
        value["messaging_product"] = json!("whatsapp");
        value["metadata"] = json!({"display_phone_number": "15550109000", "phone_number_id": self.line});
        json!({"object": "whatsapp_business_account", "entry": [{"id": "200000000000001", "changes": [{"value": value, "field": field}]}]})
    }
}

pub(crate) fn signature(body: &[u8]) -> String {
    sign::signature(APP_SECRET, body)
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}
