//! The commonest forms of `swbox exec`, read by hand: this is on the way of every command, and building the whole
//! description of the command line to read four words costs more than deciding what they mean.
//!
//! Danger: a form that is read differently here. Whatever is not plainly one of the forms below is left to the whole
//! description, and a test compares both readings.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::args::{ExecArgs, Watch};
use crate::service::EventsTo;

/// Reads what stands behind `exec`; `None` where it takes more than this to read it.
pub(super) fn read(args: &[OsString]) -> Option<ExecArgs> {
    let mut exec = ExecArgs::default();
    let mut observe = None;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--" => {
                exec.command.argv = words.cloned().collect();
                exec.watch.observe = observe.unwrap_or_default();
                let whole = exec.command.line.is_none() && !exec.command.argv.is_empty();
                return whole.then_some(exec).filter(one_law);
            }
            "-c" => once(&mut exec.command.line, value(words.next()?)?.to_owned())?,
            "--workflow" => once(&mut exec.law.workflow, value(words.next()?)?.to_owned())?,
            "--state" => once(&mut exec.law.state, value(words.next()?)?.to_str()?.to_owned())?,
            "--session" => once(&mut exec.law.session, value(words.next()?)?.to_str()?.to_owned())?,
            "--profile" => exec.law.profile.push(value(words.next()?)?.to_owned()),
            "--workspace" => once(&mut exec.law.workspace, value(words.next()?)?.into())?,
            "--observe" => once(&mut observe, Watch::named(value(words.next()?)?.to_str()?)?)?,
            "--events" => once(&mut exec.watch.events, EventsTo::parse(value(words.next()?)?).ok()?)?,
            "--json" => flag(&mut exec.json)?,
            "--quiet" => flag(&mut exec.quiet)?,
            _ => return None,
        }
    }
    exec.watch.observe = observe.unwrap_or_default();
    exec.command.line.is_some().then_some(exec).filter(one_law)
}

/// A session gives workflow, state and profiles; naming both is an error that the whole description tells.
fn one_law(exec: &ExecArgs) -> bool {
    let law = &exec.law;
    law.session.is_none() || law.workflow.is_none() && law.state.is_none() && law.profile.is_empty()
}

/// A value that cannot be taken for an option.
fn value(word: &OsString) -> Option<&OsStr> {
    (!word.is_empty() && !word.as_bytes().starts_with(b"-")).then_some(word)
}

/// What may be said once.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn flag(place: &mut bool) -> Option<()> {
    (!std::mem::replace(place, true)).then_some(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::ExecCli;
    use super::*;

    #[test]
    fn both_readings_agree() {
        const WORDS: [&str; 21] = [
            "--",
            "-c",
            "--workflow",
            "--state",
            "--session",
            "--profile",
            "--workspace",
            "--json",
            "--quiet",
            "--dry-run",
            "-q",
            "--state=x",
            "--color",
            "x",
            "-",
            "",
            "--timeout",
            "--observe",
            "reads",
            "--events",
            "fd:3",
        ];
        let mut understood = 0;
        for length in 0..=4_u32 {
            for mut number in 0..WORDS.len().pow(length) {
                let mut args = Vec::new();
                for _ in 0..length {
                    args.push(OsString::from(WORDS[number % WORDS.len()]));
                    number /= WORDS.len();
                }
                let Some(exec) = read(&args) else { continue };
                understood += 1;
                let whole = std::iter::once("exec".into()).chain(args.iter().cloned());
                let whole =
                    ExecCli::try_parse_from(whole).unwrap_or_else(|error| panic!("{args:?}: {error}"));
                assert_eq!(format!("{:?}", whole.exec), format!("{exec:?}"), "{args:?}");
                assert_eq!(whole.color, super::super::output::ColorChoice::default());
            }
        }
        assert!(understood > 500, "{understood}");
    }

    #[test]
    fn the_usual_forms_are_read() {
        for words in [
            "--state planning -- ls -la",
            "-c x",
            "--session s-1 -- x",
            "--json --state s --workflow w -c x",
            "-- x",
        ] {
            let args: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert!(read(&args).is_some(), "{words}");
        }
        for words in [
            "",
            "--",
            "x",
            "-c",
            "-c -x",
            "--state",
            "--state s",
            "-c x -- y",
            "--session s --state t -c x",
            "--timeout 1s -c x",
        ] {
            let args: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert!(read(&args).is_none(), "{words}");
        }
    }
}
