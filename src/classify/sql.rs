//! SQL text far enough to see whether it deletes.
//!
//! Danger: this is a look at keywords, not a parser: it may call harmless text destructive, never the other way round for
//! the keywords it knows.

/// Whether a statement outside quotes and comments drops, deletes, truncates or alters away data.
pub fn deletes(text: &str) -> bool {
    let mut found = false;
    words(text, |word| {
        found |= ["drop", "delete", "truncate", "purge", "shutdown", "flushall", "flushdb"]
            .iter()
            .any(|verb| word.eq_ignore_ascii_case(verb));
    });
    found
}

/// Calls `each` for every bare word outside quotes and comments.
fn words(text: &str, mut each: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if matches!(byte, b'\'' | b'"' | b'`') {
            at =
                bytes[at + 1..].iter().position(|next| *next == byte).map_or(bytes.len(), |end| at + end + 2);
        } else if text[at..].starts_with("--") {
            at = bytes[at..].iter().position(|next| *next == b'\n').map_or(bytes.len(), |end| at + end);
        } else if text[at..].starts_with("/*") && !text[at..].starts_with("/*!") {
            at = text[at + 2..].find("*/").map_or(bytes.len(), |end| at + end + 4);
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            let end = bytes[at..]
                .iter()
                .position(|next| !next.is_ascii_alphanumeric() && *next != b'_')
                .map_or(bytes.len(), |end| at + end);
            each(&text[at..end]);
            at = end;
        } else {
            at += 1;
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_count() {
        for text in [
            "DROP TABLE t",
            "select 1; delete from x",
            "/*!50000 DROP*/ x",
            "TRUNCATE t",
            "(select 1);drop x",
        ] {
            assert!(deletes(text), "{text}");
        }
        for text in [
            "select 'DELETE FROM t'",
            "select \"drop\" from dropped",
            "-- drop\nselect 1",
            "/* delete */ select é",
        ] {
            assert!(!deletes(text), "{text}");
        }
    }
}
