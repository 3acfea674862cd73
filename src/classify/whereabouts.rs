//! Where each command of a script stands: the directories that earlier `cd`s may have led to.
//!
//! Duty: follow directory changes through subshells, branches, loops and functions.
//! Danger: a name that is resolved in the wrong directory is another file. A `cd` may fail, so that what runs after it may
//! stand where it stood: only what `&&` joins to it surely stands where it led. Where it is not certain how often one ran,
//! or that the shell has `cd` do what it usually does, the directory is unknown, and relative names with it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::options::Word;
use super::path::Place;
use crate::shell::{Arg, Chain, Piece, Script, Segment, Subshell, Value};

/// Builtins that change the directory.
const MOVERS: [&str; 3] = ["cd", "pushd", "popd"];

/// Variables by which `cd` goes elsewhere than its words say.
const LEADERS: [&str; 3] = ["CDPATH", "HOME", "OLDPWD"];

/// Builtins that set the variables that their words name.
const SETTERS: [&str; 8] = ["export", "declare", "typeset", "local", "readonly", "read", "printf", "unset"];

/// Options of the shell by which a directory changes otherwise than its text says.
const OPTIONS: [&str; 3] = ["lastpipe", "cdable_vars", "physical"];

/// Builtins that run what their words say in this shell.
const RUNNERS: [&str; 3] = ["builtin", "command", "eval"];

/// Builtins that have this shell run what their words say at another time, or something else under that name.
const HIDERS: [&str; 5] = ["alias", "enable", "mapfile", "readarray", "trap"];

/// A shell that is open, as far as its directory goes.
#[derive(Debug, Clone)]
struct Shell {
    id: u32,
    /// Where a command may stand of which nothing more is known.
    place: Place,
    /// Where those stand that run only where a chain of `&&` succeeded so far.
    chains: Vec<(u32, Place)>,
    /// The loop that the last command stood in, where it is one that changes the directory.
    looped: u32,
}

/// Where a script's commands change the directory.
#[derive(Debug, Default)]
struct Moves {
    any: bool,
    loops: BTreeSet<u32>,
    /// A function does.
    functions: bool,
}

/// The directory, as a script is gone through in order.
#[derive(Debug)]
pub(super) struct Whereabouts {
    /// The present shell, the last, and those around it.
    shells: Vec<Shell>,
    /// The script's.
    subshells: Vec<Subshell>,
    loops: Vec<u32>,
    chains: Vec<Chain>,
    /// Chains of which a command has been met.
    met: BTreeSet<u32>,
    moves: Moves,
    /// Something says where `cd` leads besides its words.
    led: bool,
    /// Where the line began: a path without links.
    start: Place,
    /// Somewhere.
    unknown: Place,
}

impl Whereabouts {
    /// A line that begins in `place`.
    pub(super) fn new(place: Place) -> Self {
        let unknown = place.lost();
        let shell = Shell { id: 0, place: place.clone(), chains: Vec::new(), looped: 0 };
        Self {
            shells: vec![shell],
            subshells: Vec::new(),
            loops: Vec::new(),
            chains: Vec::new(),
            met: BTreeSet::new(),
            moves: Moves::default(),
            led: false,
            start: place,
            unknown,
        }
    }

    /// A script inside of what these are the whereabouts of, which begins in `place`.
    pub(super) fn inside(&self, place: Place) -> Self {
        Self { led: self.led, start: self.start.clone(), ..Self::new(place) }
    }

