//! Whether an argv that bash ran is one that a segment can become.

use swbox::shell::{Arg, Piece, Segment, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// Any text within one word.
    Within,
    /// Any text, word ends included.
    Across,
    /// The end of a word.
    End,
    /// The end of a word that may not be there.
    MaybeEnd,
}

/// Whether `argv` matches the words of `segment`, or those after a `command` that the classifier looks behind.
pub(crate) fn matches(segment: &Segment, argv: &[String]) -> bool {
    let hands_on = |word: &Arg| matches!(word.value.literal(), Some("command" | "-p" | "--"));
    let behind = match segment.argv.first() {
        Some(verb) if verb.value.literal() == Some("command") => {
            segment.argv.iter().position(|word| !hands_on(word))
        }
        _ => None,
    };
    matches_words(&segment.argv, argv)
        || behind.and_then(|at| segment.argv.get(at..)).is_some_and(|words| matches_words(words, argv))
}

fn matches_words(words: &[Arg], argv: &[String]) -> bool {
    let mut tokens = Vec::new();
    for arg in words {
        let splits = arg.value.may_split();
        match &arg.value {
            Value::Literal(text) => tokens.extend(text.bytes().map(Token::Byte)),
            Value::Unknown { splits } => tokens.push(if *splits { Token::Across } else { Token::Within }),
            Value::Partial(pieces) => tokens.extend(pieces.iter().flat_map(piece)),
        }
        tokens.push(if splits { Token::MaybeEnd } else { Token::End });
    }
    let mut text = Vec::new();
    for word in argv {
        text.extend_from_slice(word.as_bytes());
        text.push(0);
    }
    run(&tokens, &text)
}

fn piece(piece: &Piece) -> Vec<Token> {
    match piece {
        Piece::Known(text) => text.bytes().map(Token::Byte).collect(),
        Piece::Glob(_) | Piece::Unknown { splits: true } => vec![Token::Across],
        Piece::Home | Piece::Number | Piece::Unknown { splits: false } => vec![Token::Within],
    }
}

fn run(tokens: &[Token], text: &[u8]) -> bool {
    // which positions of the text the tokens so far can reach
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for token in tokens {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            if !reach[at] {
                continue;
            }
            match token {
                Token::Byte(byte) if text.get(at) == Some(byte) => next[at + 1] = true,
                Token::Byte(_) => {}
                Token::End if text.get(at) == Some(&0) => next[at + 1] = true,
                Token::End => {}
                Token::MaybeEnd => {
                    next[at] = true;
                    if text.get(at) == Some(&0) {
                        next[at + 1] = true;
                    }
                }
                Token::Within | Token::Across => {
                    let stop = text[at..].iter().position(|byte| *byte == 0 && *token == Token::Within);
                    let end = stop.map_or(text.len(), |ahead| at + ahead);
                    next[at..=end].fill(true);
                }
            }
        }
        reach = next;
    }
    reach[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use swbox::shell::parse;

    fn fits(source: &str, argv: &[&str]) -> bool {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        parse(source).segments.iter().any(|segment| matches(segment, &argv))
    }

    #[test]
    fn words_and_unknowns() {
        assert!(fits("rm -rf 'a b'", &["rm", "-rf", "a b"]));
        assert!(!fits("rm -rf a b", &["rm", "-rf", "a b"]));
        assert!(fits("rm $x y", &["rm", "y"]));
        assert!(fits("rm $x y", &["rm", "1", "2", "y"]));
        assert!(!fits("rm \"$x\" y", &["rm", "1", "2", "y"]));
        assert!(fits("rm a$x", &["rm", "a"]));
        assert!(!fits("rm a$x", &["rm", "b"]));
    }
}
