//! Characters that draw nothing, or that draw text in another order than it is read.

use std::borrow::Cow;

/// Exact text for a person's eye, such as the arguments of an approval: every control, direction and invisible character as `\u{..}`.
pub fn exact(text: &str) -> Cow<'_, str> {
    replace(text, |c| c.is_control() || is_hidden(c))
}

/// Spells out the characters that `hide` names.
pub fn replace(text: &str, hide: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hide) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match hide(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Bidirectional controls, zero-width and other characters that draw nothing: Unicode 16, `Bidi_Control` and the invisible ones of
/// `Default_Ignorable_Code_Point` that occur in text, plus the line separators.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What others' words lose nothing by: the same, less what scripts and emoji are joined and varied with.
pub fn is_stray(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_joins_them_and_lose_what_hides_in_them() {
        let kept = |text: &str| text.chars().filter(|c| !is_stray(*c)).collect::<String>();
        for text in ["\u{1f468}\u{200d}\u{1f469}", "\u{645}\u{6cc}\u{200c}\u{62e}", "\u{2764}\u{fe0f}"] {
            assert_eq!(kept(text), text);
            assert_ne!(exact(text), text, "an exact text shows it");
        }
        assert_eq!(kept("a\u{202e}\u{200b}\u{3164}\u{ad}\u{e0041}\u{fff9}b"), "ab");
    }
}
