//! What of one request may be done at once: different persons, groups and deliveries. Of each, the order is kept.

use std::collections::BTreeMap;

use crate::channel::access::ids;
use crate::channel::messenger::{Inbound, Item, Person};

/// The items in lists that have nothing to do with each other, each in the order in which they came.
pub(super) fn lanes(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut lane_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut lanes: Vec<Vec<(usize, Item)>> = Vec::new();
    for (nth, item) in items.into_iter().enumerate() {
        let about = about(&item);
        let mut found: Vec<usize> = about.iter().filter_map(|key| lane_of.get(key).copied()).collect();
        found.sort_unstable();
        found.dedup();
        let lane = found.first().copied().unwrap_or(lanes.len());
        if lane == lanes.len() {
            lanes.push(Vec::new());
        }
        // it tells that two are one: a person under two ids
        for other in found.into_iter().skip(1) {
            let moved = std::mem::take(&mut lanes[other]);
            lanes[lane].extend(moved);
            lane_of.values_mut().filter(|of| **of == other).for_each(|of| *of = lane);
        }
        lanes[lane].push((nth, item));
        lane_of.extend(about.into_iter().map(|key| (key, lane)));
    }
    let in_order = |mut lane: Vec<(usize, Item)>| {
        lane.sort_by_key(|(nth, _)| *nth);
        lane.into_iter().map(|(_, item)| item).collect()
    };
    lanes.into_iter().filter(|lane| !lane.is_empty()).map(in_order).collect()
}

/// What an item is about; empty where it is about nothing that another may be about.
fn about(item: &Item) -> Vec<String> {
    let place = |person: &Person, group: &Option<String>| match group {
        Some(group) => vec![format!("group:{group}")],
        None => ids(person).iter().map(ToString::to_string).collect(),
    };
    let keys = match &item.inbound {
        Inbound::Message(message) => place(&message.from, &message.group),
        Inbound::Decision { from, group, .. } | Inbound::Retract { from, group, .. } => place(from, group),
        Inbound::Identity { old, new } => [place(old, &None), place(new, &None)].concat(),
        Inbound::Echo { to, .. } => place(to, &None),
        Inbound::Status { message, token, .. } => {
            let delivery = token.as_deref().and_then(|token| token.rsplit_once(':')).map(|(id, _)| format!("delivery:{id}"));
            std::iter::once(format!("sent:{message}")).chain(delivery).collect()
        }
        Inbound::Ignored { .. } => Vec::new(),
    };
    keys.into_iter().map(|key| format!("{} {key}", item.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revoked(n: usize, phone: Option<&str>, user: Option<&str>, group: Option<&str>) -> Item {
        let owned = |text: Option<&str>| text.map(ToOwned::to_owned);
        let from = Person { phone: owned(phone), user: owned(user), name: None };
        Item { line: "1".into(), inbound: Inbound::Retract { original: n.to_string(), from, group: owned(group) } }
    }

    fn numbers(items: Vec<Item>) -> Vec<Vec<String>> {
        let number = |item: Item| {
            let Inbound::Retract { original, .. } = item.inbound else { panic!("{item:?}") };
            original
        };
        lanes(items).into_iter().map(|lane| lane.into_iter().map(number).collect()).collect()
    }

    #[test]
    fn each_person_and_group_is_a_lane_in_order() {
        let items = vec![
            revoked(0, Some("1"), None, None),
            revoked(1, Some("2"), None, None),
            revoked(2, None, Some("US.1"), None),
            revoked(3, Some("1"), None, Some("g")),
            revoked(4, Some("2"), None, None),
            // the same person by both ids: what came before is his too
            revoked(5, Some("1"), Some("US.1"), None),
            revoked(6, None, Some("US.1"), None),
        ];
        let lanes = numbers(items);
        assert_eq!(lanes, [vec!["0", "2", "5", "6"], vec!["1", "4"], vec!["3"]]);
    }
}
