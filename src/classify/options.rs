//! Option reading: a command's words to given options and operands, as its row says the program reads them.
//!
//! Danger: an option taken for an operand (or a value for an option) hides its effect. Where the row does not know an
//! option, the row's [`Unknown`] answer holds, never silence.

use std::borrow::Cow;

use crate::shell::{Arg, Piece, Span, Value};

use super::spec::{CommandSpec, OptionSpec, Style, Takes, Traits, Unknown};

/// A word, or the rest of one after an attached option name (`f` of `-of`).
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    arg: &'a Arg,
    skip: usize,
}

impl<'a> Word<'a> {
    /// The whole word.
    pub const fn whole(arg: &'a Arg) -> Self {
        Self { arg, skip: 0 }
    }

    /// The word without the first `skip` bytes of its known text.
    pub const fn after(arg: &'a Arg, skip: usize) -> Self {
        Self { arg, skip }
    }

    /// Whether nothing of the word is left out.
    pub const fn is_whole(self) -> bool {
        self.skip == 0
    }

    /// This word without `more` further bytes.
    pub const fn tail(self, more: usize) -> Self {
        Self { arg: self.arg, skip: self.skip + more }
    }

    /// The text, when all of it is known.
    pub fn text(self) -> Option<&'a str> {
        self.arg.value.literal().and_then(|text| text.get(self.skip..))
    }

    /// The value, as of a word of its own.
    pub fn value(self) -> Value {
        match &self.arg.value {
            Value::Literal(text) => Value::Literal(text.get(self.skip..).unwrap_or("").to_owned()),
            Value::Partial(pieces) => {
                let mut rest = pieces.clone();
                match rest.first_mut() {
                    Some(Piece::Known(text)) if text.len() == self.skip => {
                        rest.remove(0);
                    }
                    Some(Piece::Known(text)) => text.replace_range(..self.skip.min(text.len()), ""),
                    _ => {}
                }
                Value::Partial(rest)
            }
            Value::Unknown { splits } => Value::Unknown { splits: *splits },
        }
    }

    /// The text as a script in a language where one number is as good as another (sed, awk): known text, and a number for
    /// each that arithmetic will give.
    pub fn numbered(self) -> Option<Cow<'a, str>> {
        let Value::Partial(pieces) = &self.arg.value else { return self.text().map(Cow::Borrowed) };
        let mut whole = String::new();
        for piece in pieces {
            match piece {
                Piece::Known(text) => whole.push_str(text),
                Piece::Number => whole.push('1'),
                Piece::Glob(_) | Piece::Home | Piece::Unknown { .. } => return None,
            }
        }
        whole.get(self.skip..).map(|text| Cow::Owned(text.to_owned()))
    }

    /// The text that the word surely begins with.
    pub fn known_prefix(self) -> &'a str {
        self.arg.value.known_prefix().get(self.skip..).unwrap_or("")
    }

    /// The text as a path: known text, globs as written and `~` for HOME, when nothing else is in it. A quoted `~` is `./~`.
    pub fn pattern(self) -> Option<String> {
        match &self.arg.value {
            Value::Literal(text) => {
                let text = text.get(self.skip..)?;
                Some(if text.starts_with('~') { format!("./{text}") } else { text.to_owned() })
            }
            Value::Partial(pieces) => {
                let mut whole = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Known(text) | Piece::Glob(text) => whole.push_str(text),
                        Piece::Home => whole.push('~'),
                        Piece::Number | Piece::Unknown { .. } => return None,
                    }
                }
                whole.get(self.skip..).map(str::to_owned)
            }
            Value::Unknown { .. } => None,
        }
    }

    /// Appends the text as code for a shell: `home` for HOME, `"$1"` for what is unknown. False when something was unknown.
    pub fn append_code(self, home: &str, code: &mut String) -> bool {
        let pieces = match &self.arg.value {
            Value::Literal(text) => {
                code.push_str(text.get(self.skip..).unwrap_or(""));
                return true;
            }
            Value::Partial(pieces) => &pieces[..],
            Value::Unknown { .. } => &[Piece::Unknown { splits: true }],
        };
        let mut is_known = true;
        for (index, piece) in pieces.iter().enumerate() {
            let skip = if index == 0 { self.skip } else { 0 };
            match piece {
                Piece::Known(text) | Piece::Glob(text) => code.push_str(text.get(skip..).unwrap_or("")),
                Piece::Home => code.push_str(home),
                Piece::Number | Piece::Unknown { .. } => {
                    code.push_str("\"$1\"");
                    is_known = false;
                }
            }
        }
        is_known
    }

    /// Whether the word may become several words or none.
    pub fn may_split(self) -> bool {
        self.arg.value.may_split()
    }

    /// Whether part of the text is only known at run time (a glob is not).
    pub fn is_dynamic(self) -> bool {
        match &self.arg.value {
            Value::Literal(_) => false,
            Value::Partial(pieces) => {
                pieces.iter().any(|piece| matches!(piece, Piece::Number | Piece::Unknown { .. }))
            }
            Value::Unknown { .. } => true,
        }
    }

    /// The word in the source.
    pub const fn span(self) -> Span {
        self.arg.span
    }

    /// The argument it is (part of).
    pub const fn arg(self) -> &'a Arg {
        self.arg
    }
}

