//! The tree: which word belongs to which command, as tree-sitter reads the skeleton.
//!
//! Danger: the grammar is slow on some inputs, so parsing has a step limit; the walk is a cursor, never recursion.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

use super::limits;

/// What the tree says of a skeleton.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// Start of each word of a command and the number of its command node, in order of start.
    pub(super) words: Vec<(u32, u32)>,
    /// Start and end of each substitution, in order of start.
    pub(super) substitutions: Vec<(u32, u32)>,
    /// Where the tree has an error or misses something.
    pub(super) error: Option<usize>,
    /// A node of a kind that is not understood.
    pub(super) unknown_kind: Option<usize>,
    /// Something other than blanks between two words of a command.
    pub(super) odd_gap: Option<usize>,
}

/// How a kind of node is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Neutral,
    Command,
    Substitution,
    Assignment,
    Redirect,
}

const NEUTRAL: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "do_group",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "case_statement",
    "case_item",
    "function_definition",
    "redirected_statement",
    "command_name",
    "variable_assignments",
    "variable_name",
    "word",
    "extglob_pattern",
    "concatenation",
];

fn kinds(language: &Language) -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        (0..count)
            .map(|id| match language.node_kind_for_id(id).unwrap_or("") {
                _ if !language.node_kind_is_named(id) => Kind::Unknown,
                "command" => Kind::Command,
                "command_substitution" | "process_substitution" => Kind::Substitution,
                "variable_assignment" => Kind::Assignment,
                "file_redirect" => Kind::Redirect,
                name if NEUTRAL.contains(&name) => Kind::Neutral,
                _ => Kind::Unknown,
            })
            .collect()
    })
}

/// A parser with its grammar, for the skeletons of one script.
pub(super) struct Reader {
    parser: Parser,
    kinds: &'static [Kind],
    max_steps: usize,
}

impl Reader {
    /// A reader; none if the grammar does not fit the library, which a test rules out.
    pub(super) fn new() -> Option<Self> {
        let language = tree_sitter_bash::LANGUAGE.into();
        let kinds = kinds(&language);
        let mut parser = Parser::new();
        parser.set_language(&language).ok()?;
        Some(Self { parser, kinds, max_steps: limits::MAX_PARSE_STEPS })
    }

    /// The structure of a skeleton; none when the parser took too many steps.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<Structure> {
        let (mut steps, max_steps) = (0_usize, self.max_steps);
        let mut progress = |_: &ParseState| {
            steps += 1;
            steps > max_steps
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree =
            self.parser.parse_with_options(&mut |at, _| text.get(at..).unwrap_or(&[]), None, Some(options));
        let Some(tree) = tree else {
            self.parser.reset();
            return None;
        };
        Some(walk(&tree, text, self.kinds))
    }
}

/// A command node that is open in the walk.
struct Open {
    number: u32,
    depth: u32,
    /// Where its last word ends so far.
    end: usize,
    /// A child was seen.
    started: bool,
}

fn walk(tree: &Tree, text: &[u8], kinds: &[Kind]) -> Structure {
    let mut structure = Structure::default();
    let root = tree.root_node();
    if root.has_error() {
        structure.error = Some(first_error(root));
    }
    let mut cursor = tree.walk();
    let mut open: Vec<Open> = Vec::new();
    let mut commands = 0;
    let mut depth = 0_u32;
    loop {
        let node = cursor.node();
        let kind = kinds.get(usize::from(node.kind_id())).copied().unwrap_or(Kind::Unknown);
        if node.is_named() {
            if let Some(command) = open.last_mut()
                && command.depth + 1 == depth
            {
                child(&mut structure, command, node, kind, text);
            }
            match kind {
                Kind::Unknown => {
                    structure.unknown_kind.get_or_insert(node.start_byte());
                }
                Kind::Substitution => {
                    structure.substitutions.push((offset(node.start_byte()), offset(node.end_byte())));
                }
                Kind::Command => {
                    open.push(Open { number: commands, depth, end: node.start_byte(), started: false });
                    commands += 1;
                }
                Kind::Neutral | Kind::Assignment | Kind::Redirect => {}
            }
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        if advance(&mut cursor, &mut open, &mut depth).is_break() {
            return structure;
        }
    }
}

/// To the next node that is no descendant; closes commands that are left.
fn advance(
    cursor: &mut tree_sitter::TreeCursor<'_>,
    open: &mut Vec<Open>,
    depth: &mut u32,
) -> ControlFlow<()> {
    loop {
        if open.last().is_some_and(|command| command.depth == *depth) {
            open.pop();
        }
        if cursor.goto_next_sibling() {
            return ControlFlow::Continue(());
        }
        if !cursor.goto_parent() {
            return ControlFlow::Break(());
        }
        *depth -= 1;
    }
}

/// A direct child of a command: part of a word, or an assignment.
fn child(structure: &mut Structure, command: &mut Open, node: Node<'_>, kind: Kind, text: &[u8]) {
    let (start, end) = (node.start_byte(), node.end_byte());
    let gap = text.get(command.end..start).unwrap_or(&[]);
    if gap.iter().any(|byte| *byte != b' ') || kind == Kind::Redirect {
        structure.odd_gap.get_or_insert(start);
    }
    // parts that touch are one word
    let begins = !gap.is_empty() || !command.started;
    if kind != Kind::Assignment && begins {
        structure.words.push((offset(start), command.number));
    }
    command.started = true;
    command.end = end;
}

fn first_error(root: Node<'_>) -> usize {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return node.start_byte();
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return root.start_byte();
            }
        }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(text: &str) -> bool {
        Reader::new().unwrap().read(text.as_bytes()).is_some()
    }

    #[test]
    fn all_that_the_other_limits_let_pass_is_read() {
        for text in [
            "www ".repeat(limits::MAX_WORDS),
            "www | ".repeat(limits::MAX_SEGMENTS - 1) + "www",
            "www && ".repeat(limits::MAX_SEGMENTS - 1) + "www",
            "www$(www) ".repeat(limits::MAX_SEGMENTS - 1),
            "x=w ".repeat(limits::MAX_WORDS),
        ] {
            assert!(is_read(&text), "{}", &text[..40]);
        }
    }

    #[test]
    fn what_is_slow_is_cut_off() {
        let mut reader = Reader::new().unwrap();
        reader.max_steps = 100;
        assert!(reader.read("www() ".repeat(2_000).as_bytes()).is_none());
        // and the parser is usable afterwards
        assert!(reader.read(b"www www").is_some_and(|structure| structure.error.is_none()));
    }

    #[test]
    fn words_belong_to_their_commands() {
        let structure = Reader::new().unwrap().read(b"x=w www www$(www www)<(www) www | www").unwrap();
        let words: Vec<_> = structure.words.iter().map(|(start, command)| (*start, *command)).collect();
        assert_eq!(words, [(4, 0), (8, 0), (13, 1), (17, 1), (23, 2), (28, 0), (34, 3)]);
        assert_eq!(structure.substitutions, [(11, 21), (21, 27)]);
    }
}
