//! Characters that make a text look different from what bash reads.
//!
//! Danger: CR, VT and FF are blanks to the grammar and ordinary characters to bash; no-break and zero-width spaces
//! and bidirectional marks are ordinary characters to bash and blanks to a person.

use super::trust::Problem;

/// The first character that may not stand in a trusted script, anywhere (comments and heredoc bodies too).
pub(super) fn scan(source: &str) -> Option<Problem> {
    if let Some(at) = source.bytes().position(is_control) {
        return Some(Problem::new("control_character", at));
    }
    if source.is_ascii() {
        return None;
    }
    let (at, _) = source.char_indices().find(|(_, character)| is_odd(*character))?;
    Some(Problem::new("odd_character", at))
}

const fn is_control(byte: u8) -> bool {
    byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f
}

/// Blanks that bash does not know as such, zero-width and bidirectional characters, tags, variation selectors.
const fn is_odd(character: char) -> bool {
    matches!(
        character as u32,
        0x80..=0xa0
            | 0xad
            | 0x34f
            | 0x61c
            | 0x115f..=0x1160
            | 0x1680
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x2000..=0x200f
            | 0x2028..=0x202f
            | 0x205f..=0x206f
            | 0x2800
            | 0x3000
            | 0x3164
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffb
            | 0xe0000..=0xe0fff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_passes() {
        assert_eq!(scan("ls -la\n\techo ü → “x” 日本 🎉\n"), None);
    }

    #[test]
    fn disguised_text_does_not() {
        for source in
            ["a\rb", "a\0", "a\u{b}b", "a\u{7f}", "ls\u{a0}-l", "r\u{200b}m", "a\u{202e}b", "\u{feff}ls"]
        {
            assert!(scan(source).is_some(), "{source:?}");
        }
    }
}
