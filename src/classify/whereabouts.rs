//! Where each command of a script stands: the directory that earlier `cd`s led to.
//!
//! Duty: follow directory changes through subshells, branches, loops and functions.
//! Danger: a name that is resolved in the wrong directory is another file. A `cd` that stands alone is taken to work; where
//! it is not certain that one ran, or how often, the directory is unknown, and relative names with it.

use std::collections::BTreeSet;

use super::path::Place;
use crate::shell::{Context, Script, Segment};

/// Builtins that change the directory.
const MOVERS: [&str; 3] = ["cd", "pushd", "popd"];

/// Variables by which `cd` goes elsewhere than its words say.
const LEADERS: [&str; 2] = ["CDPATH", "HOME"];

/// Builtins that set the variables that their words name.
const SETTERS: [&str; 8] = ["export", "declare", "typeset", "local", "readonly", "read", "printf", "unset"];

/// Builtins that run what their words say in this shell.
const RUNNERS: [&str; 3] = ["builtin", "command", "eval"];

/// A shell that is open, as far as its directory goes.
#[derive(Debug, Clone)]
struct Shell {
    id: u32,
    place: Place,
    moved: Moved,
    /// The loop that the last command stood in, where it is one that changes the directory.
    looped: u32,
}

/// Whether a directory change counts for commands that run although it may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    No,
    /// Only those that run where it failed stand elsewhere.
    Surely,
    /// It may not have run at all.
    Maybe,
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
    /// In which shell each is.
    parents: Vec<u32>,
    moves: Moves,
    /// A variable that says where `cd` leads is set.
    led: bool,
    /// Somewhere.
    unknown: Place,
}

impl Whereabouts {
    /// A script that begins in `place`.
    pub(super) fn new(place: Place) -> Self {
        let unknown = place.moved(None);
        let shell = Shell { id: 0, place, moved: Moved::No, looped: 0 };
        Self { shells: vec![shell], parents: Vec::new(), moves: Moves::default(), led: false, unknown }
    }

    /// A script inside of what these are the whereabouts of, which begins in `place`.
    pub(super) fn inside(&self, place: Place) -> Self {
        Self { led: self.led, ..Self::new(place) }
    }

    /// Looks over a script, before the first of its commands.
    pub(super) fn survey(&mut self, script: &Script) {
        let mut moves = Moves::default();
        for segment in script.segments.iter().filter(|segment| may_move(segment)) {
            moves.any = true;
            moves.functions |= segment.context.in_function;
            if segment.context.looped != 0 {
                moves.loops.insert(segment.context.looped);
            }
        }
        if moves.any {
            self.parents.clone_from(&script.shells);
            let before = script.segments.iter().flat_map(|segment| &segment.assignments);
            let mut names = script.assigned.iter().chain(before.map(|assignment| &assignment.name));
            self.led |=
                names.any(|name| LEADERS.contains(&name.as_str())) || script.segments.iter().any(leads);
        }
        self.moves = moves;
    }

    /// Goes on to a command; where it stands.
    pub(super) fn enter(&mut self, context: &Context) -> &Place {
        if !self.moves.any {
            return &self.now().place;
        }
        self.change_shell(context.shell);
        let (unknown, loops) = (self.unknown.clone(), &self.moves.loops);
        let Some(shell) = self.shells.last_mut() else { return &self.unknown };
        let looped = if loops.contains(&context.looped) { context.looped } else { 0 };
        // A body may have run before, and may not run at all.
        let turned = std::mem::replace(&mut shell.looped, looped) != looped;
        if turned || shell.moved == Moved::Maybe && !context.conditional {
            (shell.place, shell.moved) = (unknown, Moved::No);
        } else if !context.conditional {
            shell.moved = Moved::No;
        }
        let elsewhere = context.alternative && shell.moved != Moved::No;
        if elsewhere || context.in_function { &self.unknown } else { &self.now().place }
    }

    /// The directory that the script's own shell stands in when all of it has been gone through.
    pub(super) fn at_the_end(&self) -> Place {
        match self.shells.first() {
            Some(shell) if shell.moved != Moved::Maybe => shell.place.clone(),
            _ => self.unknown.clone(),
        }
    }

    /// A command changed the directory, from where it stood.
    pub(super) fn go(&mut self, place: Place, conditional: bool) {
        let place = if self.led { self.unknown.clone() } else { place };
        if let Some(shell) = self.shells.last_mut() {
            shell.place = place;
            shell.moved =
                if conditional || shell.moved == Moved::Maybe { Moved::Maybe } else { Moved::Surely };
        }
    }

    /// A function of the script was called.
    pub(super) fn called(&mut self) {
        if self.moves.functions
            && let Some(shell) = self.shells.last_mut()
        {
            (shell.place, shell.moved) = (self.unknown.clone(), Moved::No);
        }
    }

    fn now(&self) -> &Shell {
        // There is always the script's own.
        self.shells.last().unwrap_or(&self.shells[0])
    }

    /// Leaves the shells that another one is not in, and enters it.
    fn change_shell(&mut self, id: u32) {
        if self.now().id == id {
            return;
        }
        let mut around = vec![id];
        let mut at = id;
        while at != 0 {
            at = at.checked_sub(1).and_then(|index| self.parents.get(index as usize)).copied().unwrap_or(0);
            around.push(at);
        }
        while self.shells.len() > 1 && !around.contains(&self.now().id) {
            self.shells.pop();
        }
        if self.now().id != id {
            let shell = Shell { id, moved: Moved::No, looped: 0, ..self.now().clone() };
            self.shells.push(shell);
        }
    }
}

