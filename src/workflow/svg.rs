//! A machine as an SVG picture: states in layers, every edge on a track of its own, marks for what matters.
//!
//! Names come from a file that anybody may have written: everything that is shown is escaped.
//!
//! The layout is plain on purpose. Edges that lead one layer down run in the gap between; all others go around in a
//! lane beside the states, one lane a target, so that no line crosses a state. Edges to failure states, to the state
//! itself and `$return` are lines of text in the state: drawn, they would hide the rest.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::diagram::{edges, is_dotted, label};
use super::effective::EffectiveTools;
use super::exit::{Exit, ExitKind};
use super::model::{Machine, StateKind, Target, Transition};

/// Width of a character, at the sizes of names and notes.
const WIDE: f64 = 8.0;
const NARROW: f64 = 6.6;
const LINE: f64 = 15.0;
const TRACK: f64 = 17.0;
const LANE: f64 = 14.0;
const BETWEEN: f64 = 34.0;
const PAD: f64 = 10.0;
/// Characters of a name or note that are shown; the rest is in the tooltip.
const SHOWN: usize = 40;

const STYLE: &str = "\
.page{fill:#fff}text{font-family:ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}\
.name{font-size:13px;font-weight:600}.note{font-size:11px;fill:#57606a}.event{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px}\
.box{fill:#f6f8fa;stroke:#57606a;stroke-width:1.2}.inner{fill:none;stroke:#57606a}.any .box{fill:#fff;stroke-dasharray:5 4}\
.failure .box{stroke:#cf222e}.current .box{fill:#ddf4ff;stroke:#0969da;stroke-width:3}\
.edge{fill:none;stroke:#57606a;stroke-width:1.2}.approval .edge{stroke:#bc4c00;stroke-width:2.6}.approval .event{fill:#bc4c00;font-weight:600}\
.quiet .edge{stroke-dasharray:2 4}.interrupt .edge{stroke:#8250df;stroke-dasharray:2 4}.interrupt .event{fill:#8250df}\
.start{fill:#1f2328}";

/// A state, or `any state` where interrupts come from.
struct Node<'m> {
    name: &'m str,
    classes: Vec<&'static str>,
    is_final: bool,
    level: &'static str,
    notes: Vec<String>,
    tip: String,
    layer: usize,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Node<'_> {
    fn size(&mut self, ports: usize) {
        let notes = self.notes.iter().map(|note| note.chars().count()).max().unwrap_or(0);
        let text = (clip(self.name).chars().count() as f64 * WIDE)
            .max(notes as f64 * NARROW)
            .max(self.level.chars().count() as f64 * NARROW);
        self.width = (text + 2.0 * PAD).max(70.0).max((ports + 1) as f64 * 12.0);
        let lines = self.notes.len() + usize::from(!self.level.is_empty());
        self.height = 26.0 + lines as f64 * LINE;
    }
}

/// An edge between two nodes, by position.
struct Line {
    from: usize,
    to: usize,
    text: String,
    class: &'static str,
}

/// The picture of a machine, with the current state marked.
pub fn svg(machine: &Machine, current: Option<&str>) -> String {
    let (mut nodes, lines) = graph(machine, current);
    let layers = arrange(machine, &mut nodes, &lines);
    draw(machine, nodes, &lines, &layers)
}

/// At most [`SHOWN`] characters.
fn clip(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN - 1).chain(std::iter::once('…')).collect()
}

fn graph<'m>(machine: &'m Machine, current: Option<&str>) -> (Vec<Node<'m>>, Vec<Line>) {
    let mut nodes: Vec<Node<'_>> = machine
        .states
        .iter()
        .map(|(name, state)| {
            let is_final = state.kind == StateKind::Final;
            let mut classes = vec!["state"];
            classes.extend((is_final && machine.is_failure(name)).then_some("failure"));
            classes.extend((current == Some(name.as_str())).then_some("current"));
            let tools = EffectiveTools::of(state);
            let level = match (is_final, tools.level(machine)) {
                (true, _) => "",
                (_, 0) => "reads",
                (_, 1) => "writes",
                (_, 2) => "runs",
                (_, 3) => "changes git",
                (_, _) => "acts outside",
            };
            let notes = state.on.iter().filter(|(_, way)| returns(way));
            let notes = notes.map(|(event, _)| clip(&format!("{event} ↩ return"))).collect();
            node(name, classes, is_final, level, notes, tools.shown().join(", "))
        })
        .collect();
    let any = nodes.len();
    if !machine.interrupts.is_empty() {
        let tip = "an interrupt may fire in every state that is not final";
        nodes.push(node("any state", vec!["any"], false, "", Vec::new(), tip.to_owned()));
    }
    let mut lines = Vec::new();
    for (from, exit) in edges(machine) {
        let position = |name: &str| machine.states.get_index_of(name);
        let (Some(from), Some(to)) = (from.map_or(Some(any), position), position(exit.target)) else {
            continue;
        };
        let text = clip(&label(&exit));
        let failure = nodes[to].classes.contains(&"failure") && exit.kind != ExitKind::Interrupt;
        if from == to {
            nodes[from].notes.push(format!("{text} ↻"));
        } else if failure && !exit.needs_approval() {
            nodes[from].notes.push(clip(&format!("{text} → {}", exit.target)));
        } else {
            lines.push(Line { from, to, text, class: class(&exit) });
        }
    }
    for (at, node) in nodes.iter_mut().enumerate() {
        let out = lines.iter().filter(|line| line.from == at).count();
        let into = lines.iter().filter(|line| line.to == at).count();
        node.size(out.max(into));
    }
    (nodes, lines)
}