    /// Looks over a script, before the first of its commands.
    pub(super) fn survey(&mut self, script: &Script) {
        let mut moves = Moves::default();
        for segment in script.segments.iter().filter(|segment| may_move(segment)) {
            moves.any = true;
            moves.functions |= segment.context.in_function;
            let context = &segment.context;
            moves.loops.extend(own_loops(&script.loops, &script.shells, context.looped, context.shell));
        }
        let before = script.segments.iter().flat_map(|segment| &segment.assignments);
        let mut names = script.assigned.iter().chain(before.map(|assignment| &assignment.name));
        self.led |= names.any(|name| LEADERS.contains(&name.as_str())) || script.segments.iter().any(leads);
        let stands_in = |name: &String| {
            MOVERS.contains(&name.as_str()) || RUNNERS.contains(&name.as_str()) || name == "exit"
        };
        if script.functions.iter().any(stands_in)
            || script.segments.iter().any(hides)
            || moves.any && self.led && script.segments.iter().any(|segment| segment.context.piped_in)
        {
            self.led = true;
            let unknown = self.unknown.clone();
            self.shells.iter_mut().for_each(|shell| shell.lose(&unknown));
        }
        if moves.any {
            self.subshells.clone_from(&script.shells);
            self.loops.clone_from(&script.loops);
            self.chains.clone_from(&script.chains);
        }
        self.moves = moves;
    }

    /// Whether anything in the script changes the directory.
    pub(super) fn moves(&self) -> bool {
        self.moves.any
    }

    /// Goes on to a command; where it stands.
    pub(super) fn enter(&mut self, segment: &Segment) -> Place {
        if !self.moves.any {
            return self.now().place.clone();
        }
        let context = &segment.context;
        self.change_shell(context.shell);
        self.turn(context.looped);
        self.leave(segment);
        for chain in around(&self.chains, context.chain) {
            if !self.met.insert(chain) {
                break;
            }
        }
        if context.in_function {
            return self.unknown.clone();
        }
        let shell = self.now();
        let known = |chain| shell.chains.iter().find(|(id, _)| *id == chain).map(|(_, place)| place);
        around(&self.chains, context.chain).find_map(known).unwrap_or(&shell.place).clone()
    }

    /// The directories that the script's own shell may stand in when all of it has been gone through.
    pub(super) fn at_the_end(&self) -> Place {
        self.shells.first().map_or(&self.unknown, |shell| &shell.place).clone()
    }

    /// Where `cd`, `pushd` or `popd` leads from `place`, if it works.
    pub(super) fn target(&self, base: &str, words: &[Arg], place: &Place) -> Place {
        let unknown = || self.unknown.clone();
        let mut operands = words;
        while let [first, rest @ ..] = operands {
            match first.value.known_prefix() {
                "--" if first.value.literal().is_some() => {
                    operands = rest;
                    break;
                }
                "-L" if base == "cd" && first.value.literal().is_some() => operands = rest,
                // The last directory, or one of those on the stack; links are gone through, or nothing is done at all.
                text if text.starts_with(['-', '+']) => return unknown(),
                _ => break,
            }
        }
        let text = match operands.first() {
            _ if base == "popd" => None,
            Some(operand) => Word::whole(operand).pattern(),
            None if base == "cd" => Some("~".to_owned()),
            None => None,
        };
        let mut target = place.moved(text.as_deref());
        let mut names =
            text.iter().flat_map(|text| text.split('/')).filter(|name| !matches!(*name, "" | "."));
        let ups = names.by_ref().take_while(|name| *name == "..").count();
        let (down, up_again) = (text.as_deref() != Some("..") && ups > 0, names.any(|name| name == ".."));
        // What `..` undoes may be a link: if there is no such name, bash goes up from where that leads.
        if up_again || down && *place != self.start {
            target.join(&self.unknown);
        }
        target
    }

    /// A command that stands in a chain may have changed the directory, and has where the chain goes on.
    pub(super) fn go(&mut self, place: Place, chain: u32) {
        let place = if self.led { self.unknown.clone() } else { place };
        let Some(shell) = self.shells.last_mut() else { return };
        shell.place.join(&place);
        shell.chains.retain(|(id, _)| *id != chain);
        shell.chains.iter_mut().for_each(|(_, other)| other.join(&place));
        shell.chains.push((chain, place));
    }

    /// A function of the script was called.
    pub(super) fn called(&mut self) {
        if self.moves.functions
            && let Some(shell) = self.shells.last_mut()
        {
            shell.lose(&self.unknown);
        }
    }

