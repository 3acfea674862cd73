//! Lines that once were read wrongly, or that name a rule; each was run in bash 5.2.

use super::*;

/// The argvs, unknown words as `?`.
fn argvs(source: &str) -> Vec<Vec<String>> {
    let script = parse(source);
    assert_eq!(script.trust, Trust::Trusted, "{source:?}");
    let word = |arg: &Arg| arg.value.literal().map_or_else(|| "?".to_owned(), str::to_owned);
    let segments = script.segments.iter().filter(|segment| !segment.argv.is_empty());
    segments.map(|segment| segment.argv.iter().map(word).collect()).collect()
}

fn runs(source: &str, program: &str) -> bool {
    argvs(source).iter().any(|argv| argv.first().is_some_and(|verb| verb == program))
}

fn code(source: &str) -> &'static str {
    match parse(source).trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted { code, .. } => code,
    }
}

#[test]
fn tabs_behind_a_continuation_are_leading_tabs() {
    assert!(runs("cat <<-EOF\n\\\n\tEOF\nrm x\n", "rm"));
    assert!(runs("cat <<-EOF\n\t\\\n\tEOF\nrm x\n", "rm"));
    assert!(!runs("cat <<EOF\n\\\n\tEOF\nrm x\nEOF\n", "rm"));
}

#[test]
fn a_name_goes_on_in_a_brace_member() {
    assert_eq!(argvs("P $x{a,b}"), [["P", "?"]]);
    assert_eq!(argvs("P {a,b}c"), [["P", "ac", "bc"]]);
}

#[test]
fn single_quotes_in_arithmetic_protect_nothing() {
    for source in [
        "echo ${a['$(rm x)']}",
        "echo \"${a:'$(rm x)'}\"",
        "echo $(( '$(rm x)' ))",
        "a['`rm x`']=1",
        "(( '$(rm x)' ))",
    ] {
        assert!(runs(source, "rm"), "{source}");
    }
}

#[test]
fn single_quotes_in_a_quoted_parameter_hide_only_a_brace() {
    assert!(runs("echo \"${x:-'`rm x`'}\"", "rm"));
    assert!(runs("echo \"${x:-'}'`rm x`}\"", "rm"));
    assert!(!runs("echo \"${x#'$(rm x)'}\"", "rm"));
    assert!(!runs("echo ${x:-'$(rm x)'}", "rm"));
}

#[test]
fn closing_a_descriptor_ends_at_the_dash() {
    assert_eq!(argvs("P a 2>&-x"), [["P", "a", "x"]]);
    assert_eq!(argvs("P a <& -x"), [["P", "a", "x"]]);
    assert_eq!(argvs(">&-P a"), [["P", "a"]]);
}

/// Each was run with a logging `rm`: bash runs it from the quoted text.
#[test]
fn data_that_runs_is_opaque() {
    for (source, code) in [
        ("test -v 'a[$(rm x)]'", "arithmetic_operand"),
        ("[ -v 'a[$(rm x)]' ]", "arithmetic_operand"),
        ("[[ -v 'a[$(rm x)]' ]]", "arithmetic_operand"),
        ("[[ 'a[$(rm x)]' -eq 1 ]]", "arithmetic_operand"),
        ("printf -v 'a[$(rm x)]' y", "arithmetic_operand"),
        ("read 'a[$(rm x)]' <<< 1", "arithmetic_operand"),
        ("let 'a[$(rm x)]=1'", "arithmetic_operand"),
        ("declare 'a[$(rm x)]=1'", "arithmetic_operand"),
        ("declare -i a='b[$(rm x)]'", "arithmetic_operand"),
        ("declare -a 'a=($(rm x))'", "arithmetic_operand"),
        ("declare -n a='b[$(rm x)]'; echo $a", "arithmetic_operand"),
        ("a=(1 2); unset 'a[$(rm x)]'", "arithmetic_operand"),
        ("x='a[$(rm y)]'; echo $((x))", "arithmetic_value"),
        ("x='a[$(rm y)]'; echo ${b[x]}", "arithmetic_value"),
        ("x='a[$(rm y)]'; [[ $x -eq 1 ]]", "arithmetic_value"),
        ("for x in 'a[$(rm y)]'; do ((x)); done", "arithmetic_value"),
        ("read x <<< 'a[$(rm y)]'; echo $((x))", "arithmetic_value"),
        ("f() { echo $(($1)); }; f 'a[$(rm y)]'", "arithmetic_value"),
        ("x='$(rm y)'; echo ${x@P}", "prompt_expansion"),
        ("x='a[$(rm y)]'; echo ${!x}", "indirect_expansion"),
        ("mapfile -c1 -C 'rm x' <<< a", "callback"),
        ("compgen -C 'rm x'", "callback"),
        ("trap 'rm x' EXIT", "trap"),
        ("shopt -s expand_aliases; alias ls='rm x'", "shell_option"),
        ("PS4='$(rm x)'; set -x; ls", "startup_variable"),
        ("export BASH_ENV=x.sh; bash -c ls", "startup_variable"),
    ] {
        assert_eq!(parse(source).opaque.map(|found| found.0), Some(code), "{source}");
    }
}

