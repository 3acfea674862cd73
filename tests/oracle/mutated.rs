//! Damaged scripts: the front end stays total, keeps its spans inside the text, and books every byte.

use swbox::shell::{Script, Trust, parse, parse_bytes};

use super::generator::{Generator, Random};
use super::{Budget, corpus, seed};

const INSERTS: &[&str] = &[
    "\\\n",
    "\n",
    "'",
    "\"",
    "`",
    "$(",
    "${",
    ")",
    "}",
    "((",
    "<<E\n",
    "<<-'E'",
    "#",
    "|",
    "&&",
    ";;",
    "case x in ",
    "esac",
    "if ",
    "fi",
    "[[ ",
    "]]",
    "{",
    "}",
    "a=(",
    "a[",
    "$'",
    "\\",
    "é",
    "<(",
    "$[",
    "coproc ",
    "time ",
    "! ",
    "function f",
    "f()",
    "for x",
    "do",
    "done",
    ">&",
    "2>",
    "{a,b}",
    "@(",
    "\u{200b}",
    "\0",
];

#[test]
fn mutated() {
    let lines = corpus();
    let budget = Budget::rounds(8_000);
    let mut random = Random::new(seed());
    let mut round = 0;
    while budget.allows(round) {
        let mut text = if random.chance(70) {
            lines[random.below(lines.len())].clone()
        } else {
            Generator::new(random.next()).script()
        };
        for _ in 0..=random.below(4) {
            mutate(&mut text, &mut random);
        }
        let script = parse(&text);
        check(&text, &script);
        if round % 16 == 0 {
            let mut bytes = text.clone().into_bytes();
            let at = random.below(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x80;
            }
            parse_bytes(&bytes);
        }
        round += 1;
    }
    println!("mutants {round}");
}

fn mutate(text: &mut String, random: &mut Random) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = places[random.below(places.len())];
    match random.below(4) {
        0 if at < text.len() => {
            text.remove(at);
        }
        1 => {
            let other = places[random.below(places.len())];
            let piece = text[at.min(other)..at.max(other)].to_owned();
            text.insert_str(at, &piece);
        }
        _ => text.insert_str(at, random.pick(INSERTS)),
    }
}

fn check(text: &str, script: &Script) {
    if let Trust::Untrusted { code, reason, span } = &script.trust {
        assert!(!matches!(*code, "coverage" | "stuck" | "no_grammar"), "{code}: {text:?}");
        assert!(!reason.is_empty() && span.start <= span.end && span.end <= text.len(), "{span:?}: {text:?}");
    }
    for segment in &script.segments {
        let spans = segment
            .argv
            .iter()
            .map(|arg| arg.span)
            .chain(segment.assignments.iter().map(|assignment| assignment.span))
            .chain(segment.redirects.iter().flat_map(|redirect| [redirect.span, redirect.target.span]))
            .chain([segment.span]);
        for span in spans {
            assert!(text.get(span.start..span.end).is_some(), "{span:?} of {segment:?} in {text:?}");
        }
    }
}
