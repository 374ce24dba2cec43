//! The part of the walk that is about places outside.

use std::time::Duration;

use super::Walk;
use crate::domain::delivery::{DeliveryState, Part, Purpose};
use crate::domain::event::delivery::{AttachmentSettled, Delivery, Handoff};
use crate::domain::{Address, AgentEvent, Attachment, AttachmentKind, Recipient};

impl Walk {
    pub(super) fn attachment(&self) -> Attachment {
        Attachment {
            attachment_id: self.name("att_").into(),
            kind: AttachmentKind::Voice,
            mime: "audio/ogg; codecs=opus".into(),
            filename: None,
            sha256: None,
            media_id: "1".into(),
        }
    }

    pub(super) fn settled(&mut self) -> AgentEvent {
        let attachment_id = self.state.inbox.unsettled().next().unwrap().attachment_id.clone();
        let bytes = self.flip().then_some(7);
        AttachmentSettled { attachment_id, bytes, code: bytes.is_none().then(|| "timeout".into()) }.into()
    }

    pub(super) fn handoff(&mut self) -> AgentEvent {
        let until = if self.flip() { self.at() + Duration::from_secs(60) } else { self.at() };
        Handoff { by: "p".into(), until }.into()
    }

    /// A new one, or whatever may become of one that is known.
    pub(super) fn delivery(&mut self) -> AgentEvent {
        let outbox = self.state.outbox.clone();
        let known = outbox.known();
        let every = known.flat_map(|o| {
            let parts = 1..=o.of();
            parts.flat_map(|part| DeliveryState::ALL.map(|state| Delivery::of(o.delivery_id.clone(), part, o.of(), state)))
        });
        let (held, again, at) = (self.flip(), self.flip(), self.at());
        let every = every.map(|event| match event.state {
            DeliveryState::Queued => Delivery { held, ..event },
            DeliveryState::Failed => Delivery { retry_at: again.then_some(at), code: Some("1".into()), ..event },
            DeliveryState::Sent => Delivery { channel_message_id: Some(self.name("wamid.")), ..event },
            _ => event,
        });
        let follows: Vec<Delivery> = every.filter(|event| outbox.clone().apply(at, event).is_ok()).collect();
        if follows.is_empty() || self.byte().is_multiple_of(4) {
            let to = Address { channel: "whatsapp".into(), account: "main".into(), to: Recipient::Group("g".into()), message: None };
            let parts = vec![Part { text: "one".into(), buttons: Vec::new() }; 1 + self.byte() % 2];
            return Delivery::first(self.name("dlv_").into(), Purpose::Notice, to, parts).into();
        }
        let chosen = self.byte() % follows.len();
        follows[chosen].clone().into()
    }
}
