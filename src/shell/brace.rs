//! Brace expansion: `{a,b}`, `{1..9..2}`, `{a..e}`, as bash does it, on the word's text.

use std::cell::Cell;

use super::limits;

/// A part of one alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A piece of the word's text.
    Text(usize, usize),
    /// A member of a sequence.
    Member(String),
}

/// Each alternative of `start..end`; none when there are too many or one cannot be told.
///
/// `skip` gives the end of a quoted stretch or expansion that starts at a position.
pub(super) fn expand(
    bytes: &[u8],
    start: usize,
    end: usize,
    skip: &impl Fn(usize) -> Option<usize>,
) -> Option<Vec<Vec<Part>>> {
    Expander { bytes, skip, budget: Cell::new(BUDGET) }.expand(start, end, 0)
}

/// Bytes looked at and parts made for one word: looking for partners is quadratic.
const BUDGET: usize = 100_000;

/// Deepest nesting of braces.
const MAX_DEPTH: usize = 20;

struct Expander<'a, F> {
    bytes: &'a [u8],
    skip: &'a F,
    budget: Cell<usize>,
}

/// The inside of a brace expression.
struct Braces {
    open: usize,
    close: usize,
    /// Top-level commas.
    commas: Vec<usize>,
}

impl<F: Fn(usize) -> Option<usize>> Expander<'_, F> {
    fn expand(&self, start: usize, end: usize, depth: usize) -> Option<Vec<Vec<Part>>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut all = vec![Vec::new()];
        let mut at = start;
        while let Some(braces) = self.find(at, end)? {
            let middle = self.members(&braces, depth)?;
            let count = all.len().checked_mul(middle.len())?;
            let parts = all.iter().map(Vec::len).max().unwrap_or(0) + 2;
            self.spend(count.checked_mul(parts)?)?;
            if count > limits::MAX_BRACE_WORDS {
                return None;
            }
            let product = all.iter().flat_map(|head| {
                middle.iter().map(|member| {
                    let mut whole: Vec<Part> = head.clone();
                    whole.push(Part::Text(at, braces.open));
                    whole.extend(member.iter().cloned());
                    whole
                })
            });
            all = product.collect();
            at = braces.close + 1;
        }
        for whole in &mut all {
            whole.push(Part::Text(at, end));
        }
        Some(all)
    }

    fn spend(&self, cost: usize) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(cost)?);
        Some(())
    }

    /// What stands between the braces, one entry for each alternative.
    fn members(&self, braces: &Braces, depth: usize) -> Option<Vec<Vec<Part>>> {
        if braces.commas.is_empty() {
            return match sequence(self.bytes.get(braces.open + 1..braces.close)?) {
                Sequence::Members(members) => {
                    Some(members.into_iter().map(|member| vec![Part::Member(member)]).collect())
                }
                Sequence::None => Some(vec![vec![Part::Text(braces.open, braces.close + 1)]]),
                Sequence::Unclear => None,
            };
        }
        let mut members = Vec::new();
        let mut from = braces.open + 1;
        for to in braces.commas.iter().copied().chain([braces.close]) {
            members.extend(self.expand(from, to, depth + 1)?);
            if members.len() > limits::MAX_BRACE_WORDS {
                return None;
            }
            from = to + 1;
        }
        Some(members)
    }

    /// The first brace expression: an unquoted brace whose partner encloses a comma or `..` at its own level.
    fn find(&self, start: usize, end: usize) -> Option<Option<Braces>> {
        let mut at = start;
        while at < end {
            self.spend(1)?;
            if let Some(next) = (self.skip)(at) {
                at = next;
                continue;
            }
            // `{}` where a text begins is no brace expression, so that `find -exec {}` need not quote it
            let empty = at == start && self.bytes.get(at + 1) == Some(&b'}');
            if self.bytes.get(at) == Some(&b'{')
                && !empty
                && let Some(braces) = self.close(at, end)?
            {
                return Some(Some(braces));
            }
            at += 1;
        }
        Some(None)
    }

    fn close(&self, open: usize, end: usize) -> Option<Option<Braces>> {
        let mut level = 0_usize;
        let mut commas = Vec::new();
        let mut dots = false;
        let mut at = open + 1;
        while at < end {
            self.spend(1)?;
            if let Some(next) = (self.skip)(at) {
                at = next;
                continue;
            }
            match self.bytes.get(at)? {
                b'}' if level == 0 && (dots || !commas.is_empty()) => {
                    return Some(Some(Braces { open, close: at, commas }));
                }
                b'{' => level += 1,
                b'}' => level = level.saturating_sub(1),
                b',' if level == 0 => commas.push(at),
                b'.' if level == 0
                    && self.bytes.get(at + 1) == Some(&b'.')
                    && self.bytes.get(at + 2) != Some(&b'}') =>
                {
                    dots = true;
                }
                _ => {}
            }
            at += 1;
        }
        Some(None)
    }
}