    fn now(&self) -> &Shell {
        // There is always the script's own.
        self.shells.last().unwrap_or(&self.shells[0])
    }

    /// `cd a || exit`: what follows in the script's own list runs only where all before the `||` worked.
    fn leave(&mut self, segment: &Segment) {
        let context = &segment.context;
        let chain = context.chain.checked_sub(1).and_then(|index| self.chains.get(index as usize));
        let Some(Chain { within: 0, otherwise: 1.. }) = chain else { return };
        let is_number = |arg: &Arg| {
            let text = arg.value.literal().unwrap_or_default();
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let leaves = match &segment.argv[..] {
            [verb, rest @ ..] => {
                verb.value.literal() == Some("exit") && rest.len() < 2 && rest.iter().all(is_number)
            }
            [] => false,
        };
        let alone = !context.piped_in && !context.piped_out && !context.background && context.shell == 0;
        if !leaves
            || !alone
            || !segment.redirects.is_empty()
            || !segment.assignments.is_empty()
            || self.met.contains(&context.chain)
        {
            return;
        }
        let before = chain.map_or(0, |chain| chain.otherwise);
        if let Some(shell) = self.shells.last_mut()
            && let Some((_, place)) = shell.chains.iter().find(|(id, _)| *id == before)
        {
            shell.place = place.clone();
        }
    }

    /// Goes on to a command that stands in a loop, or in none: the body may have run before, and may not run at all.
    fn turn(&mut self, looped: u32) {
        let own = own_loops(&self.loops, &self.subshells, looped, self.now().id);
        let looped = own.filter(|looped| self.moves.loops.contains(looped)).last().unwrap_or(0);
        if let Some(shell) = self.shells.last_mut()
            && std::mem::replace(&mut shell.looped, looped) != looped
        {
            shell.lose(&self.unknown);
        }
    }

    /// Leaves the shells that another one is not in, and enters it.
    fn change_shell(&mut self, id: u32) {
        let mut ways = vec![(id, 0)];
        while let Some((last, _)) = ways.last()
            && let Some(index) = last.checked_sub(1)
        {
            let own = self.subshells.get(index as usize).copied();
            ways.push(own.map_or((0, 0), |own| (own.within, own.looped)));
        }
        while self.shells.len() > 1 && !ways.iter().any(|(id, _)| *id == self.now().id) {
            self.shells.pop();
        }
        let now = self.now().id;
        let inner = ways.iter().position(|(id, _)| *id == now).unwrap_or(0);
        for index in (0..inner).rev() {
            // The loop of the shell around it that it stands in.
            self.turn(ways[index + 1].1);
            let shell = Shell { id: ways[index].0, looped: 0, ..self.now().clone() };
            self.shells.push(shell);
        }
    }
}

impl Shell {
    fn lose(&mut self, unknown: &Place) {
        self.place.clone_from(unknown);
        self.chains.clear();
    }
}

/// A chain and those around it, from within.
fn around(chains: &[Chain], chain: u32) -> impl Iterator<Item = u32> + '_ {
    std::iter::successors(Some(chain), move |chain| {
        chain.checked_sub(1).map(|index| chains.get(index as usize).map_or(0, |chain| chain.within))
    })
}

/// The loops of a shell that a command in it stands in, from within.
fn own_loops(loops: &[u32], shells: &[Subshell], looped: u32, shell: u32) -> impl Iterator<Item = u32> {
    let around = shell.checked_sub(1).and_then(|index| shells.get(index as usize));
    let around = around.map_or(0, |shell| shell.looped);
    let outer =
        move |looped: &u32| looped.checked_sub(1).and_then(|index| loops.get(index as usize)).copied();
    std::iter::successors(Some(looped), outer).take_while(move |looped| *looped != 0 && *looped != around)
}

