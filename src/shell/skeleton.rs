//! The skeleton: what tree-sitter gets to see of a script.
//!
//! Every word is `www`, every assignment `x=w`; redirects, comments, newlines and continuations are gone; only
//! substitutions, keywords and operators remain. So the grammar cannot misread a word, and its tree says which
//! word belongs to which command and how commands nest.
//! Danger: two words that touch become one. [`Skeleton::token`] therefore always separates.

/// Stands for one word; three bytes wide so that it can become an assignment in place.
const WORD: &[u8; 3] = b"www";
/// Stands for an assignment.
const ASSIGNMENT: &[u8; 3] = b"x=w";

/// One text for the tree: the script itself, or the substitutions of one heredoc body.
#[derive(Debug, Default)]
pub(super) struct Skeleton {
    pub(super) text: Vec<u8>,
    /// Where each word of a command starts, with the index of the command, in order.
    pub(super) marks: Vec<(u32, u32)>,
    /// Start and end of each substitution, in order of start.
    pub(super) substitutions: Vec<(u32, u32)>,
}

/// What a skeleton held before a word was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpoint {
    text: usize,
    marks: usize,
    substitutions: usize,
}

impl Skeleton {
    fn offset(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// Emits a keyword or operator, with a blank in front.
    pub(super) fn token(&mut self, token: &[u8]) {
        if self.text.last().is_some_and(|last| *last != b' ') {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(token);
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { text: self.text.len(), marks: self.marks.len(), substitutions: self.substitutions.len() }
    }

    /// Starts a word; substitutions that are emitted before the next token belong to it.
    pub(super) fn begin_word(&mut self) -> Checkpoint {
        let before = self.checkpoint();
        self.token(WORD);
        before
    }

    /// Whether anything but the word's own stand-in was emitted since.
    pub(super) fn has_substitution(&self, since: Checkpoint) -> bool {
        self.substitutions.len() > since.substitutions
    }

    /// Takes back all that was emitted since; only right when it held no substitution.
    pub(super) fn discard(&mut self, since: Checkpoint) {
        self.text.truncate(since.text);
    }

    /// Turns the word that was begun at the checkpoint into an assignment.
    pub(super) fn make_assignment(&mut self, since: Checkpoint) {
        let start = self.word_start(since);
        if let Some(head) = self.text.get_mut(start..start + WORD.len()) {
            head.copy_from_slice(ASSIGNMENT);
        }
    }

    /// Says that the word that was begun at the checkpoint belongs to `command`.
    pub(super) fn mark(&mut self, since: Checkpoint, command: u32) {
        let start = u32::try_from(self.word_start(since)).unwrap_or(u32::MAX);
        self.marks.insert(since.marks.min(self.marks.len()), (start, command));
    }

    fn word_start(&self, since: Checkpoint) -> usize {
        match self.text.get(since.text) {
            Some(b' ') => since.text + 1,
            _ => since.text,
        }
    }

    /// Opens a substitution, glued to what stands before it.
    pub(super) fn open(&mut self, opener: &[u8]) -> usize {
        let start = self.offset();
        self.substitutions.push((start, start));
        self.text.extend_from_slice(opener);
        self.substitutions.len() - 1
    }

    /// Closes the substitution with that index.
    pub(super) fn close(&mut self, index: usize, opener: usize) {
        let start = self.substitutions.get(index).map_or(0, |span| span.0 as usize);
        if self.text.len() == start + opener {
            self.text.extend_from_slice(ASSIGNMENT);
        }
        self.text.push(b')');
        let end = self.offset();
        if let Some(span) = self.substitutions.get_mut(index) {
            span.1 = end;
        }
    }
}