fn node<'m>(
    name: &'m str,
    classes: Vec<&'static str>,
    is_final: bool,
    level: &'static str,
    notes: Vec<String>,
    tip: String,
) -> Node<'m> {
    Node { name, classes, is_final, level, notes, tip, layer: 0, x: 0.0, y: 0.0, width: 0.0, height: 0.0 }
}

fn returns(way: &Transition) -> bool {
    match way {
        Transition::To(edge) => edge.target == Target::Return,
        Transition::Branches(edges) => edges.iter().any(|edge| edge.target == Target::Return),
        Transition::Fork(_) | Transition::Invoke(_) => false,
    }
}

fn class(exit: &Exit<'_>) -> &'static str {
    match exit.kind {
        ExitKind::Interrupt => "interrupt",
        _ if exit.needs_approval() => "approval",
        kind if is_dotted(kind) => "quiet",
        _ => "plain",
    }
}

/// Gives each node a layer and each layer an order; returns the layers.
fn arrange(machine: &Machine, nodes: &mut [Node<'_>], lines: &[Line]) -> Vec<Vec<usize>> {
    let count = nodes.len();
    let next = |at: usize| lines.iter().filter(move |line| line.from == at).map(|line| line.to);
    // Depth first from the initial state: an edge back to a state on the way is left out, the rest has no cycle.
    let mut down: Vec<Vec<usize>> = vec![Vec::new(); count];
    let (mut mark, mut order) = (vec![0_u8; count], Vec::new());
    let initial = machine.states.get_index_of(&machine.initial).unwrap_or(0);
    for root in std::iter::once(initial).chain(0..count) {
        if mark[root] != 0 {
            continue;
        }
        let mut stack = vec![(root, next(root).collect::<Vec<_>>(), 0)];
        mark[root] = 1;
        while let Some((at, targets, done)) = stack.last_mut() {
            if let Some(target) = targets.get(*done).copied() {
                *done += 1;
                if mark[target] != 1 {
                    down[*at].push(target);
                }
                if mark[target] == 0 {
                    mark[target] = 1;
                    stack.push((target, next(target).collect(), 0));
                }
            } else {
                mark[*at] = 2;
                order.push(*at);
                stack.pop();
            }
        }
    }
    for at in order.into_iter().rev() {
        for target in down[at].clone() {
            nodes[target].layer = nodes[target].layer.max(nodes[at].layer + 1);
        }
    }
    // The failure states, whose edges are not drawn, stand at the end.
    let last = nodes.iter().map(|node| node.layer).max().unwrap_or(0);
    for node in nodes.iter_mut().filter(|node| node.classes.contains(&"failure")) {
        node.layer = last;
    }
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    for (at, node) in nodes.iter().enumerate() {
        layers[node.layer].push(at);
    }
    for sweep in 0..6 {
        let mut place = vec![0.0; count];
        for layer in &layers {
            for (position, at) in layer.iter().enumerate() {
                place[*at] = (position as f64 + 0.5) / layer.len() as f64;
            }
        }
        for layer in &mut layers {
            let centre = |at: &usize| {
                let near = lines.iter().filter_map(|line| match sweep % 2 {
                    0 if line.to == *at => Some(line.from),
                    1 if line.from == *at => Some(line.to),
                    _ => None,
                });
                let (sum, many) = near.fold((0.0, 0.0), |(sum, many), one| (sum + place[one], many + 1.0));
                if many > 0.0 { sum / many } else { place[*at] }
            };
            let keys: BTreeMap<usize, f64> = layer.iter().map(|at| (*at, centre(at))).collect();
            layer.sort_by(|left, right| keys[left].total_cmp(&keys[right]));
        }
    }
    layers
}

/// A horizontal piece of an edge in the gap above a layer.
struct Piece {
    gap: usize,
    start: f64,
    end: f64,
    track: usize,
}

/// How an edge runs: its ports, its pieces, its lane.
struct Route {
    out: f64,
    into: f64,
    first: usize,
    around: Option<(f64, usize)>,
}

/// The x of the `which`th of `many` ports.
fn port(node: &Node<'_>, which: usize, many: usize) -> f64 {
    node.x - node.width / 2.0 + node.width * (which + 1) as f64 / (many + 1) as f64
}

fn draw(machine: &Machine, mut nodes: Vec<Node<'_>>, lines: &[Line], layers: &[Vec<usize>]) -> String {
    let inner = layers
        .iter()
        .map(|layer| layer.iter().map(|at| nodes[*at].width + BETWEEN).sum::<f64>())
        .fold(0.0, f64::max);
    // Lanes: those that lead back on the right, those that skip layers on the left, one a target.
    let layer_of: Vec<usize> = nodes.iter().map(|node| node.layer).collect();
    let is_near = |line: &Line| layer_of[line.to] == layer_of[line.from] + 1;
    let is_back = |line: &Line| layer_of[line.to] <= layer_of[line.from];
    let (mut left, mut right): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for line in lines.iter().filter(|line| !is_near(line)) {
        let side = if is_back(line) { &mut right } else { &mut left };
        if !side.contains(&line.to) {
            side.push(line.to);
        }
    }
    let margin = 24.0;
    let begin = margin + left.len() as f64 * LANE;
    for layer in layers {
        let width: f64 = layer.iter().map(|at| nodes[*at].width + BETWEEN).sum();
        let mut x = begin + (inner - width) / 2.0;
        for at in layer {
            nodes[*at].x = x + (nodes[*at].width + BETWEEN) / 2.0;
            x += nodes[*at].width + BETWEEN;
        }
    }
    let lane = |line: &Line| {
        let at = |side: &[usize]| side.iter().position(|to| *to == line.to).unwrap_or(0) as f64;
        if is_back(line) {
            begin + inner + (at(&right) + 0.5) * LANE
        } else {
            begin - (at(&left) + 0.5) * LANE
        }
    };
    let (mut pieces, routes) = route(&nodes, lines, lane);
    let tracks = pack(&mut pieces, layers.len() + 1);
    let mut y = margin;
    let mut gaps = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        gaps.push(y);
        y += tracks[at] as f64 * TRACK + 26.0;
        for node in layer {
            nodes[*node].y = y;
        }
        y += layer.iter().map(|at| nodes[*at].height).fold(0.0, f64::max);
    }
    gaps.push(y);
    let height = y + tracks[layers.len()] as f64 * TRACK + 22.0;
    let texts = pieces.iter().map(|piece| piece.end).fold(0.0, f64::max);
    let width = (begin + inner + right.len() as f64 * LANE + margin).max(texts + margin);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
        escape(&machine.id)
    );
    out.push_str("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#57606a\"/></marker></defs>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    let mut labels = String::new();
    let level = |piece: &Piece| gaps[piece.gap] + 18.0 + piece.track as f64 * TRACK;
    for (line, route) in lines.iter().zip(&routes) {
        let (from, to) = (&nodes[line.from], &nodes[line.to]);
        let first = level(&pieces[route.first]);
        let bottom = from.y + from.height;
        let path = match route.around {
            None => format!("M{:.1} {bottom:.1}V{first:.1}H{:.1}V{:.1}", route.out, route.into, to.y),
            Some((lane, last)) => format!(
                "M{:.1} {bottom:.1}V{first:.1}H{lane:.1}V{:.1}H{:.1}V{:.1}",
                route.out,
                level(&pieces[last]),
                route.into,
                to.y
            ),
        };
        let class = line.class;
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><path class=\"edge\" d=\"{path}\" marker-end=\"url(#tip)\"/></g>"
        );
        // Above every line, so that its halo keeps it readable.
        let _ = writeln!(
            labels,
            "<g class=\"{class}\"><text class=\"event\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            route.out + 5.0,
            first - 4.0,
            escape(&line.text)
        );
    }
    out.push_str(&labels);
    for (at, node) in nodes.iter().enumerate() {
        let initial = machine.states.get_index_of(&machine.initial) == Some(at);
        let _ = out.write_str(&boxed(node, initial));
    }
    out.push_str("</svg>\n");
    out
}

