//! Pieces of a command line for messages: short, one line, and with nothing in them that a terminal acts on.

use crate::shell::Span;

/// The longest piece that is shown, in characters.
const LONGEST: usize = 60;

/// The text of a span, cut to one line.
pub(super) fn snippet(line: &str, span: Span) -> String {
    let text = span.of(line).trim();
    let first = text.lines().next().unwrap_or("");
    let shown: String = first.chars().take(LONGEST).collect();
    let cut = first.len() < text.len() || shown.len() < first.len();
    format!("{}{}", visible(shown.trim_end()), if cut { " …" } else { "" })
}

/// Control, bidi and other unseen characters as escapes.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
        if c.is_control() || unseen {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
