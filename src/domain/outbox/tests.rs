use super::{Merge, Outbox, PLACES, RECENT, SENDING_FOR, UNKNOWN_FOR};
use crate::domain::delivery::DeliveryState::{self, Dead, Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
use crate::domain::delivery::{Part, Purpose};
use crate::domain::event::delivery::Delivery;
use crate::domain::{Address, Recipient, Timestamp};

/// A group: each is a conversation of its own.
fn place(group: &str) -> Address {
    let to = Recipient::Group(group.into());
    Address { channel: "whatsapp".into(), account: "main".into(), to, message: Some("wamid.in".into()) }
}

/// An outbox and its clock.
#[derive(Default)]
struct Kept {
    outbox: Outbox,
    now: u64,
}

impl Kept {
    fn queue(&mut self, id: &str, to: &str, parts: usize) {
        let parts = vec![Part { text: id.into(), buttons: Vec::new() }; parts];
        self.outbox.apply(Timestamp(self.now), &Delivery::first(id.into(), Purpose::Answer, place(to), parts)).unwrap();
    }

    fn event(&self, id: &str, part: u32, state: DeliveryState) -> Delivery {
        let of = self.outbox.get(&id.into()).map_or(1, super::Outgoing::of);
        Delivery::of(id.into(), part, of, state)
    }

    fn try_becomes(&mut self, id: &str, part: u32, state: DeliveryState) -> Result<(), &'static str> {
        let event = self.event(id, part, state);
        self.outbox.clone().apply(Timestamp(self.now), &event)?;
        self.outbox.apply(Timestamp(self.now), &event)
    }

    fn becomes(&mut self, id: &str, part: u32, states: &[DeliveryState]) {
        for state in states {
            self.try_becomes(id, part, *state).unwrap();
        }
    }

    fn fails(&mut self, id: &str, part: u32, retry_at: Option<u64>) {
        let event = Delivery { retry_at: retry_at.map(Timestamp), ..self.event(id, part, Failed) };
        self.outbox.apply(Timestamp(self.now), &event).unwrap();
    }

    fn due(&self) -> Option<(String, u32)> {
        self.outbox.due(Timestamp(self.now)).map(|(o, part)| (o.delivery_id.to_string(), part))
    }

    fn shown(&self, id: &str) -> (DeliveryState, u32) {
        let view = self.outbox.get(&id.into()).unwrap().view(&"ses_1".into());
        (view.state, view.part)
    }
}

#[test]
fn parts_go_in_order_and_places_do_not_wait_for_each_other() {
    let mut b = Kept::default();
    b.queue("a", "1", 2);
    b.queue("b", "1", 1);
    b.queue("c", "2", 1);
    assert_eq!(b.due(), Some(("a".into(), 1)));
    b.becomes("a", 1, &[Sending]);
    assert_eq!(b.due(), Some(("c".into(), 1)), "the other place");
    b.becomes("c", 1, &[Sending, Sent]);
    assert_eq!(b.due(), None);
    b.becomes("a", 1, &[Sent]);
    assert_eq!((b.due(), b.shown("a")), (Some(("a".into(), 2)), (Queued, 2)));
    b.becomes("a", 2, &[Sending, Sent]);
    assert_eq!((b.due(), b.shown("a")), (Some(("b".into(), 1)), (Sent, 1)));
}

#[test]
fn a_part_that_is_tried_again_keeps_its_place_and_its_count() {
    let mut b = Kept::default();
    b.queue("a", "1", 1);
    b.queue("b", "1", 1);
    b.becomes("a", 1, &[Sending]);
    b.fails("a", 1, Some(50));
    assert_eq!((b.due(), b.outbox.ready_at()), (None, Some(Timestamp(50))));
    assert_eq!(b.outbox.changes_at(Timestamp(0)), Some(Timestamp(50)));
    b.now = 50;
    assert_eq!(b.due(), Some(("a".into(), 1)));
    b.becomes("a", 1, &[Sending]);
    assert_eq!(b.outbox.get(&"a".into()).unwrap().parts[0].attempts, 2);
}

#[test]
fn a_dead_part_ends_its_delivery_and_the_next_goes_on() {
    let mut b = Kept::default();
    b.queue("a", "1", 3);
    b.queue("b", "1", 1);
    b.becomes("a", 1, &[Sending, Sent]);
    b.becomes("a", 2, &[Sending, Dead]);
    assert_eq!((b.due(), b.shown("a")), (Some(("b".into(), 1)), (Dead, 2)));
    b.try_becomes("a", 3, Sending).unwrap_err();
    // an operator tries it again: it goes on where it stopped, behind what waits by now
    assert_eq!(b.outbox.get(&"a".into()).unwrap().again(), Some(2));
    b.becomes("a", 2, &[Queued]);
    b.becomes("b", 1, &[Sending, Sent]);
    b.becomes("a", 2, &[Sending, Sent]);
    assert_eq!(b.due(), Some(("a".into(), 3)));
}

