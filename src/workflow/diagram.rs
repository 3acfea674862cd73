//! A machine as a picture in text: Mermaid for pages, DOT for Graphviz.
//!
//! Names come from a file that anybody may have written; they are quoted so that they stay labels.

use std::fmt::Write;

use super::exit::{Exit, ExitKind};
use super::model::{Machine, StateKind};

/// What an edge says: event, and in brackets what it asks for or how it is written.
pub(super) fn label(exit: &Exit<'_>) -> String {
    let mut notes: Vec<&str> = exit.conditions.map(|conditions| conditions.names()).unwrap_or_default();
    match exit.kind {
        ExitKind::Event => {}
        ExitKind::Fork => notes.push("fork"),
        ExitKind::Invoke => notes.push("invoke"),
        ExitKind::Failure => notes.push("on fail"),
        ExitKind::Branch => notes.push("branch"),
        ExitKind::Safe => notes.push("limit"),
        ExitKind::Interrupt => notes.push("interrupt"),
    }
    if notes.is_empty() { exit.event.to_owned() } else { format!("{} [{}]", exit.event, notes.join(", ")) }
}

/// Edges are dotted where no event of the agent takes them.
pub(super) fn is_dotted(kind: ExitKind) -> bool {
    matches!(kind, ExitKind::Safe | ExitKind::Interrupt | ExitKind::Failure | ExitKind::Branch)
}

/// Each state's own ways out, then the interrupts once: drawn from every state they would hide the rest.
pub(super) fn edges(machine: &Machine) -> Vec<(Option<&str>, Exit<'_>)> {
    let mut edges = Vec::new();
    for name in machine.states.keys() {
        let own = machine.all_exits(name).into_iter().filter(|exit| exit.kind != ExitKind::Interrupt);
        edges.extend(own.map(|exit| (Some(name.as_str()), exit)));
    }
    for (event, interrupt) in &machine.interrupts {
        let exit = Exit { event, target: &interrupt.target, kind: ExitKind::Interrupt, conditions: None };
        edges.push((None, exit));
    }
    edges
}

fn position(machine: &Machine, state: &str) -> String {
    machine.states.get_index_of(state).map_or_else(|| "any".to_owned(), |at| format!("s{at}"))
}

/// A Mermaid state diagram, with the current state marked.
pub fn mermaid(machine: &Machine, current: Option<&str>) -> String {
    let mut out = String::from("stateDiagram-v2\n");
    let mut line = |text: String| {
        let _ = writeln!(out, "    {text}");
    };
    for (at, name) in machine.states.keys().enumerate() {
        line(format!("state \"{}\" as s{at}", mermaid_text(name)));
    }
    if !machine.interrupts.is_empty() {
        line("state \"any state\" as any".to_owned());
    }
    line(format!("[*] --> {}", position(machine, &machine.initial)));
    for (from, exit) in edges(machine) {
        let from = from.map_or_else(|| "any".to_owned(), |from| position(machine, from));
        line(format!("{from} --> {}: {}", position(machine, exit.target), mermaid_text(&label(&exit))));
    }
    for (name, _) in machine.states.iter().filter(|(_, state)| state.kind == StateKind::Final) {
        line(format!("{} --> [*]", position(machine, name)));
    }
    if let Some(current) = current.filter(|name| machine.states.contains_key(*name)) {
        line("classDef current font-weight:bold,stroke-width:4px".to_owned());
        line(format!("class {} current", position(machine, current)));
    }
    out
}

/// Everything that Mermaid could read as syntax, as an entity.
fn mermaid_text(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | '[' | ']') {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
        out
    })
}

/// A Graphviz digraph, with the current state marked; approvals are bold, what no event takes is dotted.
pub fn dot(machine: &Machine, current: Option<&str>) -> String {
    let mut out = format!("digraph {} {{\n", dot_text(&machine.id));
    let mut line = |text: String| {
        let _ = writeln!(out, "    {text}");
    };
    line("rankdir=LR; node [shape=box, style=rounded];".to_owned());
    line("start [shape=point];".to_owned());
    for (name, state) in &machine.states {
        let mut looks = vec![format!("label={}", dot_text(name))];
        if state.kind == StateKind::Final {
            looks.push("peripheries=2".to_owned());
        }
        if current == Some(name.as_str()) {
            looks.push("penwidth=3".to_owned());
        }
        line(format!("{} [{}];", position(machine, name), looks.join(", ")));
    }
    if !machine.interrupts.is_empty() {
        line("any [label=\"any state\", style=dotted];".to_owned());
    }
    line(format!("start -> {};", position(machine, &machine.initial)));
    for (from, exit) in edges(machine) {
        let from = from.map_or_else(|| "any".to_owned(), |from| position(machine, from));
        let mut looks = vec![format!("label={}", dot_text(&label(&exit)))];
        if exit.needs_approval() {
            looks.push("style=bold".to_owned());
        } else if is_dotted(exit.kind) {
            looks.push("style=dotted".to_owned());
        }
        line(format!("{from} -> {} [{}];", position(machine, exit.target), looks.join(", ")));
    }
    out + "}\n"
}

fn dot_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{builtin::builtin, load};

    fn machine(text: &str) -> Machine {
        load(text.as_bytes()).unwrap().machine
    }

    #[test]
    fn bugfix_as_mermaid() {
        let text = mermaid(&machine(builtin("bugfix").unwrap().source), Some("testing"));
        let expected = r#"stateDiagram-v2
    state "planning" as s0
    state "implementing" as s1
    state "testing" as s2
    state "review" as s3
    state "committing" as s4
    state "completed" as s5
    state "failed" as s6
    [*] --> s0
    s0 --> s1: PLAN_READY
    s0 --> s6: FAIL
    s1 --> s2: DONE
    s1 --> s6: FAIL
    s2 --> s3: TESTS_PASS [approval]
    s2 --> s1: TESTS_FAIL
    s2 --> s6: FAIL
    s3 --> s4: APPROVED
    s3 --> s1: REJECTED
    s4 --> s5: COMMITTED
    s4 --> s6: FAIL
    s5 --> [*]
    s6 --> [*]
    classDef current font-weight:bold,stroke-width:4px
    class s2 current
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn names_stay_labels() {
        let odd = r#"{"id": "x\" }", "initial": "a", "states": {
            "a": {"allowed_tools": [], "on": {"GO: --> s9; \"]": "end"}}, "end": {"type": "final"}},
            "interrupts": {"lock": {"trigger": {"file_pattern": "*"}, "target": "a"}}}"#;
        let machine = machine(odd);
        let mermaid = mermaid(&machine, None);
        assert!(mermaid.contains("s0 --> s1: GO#58; --#62; s9#59; #34;]\n"), "{mermaid}");
        assert!(mermaid.contains("any --> s0: lock [interrupt]\n"), "{mermaid}");
        let dot = dot(&machine, Some("a"));
        assert!(dot.starts_with("digraph \"x\\\" }\" {\n"), "{dot}");
        assert!(dot.contains("s0 -> s1 [label=\"GO: --> s9; \\\"]\"];"), "{dot}");
        assert!(dot.contains("s0 [label=\"a\", penwidth=3];"), "{dot}");
        assert!(dot.contains("any -> s0 [label=\"lock [interrupt]\", style=dotted];"), "{dot}");
    }
}
