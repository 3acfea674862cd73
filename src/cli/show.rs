//! Text that came from an agent or a file, made safe for a terminal.
//!
//! Danger: an escape sequence or a bidi override in a refusal shows a person something else than what would run.

use std::fmt::Write as _;

/// `text` with control, bidi, zero-width and odd-blank characters visible.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if hidden(letter) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out
}

/// [`visible`] without the line ends, for text that is shown line by line.
pub(super) fn visible_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(visible)
}

/// At most `limit` characters of `text`, visible, with an ellipsis where something was cut.
pub(super) fn excerpt(text: &str, limit: usize) -> String {
    let mut letters = text.chars();
    let head: String = letters.by_ref().take(limit).collect();
    let mut out = visible(&head);
    if letters.next().is_some() {
        out.push('…');
    }
    out
}

fn hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{00a0}' | '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
                | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_or_moves() {
        assert_eq!(
            visible("a\x1b[31mb\u{202e}c\u{200b}\0\u{9b}"),
            "a\\u{1b}[31mb\\u{202e}c\\u{200b}\\u{0}\\u{9b}"
        );
        assert_eq!(visible("x\ny\t\r"), "x\\ny\\t\\r");
        assert_eq!(visible("größe → 日本"), "größe → 日本");
    }

    #[test]
    fn excerpts_cut_at_characters() {
        assert_eq!(excerpt("äöü", 2), "äö…");
        assert_eq!(excerpt("äö", 2), "äö");
    }
}