enum Sequence {
    Members(Vec<String>),
    /// No sequence: the braces are literal.
    None,
    /// A sequence whose members are too many or odd.
    Unclear,
}

fn sequence(text: &[u8]) -> Sequence {
    let Ok(text) = std::str::from_utf8(text) else { return Sequence::None };
    let mut parts = text.split("..");
    let (Some(first), Some(last), step) = (parts.next(), parts.next(), parts.next()) else {
        return Sequence::None;
    };
    if parts.next().is_some() {
        return Sequence::None;
    }
    let step = match step.map(number) {
        None => 1,
        Some(Some(step)) => step,
        Some(None) => return Sequence::None,
    };
    if let (Some(from), Some(to)) = (number(first), number(last)) {
        return numbers(from, to, step, width(first, last));
    }
    match (first.as_bytes(), last.as_bytes()) {
        ([from], [to]) if from.is_ascii_alphabetic() && to.is_ascii_alphabetic() => {
            if from.is_ascii_lowercase() != to.is_ascii_lowercase() {
                // runs over backslash and backtick
                return Sequence::Unclear;
            }
            match numbers(i64::from(*from), i64::from(*to), step, 0) {
                Sequence::Members(members) => Sequence::Members(
                    members
                        .iter()
                        .filter_map(|code| code.parse::<u8>().ok())
                        .map(|code| char::from(code).to_string())
                        .collect(),
                ),
                other => other,
            }
        }
        _ => Sequence::None,
    }
}

/// A number as bash's `{x..y}` takes it: an optional sign and digits.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Zero-padded width, when either end asks for it.
fn width(first: &str, last: &str) -> usize {
    let padded = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.len() > 1 && digits.starts_with('0')
    };
    if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 }
}

fn numbers(from: i64, to: i64, step: i64, width: usize) -> Sequence {
    let step = step.unsigned_abs().max(1);
    let count = from.abs_diff(to) / step + 1;
    if count > limits::MAX_BRACE_WORDS as u64 {
        return Sequence::Unclear;
    }
    let members = (0..count).map(|index| {
        let distance = index * step;
        let value = if from <= to {
            from.checked_add_unsigned(distance)
        } else {
            from.checked_sub_unsigned(distance)
        };
        let value = value.unwrap_or(to);
        if value < 0 {
            format!("-{:0>1$}", value.unsigned_abs(), width.saturating_sub(1))
        } else {
            format!("{value:0>width$}")
        }
    });
    Sequence::Members(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Vec<String>> {
        let skip = |at: usize| (text.as_bytes().get(at) == Some(&b'\\')).then_some(at + 2);
        let all = expand(text.as_bytes(), 0, text.len(), &skip)?;
        let word = |parts: Vec<Part>| {
            parts
                .into_iter()
                .map(|part| match part {
                    Part::Text(start, end) => text[start..end].to_owned(),
                    Part::Member(member) => member,
                })
                .collect()
        };
        Some(all.into_iter().map(word).collect())
    }

    /// Each line was run in bash 5.2: `printf '%s\n' WORD`.
    #[test]
    fn expands_like_bash() {
        for (text, expected) in [
            ("a{b,c}d", "abd acd"),
            ("{rm,-rf,/}", "rm -rf /"),
            ("{a,b}{1,2}", "a1 a2 b1 b2"),
            ("{a,{b,c}}", "a b c"),
            ("{1..5}", "1 2 3 4 5"),
            ("{5..1..2}", "5 3 1"),
            ("{01..3}", "01 02 03"),
            ("{-1..1}", "-1 0 1"),
            ("{a..e..2}", "a c e"),
            ("{a}", "{a}"),
            ("{a}{b,c}", "{a}b {a}c"),
            ("{a,b", "{a,b"),
            ("{}", "{}"),
            ("a{,b}", "a ab"),
            ("{a\\,b}", "{a\\,b}"),
            ("{1..x}", "{1..x}"),
            ("{{a,b}", "{a {b"),
            ("{}a,b}", "{}a,b}"),
            ("x{}a,b}", "x}a xb"),
            ("{a,b}{}c,d}", "a{}c,d} b{}c,d}"),
            ("{{}a,b},c}", "{}a,c} b,c}"),
        ] {
            assert_eq!(words(text).map(|words| words.join(" ")).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn too_many_or_odd_is_unclear() {
        assert_eq!(words("{1..99999}"), None);
        assert_eq!(words("{Z..a}"), None);
        assert_eq!(words(&"{a,b}".repeat(20)), None);
    }
}
