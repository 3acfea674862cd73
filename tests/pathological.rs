//! Inputs that make parsers hang, overflow or swallow memory: each ends soon, and untrusted where a limit is passed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::time::{Duration, Instant};

use swbox::shell::{Script, Trust, parse};

fn repeated(text: &str, count: usize) -> String {
    text.repeat(count)
}

fn nested(open: &str, inside: &str, close: &str, count: usize) -> String {
    format!("{}{inside}{}", open.repeat(count), close.repeat(count))
}

/// Name, text, and whether it must be refused.
fn inputs() -> Vec<(&'static str, String, bool)> {
    let mut backticks = "x".to_owned();
    for level in 0..10 {
        let escape = repeated("\\", (1 << level) - 1);
        backticks = format!("{escape}`{backticks}{escape}`");
    }
    vec![
        ("substitutions, open", repeated("$(", 20_000), true),
        ("substitutions, 500 deep", format!("echo {}", nested("$(echo ", "x", ")", 500)), true),
        ("substitutions, 60 deep", format!("echo {}", nested("$(echo ", "x", ")", 60)), false),
        ("braces, open", repeated("{a,", 16_000), false),
        ("brace product", format!("echo {}", repeated("{a,b}", 2_000)), false),
        ("commands", repeated("ls;", 21_800), true),
        ("commands below the limit", repeated("ls;", 1_400), false),
        ("one word", repeated("a", 65_000), false),
        ("too long", repeated("a", 70_000), true),
        ("words", format!("ls {}", repeated("a ", 20_000)), true),
        ("words below the limit", format!("ls {}", repeated("a ", 3_900)), false),
        ("parentheses, open", repeated("(", 60_000), true),
        ("parentheses", nested("( ", "ls", ")", 15_000), true),
        ("parentheses that are arithmetic", nested("(", "ls", ")", 20_000), false),
        ("parentheses, 60 deep", nested("( ", "ls", ")", 60), false),
        ("arithmetic", format!("echo $(({}))", nested("(", "1", ")", 20_000)), false),
        ("arithmetic, open", repeated("$((", 20_000), true),
        ("double parentheses, open", repeated("((;", 20_000), true),
        ("backticks", repeated("`", 60_000), false),
        ("backticks, nested", backticks, false),
        ("if", nested("if :; then ", ":;", " fi;", 3_500), true),
        ("if, 150 deep", nested("if :; then ", ":;", " fi;", 150), false),
        ("parameters", format!("echo {}", nested("${a:-", "x", "}", 9_000)), true),
        ("double quotes", format!("echo {}", nested("\"$(echo ", "x", ")\"", 5_000)), true),
        ("heredocs, unread", repeated("cat <<E ", 8_000), true),
        ("heredocs", format!("{}\n{}", repeated("cat <<E;", 600), repeated("x\nE\n", 600)), false),
        ("heredoc body", format!("cat <<E\n{}E\n", repeated("a b c\n", 10_000)), false),
        ("substitutions in a body", format!("cat <<E\n{}E\n", repeated("$(a)\n", 1_400)), false),
        ("continuations in a body", format!("cat <<E\n{}E\n", repeated("a\\\n", 20_000)), false),
        ("pipeline", format!("ls{}", repeated("|ls", 20_000)), true),
        ("pipeline below the limit", format!("ls{}", repeated("|ls", 1_400)), false),
        ("chain below the limit", format!("ls{}", repeated("&&ls", 1_400)), false),
        ("ampersands", repeated("&", 60_000), true),
        ("redirect operators", repeated("<", 60_000), true),
        ("case, open", repeated("case x in x) ", 4_000), true),
        ("brace groups", nested("{ ", "ls;", "};", 10_000), true),
        ("bangs", repeated("! ", 20_000), true),
        ("condition", format!("[[ {} ]]", nested("( ", "a", ") ", 10_000)), false),
        ("subscripts", repeated("a[", 20_000), true),
        ("subscripts, closed", repeated("a[1]=", 12_000), false),
        ("patterns", repeated("@(", 5_000), true),
        ("functions", format!("{} ls", repeated("f() ", 16_000)), true),
        ("functions in functions", format!("{} ls", repeated("f() { ", 10_000)), true),
        ("process substitutions", nested("<(cat ", "x", ")", 5_000), true),
        ("glued substitutions", repeated("$(a)", 1_400), false),
        ("assignments", repeated("a= ", 3_900), false),
        ("array", format!("a=({})", repeated("[1]=x ", 3_000)), false),
        ("quotes", repeated("\"", 60_000), false),
        ("continuations", repeated("\\\n", 32_000), false),
        ("digits", repeated("1", 60_000), false),
        ("numbers", repeated("1 ", 3_900), false),
        ("tildes", repeated("~", 60_000), false),
        ("newlines", repeated("\n", 60_000), false),
        ("comments", repeated("#\n", 30_000), false),
        ("expansions of one word", format!("echo {}", repeated("$x${y}", 5_000)), false),
        ("loops over lists", repeated("for i in {1..1024};do x $i;done;", 900), false),
        ("loops in loops", nested("for i in a b;do ", "x $i;", "done;", 150), false),
        (
            "loops in loops over lists",
            nested("for i in {1..9};do for j in {1..9};do ", "x $i$j;", "done;done;", 90),
            false,
        ),
        (
            "a list for many commands",
            format!("for i in {{1..16}};do {}done", repeated("x $i $i$i \"$i\";", 900)),
            false,
        ),
        ("loops of one name", repeated("for i in a b;do x $i;done;", 980), false),
        ("mixed", repeated("a $(b) <(c) \"$(d)\" | ", 300), true),
        ("constants", repeated("a=1;b=$a;", 700), false),
    ]
}

#[test]
fn pathological_input_ends_within_its_limits() {
    for (name, source, refused) in inputs() {
        let start = Instant::now();
        let script: Script = parse(&source);
        let time = start.elapsed();
        let verdict = match &script.trust {
            Trust::Trusted => "trusted",
            Trust::Untrusted { code, .. } => code,
        };
        println!("{name}: {:.1} ms, {} segments, {verdict}", time.as_secs_f64() * 1e3, script.segments.len());
        assert!(!refused || script.trust != Trust::Trusted, "{name} is trusted");
        assert!(time < Duration::from_secs(60), "{name} takes {time:?}");
    }
}
