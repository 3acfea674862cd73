//! The picture as a document and as a layout.

use super::*;
use crate::workflow::builtin::{BUILTINS, builtin};
use crate::workflow::load;

fn machine(text: &str) -> Machine {
    load(text.as_bytes()).unwrap().machine
}

/// A chain of states with ways back, ways that skip, approvals and an interrupt.
fn long(count: usize) -> String {
    let mut states = serde_json::Map::new();
    for at in 0..count {
        let mut on = serde_json::json!({ "NEXT": format!("state_{}", at + 1), "FAIL": "failed" });
        if at % 4 == 3 {
            on["BACK"] = format!("state_{}", at - 3).into();
        }
        if at % 5 == 2 {
            on["SKIP_AHEAD"] = format!("state_{}", (at + 4).min(count)).into();
        }
        if at % 7 == 6 {
            on["ASK"] =
                serde_json::json!({ "target": format!("state_{}", at + 1), "requires_approval": true });
        }
        states.insert(format!("state_{at}"), serde_json::json!({ "allowed_tools": ["Read"], "on": on }));
    }
    states.insert(format!("state_{count}"), serde_json::json!({ "type": "final" }));
    states.insert("failed".into(), serde_json::json!({ "type": "final" }));
    serde_json::json!({ "id": "long", "initial": "state_0", "states": states,
        "interrupts": { "lock": { "trigger": { "file_pattern": "*.lock" }, "target": format!("state_{}", count.min(5)) } } })
    .to_string()
}

/// Tags that are opened and closed, in order.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, after) = part.split_once('>').unwrap_or_else(|| panic!("a tag without end: {part}"));
        assert!(!after.contains('>'), "an unescaped >: {after}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_built_in_is_drawn() {
    for builtin in BUILTINS {
        let machine = machine(builtin.source);
        let text = svg(&machine, Some(&machine.initial));
        assert_well_formed(&text);
        for name in machine.states.keys() {
            assert!(text.contains(&format!(">{name}</text>")), "{name}");
        }
        assert_eq!(text.matches("class=\"state current\"").count(), 1, "{text}");
        assert_eq!(text, svg(&machine, Some(&machine.initial)));
    }
}

#[test]
fn approvals_and_interrupts_are_marked() {
    let text = svg(&machine(builtin("bugfix").unwrap().source), None);
    assert_eq!(text.matches("<g class=\"approval\"><path").count(), 1);
    assert!(text.contains(">TESTS_PASS [approval]</text>"));
    assert!(!text.contains("class=\"state current\""));
    let text = svg(&machine(&long(12)), None);
    assert!(text.contains("<g class=\"interrupt\"><path") && text.contains(">any state</text>"));
}

#[test]
fn thirty_states_do_not_overlap() {
    for text in [long(30), long(1), long(5)] {
        let machine = machine(&text);
        let (mut nodes, lines) = graph(&machine, None);
        let layers = arrange(&machine, &mut nodes, &lines);
        let text = draw(&machine, nodes, &lines, &layers);
        assert_well_formed(&text);
        let number = |tag: &str, key: &str| -> f64 {
            let rest = tag.split(&format!(" {key}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let boxes: Vec<[f64; 4]> = text
            .split("<rect class=\"box\"")
            .skip(1)
            .map(|tag| ["x", "y", "width", "height"].map(|key| number(tag, key)))
            .collect();
        assert_eq!(boxes.len(), machine.states.len() + 1);
        let picture = [number(&text, "width"), number(&text, "height")];
        for (at, [x, y, width, height]) in boxes.iter().enumerate() {
            assert!(*x >= 0.0 && x + width <= picture[0] && y + height <= picture[1], "{at} is outside");
            for [left, top, wide, high] in &boxes[..at] {
                let apart = x + width <= *left || left + wide <= *x || y + height <= *top || top + high <= *y;
                assert!(apart, "{at} overlaps");
            }
        }
        // No vertical or horizontal piece of an edge crosses a box: it lies in gaps and lanes.
        for path in text.split("<path class=\"edge\" d=\"M").skip(1) {
            let path = path.split('"').next().unwrap();
            let Some((start, moves)) = path.split_once('V') else { continue };
            let (x, y) = start.split_once(' ').unwrap();
            let (mut x, mut y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            let mut moves = format!("V{moves}");
            while !moves.is_empty() {
                let kind = moves.remove(0);
                let end = moves.find(['V', 'H']).unwrap_or(moves.len());
                let value: f64 = moves[..end].parse().unwrap();
                moves.drain(..end);
                let (from, to) = if kind == 'V' { ((x, y), (x, value)) } else { ((x, y), (value, y)) };
                let (low, high) =
                    ((from.0.min(to.0), from.1.min(to.1)), (from.0.max(to.0), from.1.max(to.1)));
                for [left, top, wide, tall] in &boxes {
                    let meets = low.0 < left + wide - 0.2
                        && high.0 > left + 0.2
                        && low.1 < top + tall - 0.2
                        && high.1 > top + 0.2;
                    assert!(!meets, "{path} crosses a state");
                }
                (x, y) = to;
            }
        }
    }
}

#[test]
fn names_stay_text() {
    let odd = r#"{"id": "<x> & \"y\"", "initial": "a<b", "states": {
        "a<b": {"allowed_tools": ["</title><script>"], "on": {"<svg onload='x'>": "end", "AGAIN": "a<b", "OUT": "$return"}},
        "end": {"type": "final"}}}"#;
    let text = svg(&machine(odd), None);
    assert_well_formed(&text);
    assert!(!text.contains("<script") && !text.contains("onload='"), "{text}");
    assert!(text.contains("&lt;svg onload=&#39;x&#39;&gt;</text>"), "{text}");
    assert!(text.contains(">AGAIN ↻</text>") && text.contains(">OUT ↩ return</text>"), "{text}");
    assert_eq!(escape("a\u{0}\u{1b}\u{ffff}"), "a\u{fffd}\u{fffd}\u{fffd}");
}