/// `arg` with `mark` standing for text that only run time will tell.
pub fn with_unknown(arg: &Arg, mark: &str) -> Arg {
    let Some(text) = arg.value.literal() else { return arg.clone() };
    if !text.contains(mark) {
        return arg.clone();
    }
    let mut pieces = Vec::new();
    for (index, part) in text.split(mark).enumerate() {
        if index > 0 {
            pieces.push(Piece::Unknown { splits: false });
        }
        if !part.is_empty() {
            pieces.push(Piece::Known(part.to_owned()));
        }
    }
    let value = if pieces.len() == 1 { Value::Unknown { splits: false } } else { Value::Partial(pieces) };
    Arg { value, span: arg.span }
}

/// An option with an effect, as given.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// What the row says of it.
    pub option: &'a OptionSpec<'a>,
    /// Its value, when it takes one.
    pub value: Option<Word<'a>>,
    /// Where it stands (index into [`Call::words`]).
    pub index: usize,
    /// Whether the name was abbreviated or may mean another option too: it never drops classes.
    pub doubtful: bool,
}

/// A command's words, read as its row says.
#[derive(Debug)]
pub struct Call<'a> {
    /// The row.
    pub spec: &'a CommandSpec<'a>,
    /// The program or subcommand as called.
    pub name: Word<'a>,
    /// Every word after the program's (or subcommand's) name.
    pub words: &'a [Arg],
    /// The options with an effect, in order.
    pub given: Vec<Given<'a>>,
    /// The operands, in order.
    pub operands: Vec<Word<'a>>,
    /// Where the first operand stands in `words`, or their number.
    pub first_operand: usize,
    /// An option that the row does not list.
    pub unknown: Option<Word<'a>>,
    /// `--help`, `--version` or an option marked so.
    pub info: bool,
    /// Standard input comes from a pipe, file or heredoc.
    pub fed: bool,
}

impl<'a> Call<'a> {
    /// Whether the option with this letter or long name was given.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The value of the last option with this letter or long name.
    pub fn value(&self, name: &str) -> Option<Word<'a>> {
        self.find(name).and_then(|given| given.value)
    }

    /// The options with this letter or long name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Given<'a>> {
        self.given.iter().filter(move |given| is_named(given.option, name))
    }

    /// The literal text of an operand.
    pub fn operand(&self, index: usize) -> Option<&'a str> {
        self.operands.get(index).and_then(|word| word.text())
    }

    fn find(&self, name: &str) -> Option<&Given<'a>> {
        self.given.iter().rfind(|given| is_named(given.option, name))
    }
}

fn is_named(option: &OptionSpec<'_>, name: &str) -> bool {
    option.long == name || (name.len() == 1 && option.short.contains(name))
}

/// Reads `words` (all that follows `name`) by `spec`; `parents` are the rows above a subcommand, whose options count too
/// where they are [`GLOBAL`](Traits::GLOBAL). `until_operand` ends at the first operand (to find a subcommand).
pub fn read<'a>(
    spec: &'a CommandSpec<'a>,
    parents: &[&'a CommandSpec<'a>],
    name: Word<'a>,
    words: &'a [Arg],
    until_operand: bool,
) -> Call<'a> {
    let mut call = Call {
        spec,
        name,
        words,
        given: Vec::new(),
        operands: Vec::new(),
        first_operand: words.len(),
        unknown: None,
        info: false,
        fed: false,
    };
    Reader { spec, parents, call: &mut call, until_operand: until_operand || spec.traits.has(Traits::POSIX) }
        .run();
    call
}