/// Whether a command has `cd` lead elsewhere than its words say: by a variable or an option of the shell.
fn leads(segment: &Segment) -> bool {
    let mut words = segment.argv.iter().map(|word| word.value.known_prefix());
    let Some(verb) = words.next() else { return false };
    if words.clone().any(|word| OPTIONS.iter().any(|option| word.contains(option))) {
        return true;
    }
    let mut options = segment.argv.iter().skip(1).take_while(|word| word.value.literal() != Some("--"));
    match verb {
        "shopt" => options.any(|word| word.value.literal().is_none()),
        "set" => options.any(|word| {
            let text = word.value.known_prefix();
            word.value.literal().is_none() || text.starts_with(['-', '+']) && text.contains('P')
        }),
        _ => {
            SETTERS.contains(&verb)
                && words.any(|word| LEADERS.contains(&word.split('=').next().unwrap_or_default()))
        }
    }
}

/// Whether a text has one of [`MOVERS`] as a word.
fn names_mover(text: &str) -> bool {
    text.split(|byte: char| !byte.is_ascii_alphanumeric()).any(|word| MOVERS.contains(&word))
}

/// What is known of a word.
fn known_text(word: &Arg) -> Cow<'_, str> {
    match &word.value {
        Value::Literal(text) => Cow::Borrowed(text),
        Value::Partial(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Known(text) | Piece::Glob(text) => text,
                Piece::Home | Piece::Number | Piece::Unknown { .. } => "",
            })
            .collect::<String>()
            .into(),
        Value::Unknown { .. } => Cow::Borrowed(""),
    }
}

/// Whether a command is one of `verbs`, and a word after it names a mover.
fn says(segment: &Segment, verbs: &[&str]) -> bool {
    let [verb, words @ ..] = &segment.argv[..] else { return false };
    verb.value.literal().is_some_and(|verb| verbs.contains(&verb))
        && words.iter().any(|word| names_mover(&known_text(word)))
}

/// Whether a command may change the directory of its shell, as its words tell.
fn may_move(segment: &Segment) -> bool {
    let verb = segment.argv.first().and_then(|verb| verb.value.literal());
    verb.is_some_and(|verb| MOVERS.contains(&verb)) || says(segment, &RUNNERS)
}

/// Whether a command makes one that changes the directory run unseen, or not run.
fn hides(segment: &Segment) -> bool {
    says(segment, &HIDERS)
}

#[cfg(test)]
mod tests {
    use crate::classify::{Environment, OpClass, Subject, classify_line};