#[test]
fn what_is_held_waits_for_the_receiver_and_for_no_time() {
    let mut b = Kept::default();
    b.queue("a", "1", 1);
    b.queue("b", "1", 1);
    b.becomes("a", 1, &[Sending]);
    let held = Delivery { held: true, ..b.event("a", 1, Queued) };
    b.outbox.apply(Timestamp(1), &held).unwrap();
    b.now = 1_000_000;
    assert_eq!((b.due(), b.outbox.wakes_at()), (None, None));
    b.outbox.heard(Timestamp(2), &place("2"));
    assert_eq!(b.due(), None, "somebody else wrote");
    b.outbox.heard(Timestamp(3), &Address { message: Some("wamid.new".into()), ..place("1") });
    assert_eq!(b.due(), Some(("a".into(), 1)));
    assert_eq!(b.outbox.last_inbound(&place("1")), Some(Timestamp(3)));
    assert_eq!(b.outbox.reply_to().unwrap().message.as_deref(), Some("wamid.new"));
}

#[test]
fn what_nobody_knows_blocks_its_place_and_lapses() {
    let mut b = Kept::default();
    b.queue("a", "1", 2);
    b.becomes("a", 1, &[Sending]);
    let later = Timestamp(0) + SENDING_FOR;
    assert_eq!((b.outbox.wakes_at(), b.outbox.changes_at(Timestamp(0))), (Some(Timestamp(0)), Some(later)));
    assert_eq!(b.outbox.lapsed(later).count(), 1);
    assert_eq!(b.outbox.orphans(Timestamp(1)).count(), 1);
    assert_eq!(b.outbox.orphans(Timestamp(0)).count(), 0, "of this process");
    b.becomes("a", 1, &[Unknown]);
    let later = Timestamp(0) + UNKNOWN_FOR;
    assert_eq!((b.due(), b.outbox.wakes_at()), (None, Some(later)));
    assert_eq!(b.outbox.lapsed(Timestamp(later.0 - 1)).count(), 0);
    assert_eq!(b.outbox.lapsed(later).count(), 1);
    b.becomes("a", 1, &[Sent]);
    assert_eq!(b.due(), Some(("a".into(), 2)), "a status told");
}

/// Every order of what a platform may tell: never back, and nothing twice.
#[test]
fn statuses_merge_monotonically() {
    let all = [Sent, Delivered, Read, Failed];
    for seed in 0..4_usize.pow(6) {
        let mut b = Kept::default();
        b.queue("a", "1", 1);
        b.becomes("a", 1, &[Sending]);
        let mut arrived = false;
        let mut told = Vec::new();
        for i in 0..6_u32 {
            let state = all[seed / 4_usize.pow(i) % 4];
            let part = &b.outbox.get(&"a".into()).unwrap().parts[0];
            if part.merge(state, "wamid.1") == Merge::Record {
                assert!(!told.contains(&state), "{told:?} and then {state:?} again");
                let event = Delivery { channel_message_id: Some("wamid.1".into()), ..b.event("a", 1, state) };
                b.outbox.apply(Timestamp(1), &event).unwrap();
                told.push(state);
            }
            arrived |= matches!(state, Delivered | Read);
            let shown = b.shown("a").0;
            assert!(!arrived || matches!(shown, Delivered | Read), "{told:?} shows {shown:?}");
        }
        let part = &b.outbox.get(&"a".into()).unwrap().parts[0];
        assert_eq!(part.merge(Read, "wamid.other"), Merge::Nothing, "another message");
        for never in [Queued, Sending, Unknown, Dead] {
            assert_eq!(part.merge(never, "wamid.1"), Merge::Nothing);
        }
    }
}

#[test]
fn a_late_sent_does_not_undo_a_failure() {
    let mut b = Kept::default();
    b.queue("a", "1", 1);
    b.becomes("a", 1, &[Sending, Sent]);
    b.fails("a", 1, None);
    assert_eq!(b.shown("a").0, Failed);
    b.try_becomes("a", 1, Sent).unwrap_err();
    b.becomes("a", 1, &[Delivered]);
    assert_eq!(b.outbox.get(&"a".into()).unwrap().parts[0].merge(Failed, ""), Merge::Nothing, "known");
    b.queue("b", "1", 1);
    b.becomes("b", 1, &[Sending, Delivered]);
    b.fails("b", 1, None);
    assert_eq!(b.shown("b").0, Delivered, "it had arrived");
    assert_eq!(b.outbox.get(&"b".into()).unwrap().parts[0].merge(Failed, ""), Merge::Nothing, "and that is noted once");
}