struct Reader<'r, 'a> {
    spec: &'a CommandSpec<'a>,
    parents: &'r [&'a CommandSpec<'a>],
    call: &'r mut Call<'a>,
    until_operand: bool,
}

/// What a row knows of an option name.
enum Known<'a> {
    Plain,
    Valued,
    Effect(&'a OptionSpec<'a>),
}

impl<'a> Reader<'_, 'a> {
    fn run(&mut self) {
        let words = self.call.words;
        let mut index = 0;
        let mut after_unknown = false;
        while index < words.len() {
            let word = Word::whole(&words[index]);
            let prefix = word.known_prefix();
            let is_option = self.spec.style != Style::Raw && prefix.len() > 1 && prefix.starts_with('-');
            let is_number = self.spec.traits.has(Traits::NUMERIC) && is_number(prefix);
            let is_plus = self.spec.traits.has(Traits::PLUS) && prefix.len() > 1 && prefix.starts_with('+');
            if is_number || is_plus {
                after_unknown = false;
                index += 1;
                if is_plus && prefix.contains(['o', 'O']) {
                    index += 1;
                }
                continue;
            }
            if !is_option {
                self.operand(index);
                after_unknown = false;
                let resumes = self.spec.traits.has(Traits::RESUMES) && self.call.operands.len() == 1;
                if self.until_operand && !resumes {
                    for rest in index + 1..words.len() {
                        self.operand(rest);
                    }
                    return;
                }
                index += 1;
                continue;
            }
            if word.text() == Some("--") {
                for rest in index + 1..words.len() {
                    self.operand(rest);
                }
                return;
            }
            let unknown_before = self.call.unknown.is_some();
            index += 1;
            index += match self.spec.style {
                Style::Gnu if prefix.starts_with("--") => self.long(word, 2, index, after_unknown),
                Style::Gnu => self.cluster(word, index),
                Style::Single => {
                    let dashes = if prefix.starts_with("--") { 2 } else { 1 };
                    self.long(word, dashes, index, after_unknown)
                }
                Style::Raw => 0,
            };
            after_unknown = !unknown_before && self.call.unknown.is_some();
            if self.call.given.last().is_some_and(|given| given.option.traits.has(Traits::ENDS)) {
                for rest in index..words.len() {
                    self.operand(rest);
                }
                return;
            }
        }
    }

    fn operand(&mut self, index: usize) {
        self.call.first_operand = self.call.first_operand.min(index);
        self.call.operands.push(Word::whole(&self.call.words[index]));
    }

    /// Reads a long option; returns how many of the following words it takes.
    fn long(&mut self, word: Word<'a>, dashes: usize, next: usize, after_unknown: bool) -> usize {
        let whole = word.known_prefix();
        let body = &whole[dashes..];
        let (name, attached) = match body.find('=') {
            Some(at) => (&body[..at], Some(word.tail(dashes + at + 1))),
            None => (body, None),
        };
        if attached.is_none() && word.is_dynamic() {
            // `--out$x`: any option that begins so.
            self.call.unknown = Some(word);
            return 0;
        }
        if let Some(known) = self.lookup_long(name) {
            return self.take(&known, attached, next, false);
        }
        if !self.spec.traits.has(Traits::NO_INFO) && matches!(name, "help" | "version") {
            // After an option of unknown arity it may be that option's value.
            self.call.info |= !after_unknown && self.may_ask();
            return 0;
        }
        let abbreviates = !self.spec.traits.has(Traits::EXACT) && self.spec.style == Style::Gnu;
        if abbreviates && let Some(taken) = self.abbreviated(name, attached, next) {
            return taken;
        }
        self.call.unknown = Some(word);
        0
    }

    /// Takes every option that `name` abbreviates; several candidates count together.
    fn abbreviated(&mut self, name: &str, attached: Option<Word<'a>>, next: usize) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        let mut taken = None;
        let rows = std::iter::once(self.spec).chain(self.parents.iter().copied());
        for row in rows {
            if !std::ptr::eq(row, self.spec) && !row.traits.has(Traits::GLOBAL) {
                continue;
            }
            for option in row.options {
                if !option.long.is_empty() && option.long.starts_with(name) {
                    let words = self.take(&Known::Effect(option), attached, next, true);
                    taken = Some(taken.unwrap_or(0).max(words));
                }
            }
            if row.long_values.iter().any(|long| long.starts_with(name)) {
                let words = self.take(&Known::Valued, attached, next, true);
                taken = Some(taken.unwrap_or(0).max(words));
            }
            if row.longs.iter().any(|long| long.starts_with(name)) {
                taken = Some(taken.unwrap_or(0));
            }
        }
        taken
    }

    /// Reads a cluster of short options; returns how many of the following words it takes.
    fn cluster(&mut self, word: Word<'a>, next: usize) -> usize {
        let prefix = word.known_prefix();
        let mut doubtful = false;
        for (at, letter) in prefix.char_indices().skip(1) {
            let after = at + letter.len_utf8();
            let rest = (after < prefix.len() || word.is_dynamic()).then(|| word.tail(after));
            match self.lookup_short(letter) {
                Some(Known::Plain) => {}
                Some(Known::Valued) => return usize::from(rest.is_none()),
                Some(Known::Effect(option)) if option.takes == Takes::Nothing => {
                    // Help stands alone: inside a cluster the letter may be part of a word that the row does not know.
                    let is_alone = prefix.chars().count() == 2;
                    self.give(option, None, next, doubtful || (option.traits.has(Traits::INFO) && !is_alone));
                }
                Some(known) => return self.take(&known, rest, next, doubtful),
                None => {
                    self.call.unknown = Some(word);
                    // Where no unlisted option matters the letters behind it still may.
                    if self.spec.unknown != Unknown::Ignored {
                        return 0;
                    }
                    doubtful = true;
                }
            }
        }
        if word.is_dynamic() {
            // `-n$x`: further letters of the cluster that only run time will tell.
            self.call.unknown = Some(word);
        }
        0
    }

    fn take(&mut self, known: &Known<'a>, attached: Option<Word<'a>>, next: usize, doubtful: bool) -> usize {
        let words = self.call.words;
        let following = words.get(next).map(Word::whole);
        let option = match known {
            Known::Plain => return 0,
            Known::Valued => return usize::from(attached.is_none()),
            Known::Effect(option) => *option,
        };
        let (value, taken) = match option.takes {
            Takes::Nothing => (attached, 0),
            Takes::Attached => (attached, 0),
            Takes::One => match attached {
                Some(value) => (Some(value), 0),
                None => (following, 1),
            },
            Takes::Two => (following, 2),
            Takes::Rest => {
                let end = words[next.min(words.len())..]
                    .iter()
                    .position(|arg| arg.value.literal() == Some(";"))
                    .map_or(words.len(), |at| next + at + 1);
                (following, end - next.min(end))
            }
        };
        self.give(option, value, next, doubtful);
        taken
    }

    fn give(&mut self, option: &'a OptionSpec<'a>, value: Option<Word<'a>>, next: usize, doubtful: bool) {
        self.call.info |= option.traits.has(Traits::INFO) && !doubtful && self.may_ask();
        self.call.given.push(Given { option, value, index: next - 1, doubtful });
    }

    /// Whether an option may still ask for help. Behind the first operand of a program that runs something it may be that
    /// thing's own option (`srun ./x --version`, `bun run x --help`).
    fn may_ask(&self) -> bool {
        self.spec.opaque.is_none() || self.call.operands.is_empty()
    }

    fn lookup_short(&self, letter: char) -> Option<Known<'a>> {
        short_of(self.spec, letter).or_else(|| self.globals().find_map(|row| short_of(row, letter)))
    }

    fn lookup_long(&self, name: &str) -> Option<Known<'a>> {
        long_of(self.spec, name).or_else(|| self.globals().find_map(|row| long_of(row, name)))
    }

    fn globals(&self) -> impl Iterator<Item = &'a CommandSpec<'a>> {
        self.parents.iter().rev().copied().filter(|row| row.traits.has(Traits::GLOBAL))
    }
}

fn short_of<'a>(row: &'a CommandSpec<'a>, letter: char) -> Option<Known<'a>> {
    if let Some(option) = row.options.iter().find(|option| option.short.contains(letter)) {
        return Some(Known::Effect(option));
    }
    if row.switches.contains(letter) {
        return Some(Known::Plain);
    }
    row.values.contains(letter).then_some(Known::Valued)
}

fn long_of<'a>(row: &'a CommandSpec<'a>, name: &str) -> Option<Known<'a>> {
    if let Some(option) = row.options.iter().find(|option| option.long == name && !name.is_empty()) {
        return Some(Known::Effect(option));
    }
    if row.longs.contains(&name) {
        return Some(Known::Plain);
    }
    row.long_values.contains(&name).then_some(Known::Valued)
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or("");
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