    /// What the `rm`s of a line remove, in order; `?` where the directory is not known.
    fn removed(line: &str) -> String {
        let environment = Environment { cwd: "/w".into(), home: "/h".into(), ..Environment::default() };
        let line = classify_line(line, &environment);
        let ops = line.segments.iter().flat_map(|segment| &segment.ops);
        let paths = ops.filter(|op| op.class == OpClass::Destructive).map(|op| match &op.subject {
            Subject::Path(path) => path.clone(),
            _ => "?".to_owned(),
        });
        paths.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_a_chain_joins_to_a_change_stands_where_it_led() {
        for (line, paths) in [
            ("rm f", "/w/f"),
            ("cd a && rm f; rm g", "/w/a/f /w/g /w/a/g"),
            ("cd a && x && rm f", "/w/a/f"),
            ("cd a && { rm f; rm g; }; rm h", "/w/a/f /w/a/g /w/h /w/a/h"),
            ("cd a && if x; then rm f; else rm g; fi", "/w/a/f /w/a/g"),
            ("cd a && for i in 1 2; do rm f$i; done", "/w/a/f1 /w/a/f2"),
            ("cd a && cd b && rm f", "/w/a/b/f"),
            ("cd a && cd .. && rm f", "/w/f"),
            ("x && cd a && rm f", "/w/a/f"),
            ("eval 'cd a && rm e'; rm f", "/w/a/e /w/f /w/a/f"),
            ("command cd a && rm f", "/w/a/f"),
            ("builtin cd -L -- a && rm f", "/w/a/f"),
            ("cd a && (rm f); rm g", "/w/a/f /w/g /w/a/g"),
            ("cd a && x=$(rm f) | y", "/w/a/f"),
            ("cd a || exit 1; rm f", "/w/a/f"),
            ("cd a || exit\ncd b || exit; rm f", "/w/a/b/f"),
            ("cd ../b && rm f", "/b/f"),
            ("pushd a && rm f", "/w/a/f"),
            ("if cd a && x; then rm f; fi; cd /b && rm g", "/w/f /w/a/f /b/g"),
            ("env cd a; rm f", "/w/f"),
            ("timeout 1 cd a; rm f", "/w/f"),
            ("/usr/bin/cd a; rm f", "/w/f"),
            ("while true; do env cd a; rm f; done", "/w/f"),
            ("while x; do rm f; done; cd a && rm g", "/w/f /w/a/g"),
            ("while x; do cd /a && rm f; done; rm g", "/a/f ?"),
            ("if ! x; then rm f; fi", "/w/f"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }

    #[test]
    fn what_else_comes_after_a_change_may_stand_in_both_places() {
        for (line, paths) in [
            ("cd a; rm f", "/w/f /w/a/f"),
            ("cd a b; rm f", "/w/f /w/a/f"),
            ("cd a || true; rm f", "/w/f /w/a/f"),
            ("cd a || x && rm f", "/w/f /w/a/f"),
            ("x || cd a && rm f", "/w/f /w/a/f"),
            ("cd a || rm f", "/w/f /w/a/f"),
            ("cd a && x || rm f", "/w/f /w/a/f"),
            ("cd a || cd b; rm f", "/w/f /w/a/f /w/b/f /w/a/b/f"),
            ("if cd a; then rm f; else rm g; fi", "/w/f /w/a/f /w/g /w/a/g"),
            ("if ! cd a; then rm f; fi", "/w/f /w/a/f"),
            ("! cd a && rm f", "/w/f /w/a/f"),
            ("! cd a || exit; rm f", "/w/f /w/a/f"),
            ("cd a || exit 1 2; rm f", "/w/f /w/a/f"),
            ("cd a || exit --help; rm f", "/w/f /w/a/f"),
            ("cd a || exit > x; rm f", "/w/f /w/a/f"),
            ("cd a || exit | x; rm f", "/w/f /w/a/f"),
            ("cd a || x && exit; rm f", "/w/f /w/a/f"),
            ("cd a || { x; } && exit; rm f", "/w/f /w/a/f"),
            ("x || cd a || exit; rm f", "/w/f /w/a/f"),
            ("{ cd a; x; } && rm f", "/w/f /w/a/f"),
            ("if x; then cd a; fi && rm f", "/w/f /w/a/f"),
            ("if x; then cd a; fi; rm f", "/w/f /w/a/f"),
            ("x && cd a; rm f", "/w/f /w/a/f"),
            ("x && { cd a; y; } && rm f", "/w/f /w/a/f"),
            ("case x in a) cd a;; *) rm f;; esac; rm g", "/w/f /w/a/f /w/g /w/a/g"),
            ("cd a; if x; then rm f; fi", "/w/f /w/a/f"),
            ("eval 'cd a'; rm f", "/w/f /w/a/f"),
            ("eval 'false && cd a' && rm f", "/w/f /w/a/f"),
            ("cd a; cd ..; rm f", "/w/f /w/a/f /f"),
            ("cd a; cd b; cd c; rm f", "/w/f /w/a/f /w/b/f /w/a/b/f ?"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }

    #[test]
    fn a_subshell_keeps_its_change_to_itself() {
        for (line, paths) in [
            ("(cd a && rm f); rm g", "/w/a/f /w/g"),
            ("(cd a); (rm f)", "/w/f"),
            ("((cd a); rm f)", "/w/f"),
            ("( (cd a) ); ( { (rm f); } )", "/w/f"),
            ("(cd a && (cd b && rm e); rm f); rm g", "/w/a/b/e /w/f /w/a/f /w/g"),
            ("x=$(cd a && rm f); rm g", "/w/a/f /w/g"),
            ("y $(cd a && rm f) $(rm g)", "/w/a/f /w/g"),
            ("(cd a && rm f) | rm g", "/w/a/f /w/g"),
            ("{ cd a && rm f; } | { rm g; }; rm h", "/w/a/f /w/g /w/h"),
            ("cd a | rm f; rm g", "/w/f /w/g"),
            ("cd a & rm f", "/w/f"),
            ("{ cd a && rm f; } & rm g", "/w/a/f /w/g"),
            ("{ cd a && (rm f); } | x; rm g", "/w/a/f /w/g"),
            ("for i in 1 2; do (cd a && rm f); (rm g); done; rm h", "/w/a/f /w/g /w/h"),
            ("coproc { cd a && rm f; }; rm g", "/w/a/f /w/g"),
            ("eval 'cd a' | x; rm f", "/w/f"),
            ("eval '(cd a)'; rm f", "/w/f"),
            ("eval 'cd a &'; rm f", "/w/f"),
            ("eval 'echo $(cd a)'; rm f", "/w/f"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }

    #[test]
    fn what_may_have_happened_or_not_leads_nowhere_known() {
        for (line, paths) in [
            // How often a body ran is not known, before, in and after it.
            ("for i in 1 2; do cd a; rm f; done; rm g", "? ?"),
            ("while x; do rm f; cd a; done", "?"),
            ("while cd ..; do rm e; done; rm f", "? ?"),
            ("until cd a; do rm e; done", "?"),
            ("while x; do for i in 1; do rm e; done; cd a; done", "?"),
            ("for i in 1 2; do (rm f); cd a; done", "?"),
            ("for i in 1 2; do y $(rm f); x | rm g; cd a; done", "? ?"),
            ("ls | while read x; do rm f; cd a; done; rm g", "? /w/g"),
            ("for i in 1 2; do x | { while y; do rm f; cd a; done; }; rm g; done", "? /w/g"),
            ("while x; do eval 'cd a'; rm f; done", "?"),
            ("while x; do rm f; command cd a; done", "?"),
            ("while x; do rm f; eval \"cd $y\"; done", "?"),
            // Where to is not known.
            ("cd - && rm f", "?"),
            ("cd $x && rm f", "?"),
            ("cd -P a && rm f", "?"),
            ("cd -- -P && rm f", "/w/-P/f"),
            ("cd a/../b && rm f", "/w/b/f ?"),
            ("cd a && cd ../b && rm f", "/w/b/f ?"),
            ("pushd && rm f", "?"),
            ("pushd -n a && rm f", "?"),
            ("pushd +1 && rm f", "?"),
            ("pushd -- a && rm f", "/w/a/f"),
            ("popd; rm f", "/w/f ?"),
            ("CDPATH=/x; cd a && rm f", "?"),
            ("CDPATH=/x cd a && rm f", "?"),
            ("export CDPATH=/x; eval 'cd a' && rm f", "?"),
            ("HOME=/etc; cd && rm f", "?"),
            ("shopt -s cdable_vars; cd a && rm f", "?"),
            ("shopt -s $x; cd a && rm f", "?"),
            ("set -P; cd a && rm f", "?"),
            ("set -o physical; cd a && rm f", "?"),
            ("set -- -P; cd a && rm f", "/w/a/f"),
            ("shopt -s lastpipe; x | cd a; rm f", "?"),
            ("shopt -s lastpipe; x | { cd a; }; rm f", "?"),
            ("cd() { :; }; cd a && rm f", "?"),
            ("alias x='cd a'; x; rm f", "?"),
            ("trap 'cd a' DEBUG; rm f", "?"),
            ("trap 'rm f' EXIT; cd a", "?"),
            ("enable -n cd; cd a && rm f", "?"),
            // A function runs when it is called.
            ("f() { cd a; rm f; }; f; rm g", "? ?"),
            ("f() { cd a; }; rm f; f; rm g", "/w/f ?"),
            ("f() { rm f; }; cd a; f", "?"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }
}