#[test]
fn what_does_not_follow_is_refused() {
    let mut b = Kept::default();
    b.try_becomes("none", 1, Sending).unwrap_err();
    b.queue("a", "1", 2);
    for (part, state) in [(0, Sending), (3, Sending), (2, Sending), (1, Unknown)] {
        b.try_becomes("a", part, state).unwrap_err();
    }
    let known = Delivery::first("a".into(), Purpose::Answer, place("1"), vec![Part::default()]);
    let empty = Delivery::first("b".into(), Purpose::Answer, place("1"), vec![]);
    let miscounted = Delivery { of: 3, ..Delivery::first("c".into(), Purpose::Answer, place("1"), vec![Part::default()]) };
    for first in [known, empty, miscounted] {
        b.outbox.apply(Timestamp(0), &first).unwrap_err();
    }
    b.becomes("a", 1, &[Sending]);
    b.try_becomes("a", 1, Sending).unwrap_err();
    b.becomes("a", 1, &[Sent]);
    for state in [Queued, Unknown, Sending, Sent] {
        b.try_becomes("a", 1, state).unwrap_err();
    }
}

#[test]
fn what_is_over_is_kept_for_a_while_and_what_is_dead_longer() {
    let mut b = Kept::default();
    b.queue("dead", "1", 1);
    b.becomes("dead", 1, &[Dead]);
    for n in 0..RECENT {
        let id = format!("d{n}");
        b.queue(&id, "1", 1);
        b.becomes(&id, 1, &[Sending, Sent, Read]);
    }
    b.queue("last", "1", 1);
    b.becomes("last", 1, &[Sending, Sent, Read]);
    assert_eq!(b.outbox.recent.len(), RECENT);
    assert!(b.outbox.get(&"dead".into()).is_some() && b.outbox.get(&"d0".into()).is_none());
    assert_eq!(b.outbox.recent.back().unwrap().parts[0].content, Part::default(), "nobody needs its text any more");
    for n in 0..=PLACES {
        b.outbox.heard(Timestamp(n as u64), &place(&n.to_string()));
    }
    assert_eq!(b.outbox.last_inbound(&place("0")), None, "places are bounded too");
}

#[test]
fn many_that_are_dead_push_out_none_that_arrived() {
    let mut b = Kept::default();
    for n in 0..=RECENT {
        let id = format!("dead{n}");
        b.queue(&id, "1", 1);
        b.becomes(&id, 1, &[Dead]);
    }
    b.queue("a", "1", 1);
    b.becomes("a", 1, &[Sending, Sent]);
    assert_eq!(b.shown("a").0, Sent, "a status may still come");
    assert!(b.outbox.get(&"dead0".into()).is_none() && b.outbox.get(&format!("dead{RECENT}").as_str().into()).is_some());
}

/// A part was told not to have arrived while a later one was on its way.
#[test]
fn what_is_being_sent_counts_wherever_it_stands() {
    let mut b = Kept::default();
    b.queue("a", "1", 2);
    b.becomes("a", 1, &[Sending, Sent]);
    b.fails("a", 1, None);
    b.becomes("a", 2, &[Sending]);
    assert_eq!(b.outbox.get(&"a".into()).unwrap().again(), None, "not two at once");
    b.becomes("a", 1, &[Queued]);
    let later = Timestamp(0) + SENDING_FOR;
    assert!(b.outbox.is_sending() && b.due().is_none());
    assert_eq!((b.outbox.wakes_at(), b.outbox.changes_at(Timestamp(0))), (Some(Timestamp(0)), Some(later)));
    let second = |(_, part): (_, u32)| part;
    assert_eq!(b.outbox.lapsed(later).map(second).collect::<Vec<_>>(), [2]);
    assert_eq!(b.outbox.orphans(Timestamp(1)).map(second).collect::<Vec<_>>(), [2]);
    b.becomes("a", 2, &[Sent]);
    assert_eq!(b.due(), Some(("a".into(), 1)));
}

/// A person is one conversation, whichever of his ids he writes under.
#[test]
fn a_persons_addresses_are_one_conversation() {
    let number = Address { to: Recipient::Phone("1".into()), ..place("") };
    let user = Address { to: Recipient::User("US.1".into()), ..place("") };
    let mut b = Kept::default();
    for (id, to) in [("a", &number), ("b", &user)] {
        b.outbox.apply(Timestamp(0), &Delivery::first(id.into(), Purpose::Answer, to.clone(), vec![Part::default()])).unwrap();
    }
    b.becomes("a", 1, &[Sending]);
    assert_eq!(b.due(), None, "what was said first goes first");
    let held = Delivery { held: true, ..b.event("a", 1, Queued) };
    b.outbox.apply(Timestamp(1), &held).unwrap();
    assert_eq!(b.due(), Some(("b".into(), 1)), "but what is held there keeps nothing back here");
    b.outbox.heard(Timestamp(2), &user);
    assert_eq!((b.due(), b.outbox.last_inbound(&number)), (Some(("a".into(), 1)), Some(Timestamp(2))));
}