#[test]
fn ordinary_lines_are_not_opaque() {
    for source in [
        "[[ -v a ]]",
        "test -v a[1]",
        "[ $# -eq 0 ]",
        "[[ $x -gt 5 ]]",
        "printf '%s[%s]' a b",
        "printf -v x %s a",
        "read -r -p 'ok? [y/n] ' a",
        "read -ra parts <<< \"$x\"",
        "let i++",
        "declare -A a",
        "declare -a b=(1 2)",
        "export PATH=$PATH:/x",
        "local x=$1",
        "unset a b",
        "unset 'a[0]'",
        "trap - EXIT",
        "trap '' INT",
        "echo ${!a[@]} ${!p*}",
        "x='[a]'; echo $((y+1))",
        "x=$(jq '.a[] | $b' f); echo $((x))",
        "set -euo pipefail",
        "export A=1 B=\"$x\"",
        "declare -x A=1",
        "wait $!",
        "mapfile -t a < f",
        "x='$(a)'; echo $((y))",
        "shopt -s nullglob",
    ] {
        assert_eq!(parse(source).opaque, None, "{source}");
    }
}

#[test]
fn a_continuation_inside_a_word_is_nothing() {
    assert_eq!(argvs("P ~\\\n x"), [["P", "?", "x"]]);
    assert_eq!(argvs("P {a\\\n,b}\\\n c"), [["P", "a", "b", "c"]]);
    assert_eq!(argvs("r\\\nm {1.\\\n.2} a\\\n$\\\n(Q) b"), vec![vec!["rm", "1", "2", "?", "b"], vec!["Q"]]);
    assert_eq!(argvs("A\\\n=\\\nx\\\ny; $A"), [["xy"]]);
    assert_eq!(argvs("i\\\nf P; th\\\nen Q; f\\\ni"), [["P"], ["Q"]]);
}

#[test]
fn quotes_give_the_text_that_bash_gives() {
    for (source, text) in [
        ("P \\", "\\"),
        ("P a\\b", "ab"),
        ("P 'a\\b'", "a\\b"),
        ("P \"a\\b\\$\"", "a\\b$"),
        ("P $'a\\tb\\x41\\101\\\\'", "a\tbAA\\"),
        ("P $'\\x{41}'", "?"),
        ("P $'\\xff'", "?"),
        ("P $'a\\0b'", "?"),
        ("P $'\\u41\\cA\\q'", "A\u{1}\\q"),
        ("P $\"a b\"", "a b"),
        ("P a\"b\"'c'd", "abcd"),
        ("P ''", ""),
        ("P \"$\"", "$"),
        ("P $", "$"),
        ("P a=~", "?"),
        ("P a~", "a~"),
        ("P {", "{"),
        ("P é\\ü", "éü"),
    ] {
        assert_eq!(argvs(source), [["P", text]], "{source}");
    }
}