/// Ports and pieces of every edge.
fn route(nodes: &[Node<'_>], lines: &[Line], lane: impl Fn(&Line) -> f64) -> (Vec<Piece>, Vec<Route>) {
    let near = |line: &Line| nodes[line.to].layer == nodes[line.from].layer + 1;
    let (mut pieces, mut routes): (Vec<Piece>, Vec<Route>) = (Vec::new(), Vec::new());
    // Edges that come to a state by the same lane share its last piece and port.
    let mut shared: BTreeMap<(usize, bool), (f64, usize)> = BTreeMap::new();
    let mut ordered: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut arriving: Vec<Vec<(f64, usize)>> = vec![Vec::new(); nodes.len()];
    for (at, line) in lines.iter().enumerate() {
        ordered[line.from].push(at);
        if near(line) {
            arriving[line.to].push((nodes[line.from].x, at));
        }
    }
    let toward = |at: &usize| if near(&lines[*at]) { nodes[lines[*at].to].x } else { lane(&lines[*at]) };
    for list in &mut ordered {
        list.sort_by(|left, right| toward(left).total_cmp(&toward(right)));
    }
    for list in &mut arriving {
        list.sort_by(|left, right| left.0.total_cmp(&right.0));
    }
    let lanes_of = |to: usize| {
        let mut sides: Vec<bool> = lines
            .iter()
            .filter(|line| line.to == to && !near(line))
            .map(|line| lane(line) > nodes[to].x)
            .collect();
        sides.sort_unstable();
        sides.dedup();
        sides
    };
    for (at, line) in lines.iter().enumerate() {
        let (from, to) = (&nodes[line.from], &nodes[line.to]);
        let which = ordered[line.from].iter().position(|one| *one == at).unwrap_or(0);
        let out = port(from, which, ordered[line.from].len());
        let sides = lanes_of(line.to);
        let before = usize::from(sides.first() == Some(&false));
        let many = arriving[line.to].len() + sides.len();
        let text = out + 5.0 + line.text.chars().count() as f64 * NARROW;
        if near(line) {
            let which = arriving[line.to].iter().position(|one| one.1 == at).unwrap_or(0);
            let into = port(to, before + which, many);
            let (start, end) = (out.min(into), out.max(into).max(text));
            pieces.push(Piece { gap: to.layer, start, end, track: 0 });
            routes.push(Route { out, into, first: pieces.len() - 1, around: None });
            continue;
        }
        let lane = lane(line);
        let right = lane > to.x;
        pieces.push(Piece {
            gap: from.layer + 1,
            start: out.min(lane),
            end: out.max(lane).max(text),
            track: 0,
        });
        let first = pieces.len() - 1;
        let (into, last) = *shared.entry((line.to, right)).or_insert_with(|| {
            let into = port(to, if right { many - 1 } else { 0 }, many);
            pieces.push(Piece { gap: to.layer, start: into.min(lane), end: into.max(lane), track: 0 });
            (into, pieces.len() - 1)
        });
        routes.push(Route { out, into, first, around: Some((lane, last)) });
    }
    (pieces, routes)
}

/// Gives each piece a track of its gap in which it meets no other; returns the tracks of each gap.
fn pack(pieces: &mut [Piece], gaps: usize) -> Vec<usize> {
    let mut tracks = vec![0; gaps];
    for (gap, used) in tracks.iter_mut().enumerate() {
        let mut ends: Vec<f64> = Vec::new();
        let mut order: Vec<usize> = (0..pieces.len()).filter(|at| pieces[*at].gap == gap).collect();
        order.sort_by(|left, right| pieces[*left].start.total_cmp(&pieces[*right].start));
        for at in order {
            let (start, end) = (pieces[at].start, pieces[at].end);
            let track = ends.iter().position(|last| *last + 12.0 < start).unwrap_or(ends.len());
            if track == ends.len() {
                ends.push(end);
            } else {
                ends[track] = end;
            }
            pieces[at].track = track;
        }
        *used = ends.len();
    }
    tracks
}

fn boxed(node: &Node<'_>, initial: bool) -> String {
    let (left, top) = (node.x - node.width / 2.0, node.y);
    let mut out = format!(
        "<g class=\"{}\"><title>{}: {}</title>",
        node.classes.join(" "),
        escape(node.name),
        escape(&node.tip)
    );
    if initial {
        let (x, y) = (left + 8.0, top - 12.0);
        let _ = write!(
            out,
            "<circle class=\"start\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/><path class=\"edge\" d=\"M{x:.1} {y:.1}V{top:.1}\" marker-end=\"url(#tip)\"/>"
        );
    }
    let (width, height) = (node.width, node.height);
    let _ = write!(
        out,
        "<rect class=\"box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\"/>"
    );
    if node.is_final {
        let _ = write!(
            out,
            "<rect class=\"inner\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
            left + 3.0,
            top + 3.0,
            width - 6.0,
            height - 6.0
        );
    }
    let mut y = top + 18.0;
    let _ = write!(
        out,
        "<text class=\"name\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
        node.x,
        escape(&clip(node.name))
    );
    let level = (!node.level.is_empty()).then(|| node.level.to_owned());
    for note in level.iter().chain(&node.notes) {
        y += LINE;
        let _ = write!(
            out,
            "<text class=\"note\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            node.x,
            escape(note)
        );
    }
    out.push_str("</g>\n");
    out
}

/// Text for XML; what XML cannot hold is replaced.
fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests;