/// Whether a builtin sets one of [`LEADERS`].
fn leads(segment: &Segment) -> bool {
    let mut words = segment.argv.iter().map(|word| word.value.known_prefix());
    let sets = words.next().is_some_and(|verb| SETTERS.contains(&verb));
    sets && words.any(|word| LEADERS.contains(&word.split('=').next().unwrap_or_default()))
}

/// Whether a command may change the directory of its shell, as its words tell.
fn may_move(segment: &Segment) -> bool {
    let mut words = segment.argv.iter().map(|word| word.value.literal().unwrap_or_default());
    let Some(verb) = words.next() else { return false };
    let named = |text: &str| {
        text.split(|byte: char| !byte.is_ascii_alphanumeric()).any(|word| MOVERS.contains(&word))
    };
    MOVERS.contains(&verb) || RUNNERS.contains(&verb) && words.any(named)
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
    fn a_certain_change_is_followed() {
        for (line, paths) in [
            ("rm f", "/w/f"),
            ("cd a; rm f", "/w/a/f"),
            ("cd a && rm f; rm g", "/w/a/f /w/a/g"),
            ("cd a || exit 1; rm f", "/w/a/f"),
            ("x && cd a && rm f", "/w/a/f"),
            ("if x; then cd a; rm f; fi", "/w/a/f"),
            ("cd a; if x; then rm f; fi; rm g", "/w/a/f /w/a/g"),
            ("eval 'cd a'; rm f", "/w/a/f"),
            ("command cd a; rm f", "/w/a/f"),
            ("builtin cd a; rm f", "/w/a/f"),
            ("eval '(cd a)'; rm f", "/w/f"),
            ("eval 'cd a &'; rm f", "/w/f"),
            ("eval 'echo $(cd a)'; rm f", "/w/f"),
            ("env cd a; rm f", "/w/f"),
            ("timeout 1 cd a; rm f", "/w/f"),
            ("/usr/bin/cd a; rm f", "/w/f"),
            ("while true; do env cd a; rm f; done", "/w/f"),
            ("cd a; for i in 1 2; do rm f$i; done", "/w/a/f1 /w/a/f2"),
            ("while x; do rm f; done; cd a; rm g", "/w/f /w/a/g"),
            ("if ! x; then rm f; fi", "/w/f"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }

    #[test]
    fn a_subshell_keeps_its_change_to_itself() {
        for (line, paths) in [
            ("(cd a; rm f); rm g", "/w/a/f /w/g"),
            ("(cd a); (rm f)", "/w/f"),
            ("((cd a); rm f)", "/w/f"),
            ("( (cd a) ); ( { (rm f); } )", "/w/f"),
            ("(cd a; (cd b; rm e); rm f); rm g", "/w/a/b/e /w/a/f /w/g"),
            ("x=$(cd a; rm f); rm g", "/w/a/f /w/g"),
            ("y $(cd a; rm f) $(rm g)", "/w/a/f /w/g"),
            ("(cd a; rm f) | rm g", "/w/a/f /w/g"),
            ("{ cd a; rm f; } | { rm g; }; rm h", "/w/a/f /w/g /w/h"),
            ("cd a | rm f; rm g", "/w/f /w/g"),
            ("cd a & rm f", "/w/f"),
            ("{ cd a; rm f; } & rm g", "/w/a/f /w/g"),
            ("{ cd a && (rm f); } | x; rm g", "/w/a/f /w/g"),
            ("for i in 1 2; do (cd a; rm f); (rm g); done; rm h", "/w/a/f /w/g /w/h"),
            ("coproc { cd a; rm f; }; rm g", "/w/a/f /w/g"),
            ("eval 'cd a' | x; rm f", "/w/f"),
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
            ("ls | while read x; do rm f; cd a; done; rm g", "? /w/g"),
            ("for i in 1 2; do x | { while y; do rm f; cd a; done; }; rm g; done", "? /w/g"),
            ("while x; do eval 'cd a'; rm f; done", "?"),
            ("while x; do rm f; command cd a; done", "?"),
            ("while x; do cd /a; rm f; done; rm g", "/a/f ?"),
            // A branch may not have run.
            ("if x; then cd a; fi; rm f", "?"),
            ("x && cd a; rm f", "?"),
            ("cd a || cd b; rm f", "?"),
            ("case x in a) cd a;; *) rm f;; esac; rm g", "? ?"),
            ("x && cd a; cd /b; rm f", "/b/f"),
            ("CDPATH=/x; cd a; rm f", "?"),
            ("CDPATH=/x cd a; rm f", "?"),
            ("export CDPATH=/x; eval 'cd a'; rm f", "?"),
            ("HOME=/etc; cd; rm f", "?"),
            ("eval 'false && cd a'; rm f", "?"),
            ("eval 'if false; then cd a; fi'; rm f", "?"),
            // It failed.
            ("cd a || rm f", "?"),
            ("cd a && x || rm f", "?"),
            ("if cd a; then rm f; else rm g; fi", "/w/a/f ?"),
            ("if ! cd a; then rm f; fi", "?"),
            ("! cd a && rm f", "?"),
            // A function runs when it is called.
            ("f() { cd a; rm f; }; f; rm g", "? ?"),
            ("f() { cd a; }; rm f; f; rm g", "/w/f ?"),
            ("f() { rm f; }; cd a; f", "?"),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }
}
