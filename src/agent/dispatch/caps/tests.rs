use proptest::prelude::*;

use super::*;
use crate::domain::Artifact;
use crate::domain::event::input::Trust;

fn id() -> ArtifactId {
    Artifact { trust: Trust::Untrusted, text: String::new() }.into_blob().0
}

#[test]
fn the_line_fits_into_what_every_result_gets() {
    let (id, text) = (id(), "🙂".repeat(3_000));
    for (kept, reader) in [(3_000, Some("read_artifact")), (2_999, Some("read_artifact")), (3_000, None)] {
        let over = Over { id: &id, text: &text, kept, reader };
        let content = over.content(LEAST);
        assert!(length(&content) <= LEAST, "{content}");
        assert!(content.contains(id.as_str()) && content.starts_with('🙂'), "{content}");
        assert!(length(&over.line(usize::MAX, PREVIEW)) < LEAST, "whatever its length");
        assert_eq!(over.content(RESULT_CAP).chars().take_while(|c| *c == '🙂').count(), PREVIEW);
    }
}

#[test]
fn what_is_cut_is_counted() {
    assert_eq!(cut("ab".into(), 2), "ab");
    let text = cut("é".repeat(1_000), 500);
    let kept = text.chars().take_while(|c| *c == 'é').count();
    assert!(length(&text) <= 500 && kept > 400, "{text}");
    assert!(text.contains(&format!("{} more characters", 1_000 - kept)), "{text}");
}

proptest! {
    /// Whatever the results ask for and a restart had shown before.
    #[test]
    fn all_results_together_stay_within_the_cap(asked in prop::collection::vec(0usize..90_000, 1..400), before in 0usize..40_000) {
        let mut room = Room::new(before, asked.len());
        let mut sum = before;
        for length in &asked {
            let next = room.next(RESULT_CAP);
            prop_assert!((LEAST..=RESULT_CAP).contains(&next));
            room.taken(next.min(*length));
            sum += next.min(*length);
        }
        prop_assert!(sum <= STEP_CAP, "{}", sum);
    }

    #[test]
    fn a_result_that_is_over_stays_within_its_room(length_of in RESULT_CAP..90_000usize, room in LEAST..3_000usize, reads in any::<bool>()) {
        let (id, text) = (id(), "x".repeat(length_of));
        let over = Over { id: &id, text: &text, kept: length_of, reader: reads.then_some("read_artifact") };
        prop_assert!(length(&over.content(room)) <= room);
    }

    #[test]
    fn a_cut_stays_within_its_room(text in ".{0,900}", room in LEAST..1_000usize) {
        let fitted = cut(text.clone(), room);
        prop_assert!(length(&fitted) <= room);
        prop_assert!(fitted == text || fitted.contains("cut here"));
    }
}
