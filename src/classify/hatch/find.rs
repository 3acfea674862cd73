//! find's expressions: what they delete, write and run.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word, with_unknown};
use crate::classify::spec::Role;
use crate::shell::Arg;

/// Tests and actions without argument.
const PLAIN: &[&str] = &[
    "(",
    ")",
    "!",
    ",",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-daystart",
    "-depth",
    "-d",
    "-follow",
    "-mount",
    "-xdev",
    "-x",
    "-noleaf",
    "-warn",
    "-nowarn",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-false",
    "-true",
    "-nogroup",
    "-nouser",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-ls",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-help",
    "--help",
    "-version",
    "--version",
    "-H",
    "-L",
    "-P",
    "-E",
    "-X",
    "-s",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
];

/// Tests and actions with one argument that has no effect.
const VALUED: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
    "-D",
    "-flags",
    "-Bmin",
    "-Bnewer",
    "-Btime",
];

/// Judges a call of find.
pub fn judge<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = call.words;
    let mut index = 0;
    let mut in_paths = true;
    while let Some(arg) = words.get(index) {
        let word = Word::whole(arg);
        index += 1;
        let known = word.known_prefix();
        let is_start = known.starts_with('-') || matches!(word.text(), Some("(" | ")" | "!" | ","));
        if in_paths && !is_start {
            findings.role(Role::List, word);
            continue;
        }
        let Some(text) = word.text() else {
            findings.opaque(Cause::UnknownOption, word.span());
            return;
        };
        let is_option = matches!(text, "-H" | "-L" | "-P" | "-E" | "-X" | "-s" | "-x" | "-d" | "-D")
            || text.starts_with("-O");
        in_paths &= is_option;
        match text {
            "-delete" => findings.add(OpClass::Destructive, word.span()),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end = end_of_command(&words[index..]);
                let argv: Vec<Arg> =
                    words[index..index + end].iter().map(|arg| with_unknown(arg, "{}")).collect();
                if argv.is_empty() {
                    findings.opaque(Cause::ExecOption, word.span());
                } else {
                    findings.run_owned(argv);
                }
                index += end + 1;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = words.get(index) {
                    findings.role(Role::Write, Word::whole(file));
                }
                index += if text == "-fprintf" { 2 } else { 1 };
            }
            "-files0-from" => {
                if let Some(file) = words.get(index) {
                    findings.role(Role::Read, Word::whole(file));
                }
                index += 1;
            }
            _ if PLAIN.contains(&text) => {}
            _ if VALUED.contains(&text) || text.starts_with("-newer") => index += 1,
            _ => findings.opaque(Cause::UnknownOption, word.span()),
        }
    }
}

/// The number of words before `;` or the `+` after `{}`.
fn end_of_command(words: &[Arg]) -> usize {
    for (index, arg) in words.iter().enumerate() {
        match arg.value.literal() {
            Some(";") => return index,
            Some("+") if index > 0 && words[index - 1].value.literal() == Some("{}") => return index,
            _ => {}
        }
    }
    words.len()
}
