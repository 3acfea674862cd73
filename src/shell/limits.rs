//! Bounds on what is read at all.
//!
//! Danger: a bound that is skipped hides commands, so each one makes the script untrusted. All are far above what
//! real commands need (largest of 11,598 agent and human commands: 130 words, 53 segments, 9 substitutions) and are
//! counted in the lexer, which is linear, before the tree is built, which may not be.

/// Longest source text.
pub(super) const MAX_BYTES: usize = 64 * 1024;
/// Most words in a script.
pub(super) const MAX_WORDS: usize = 4_000;
/// Most expansions in a script: looking one up is linear in those of its word.
pub(super) const MAX_EXPANSIONS: usize = 4_000;
/// Most simple commands in a script.
pub(super) const MAX_SEGMENTS: usize = 1_500;
/// Deepest nesting of substitutions, subshells and parameter expansions: the only recursion of the lexer.
pub(super) const MAX_NESTING: usize = 64;
/// Deepest nesting of compound commands in one list.
pub(super) const MAX_COMPOUNDS: usize = 200;
/// Most words that one word may become by brace expansion.
pub(super) const MAX_BRACE_WORDS: usize = 1_024;
/// Most bytes of a skeleton.
pub(super) const MAX_SKELETON: usize = 96 * 1024;
/// Parser steps before the tree is given up: progress callbacks, one each hundred parser operations.
///
/// A count and not a clock: the same text must get the same verdict on a loaded machine. The longest skeletons that
/// the other limits let pass take 480.
pub(super) const MAX_PARSE_STEPS: usize = 1_000;
/// Most bytes that the lexer reads ahead in all, looking for the end of arithmetic or of a subscript.
pub(super) const MAX_LOOK_AHEAD: usize = 8 * MAX_BYTES;
