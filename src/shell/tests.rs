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
    assert!(runs("cat <<-'\tEOF'\n\tEOF\nrm x\n", "rm"));
    assert!(runs("cat <<-EOF\n\\\n\tEOF\nrm x\n", "rm"));
    assert!(runs("cat <<-EOF\n\t\\\n\tEOF\nrm x\n", "rm"));
    assert!(!runs("cat <<EOF\n\\\n\tEOF\nrm x\nEOF\n", "rm"));
}

#[test]
fn a_name_goes_on_in_a_brace_member() {
    assert_eq!(argvs("P $x{a,b}"), [["P", "?"]]);
    assert_eq!(argvs("P {a,b}c"), [["P", "ac", "bc"]]);
    assert!(parse("P \"${x:-\"{a,b}\"}\"").segments[0].argv[1].value.may_split());
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
fn a_backslash_in_a_substitution_in_a_quoted_parameter_is_harmless() {
    assert!(runs("echo \"${x:-\"$(sed 's/a\\.b/c/')\"}\"", "sed"));
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
        ("getopts a: IFS -a x; P x$IFS", "separators"),
        ("printf -vIFS x; P x$IFS", "separators"),
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
        ("POSIXLY_CORRECT=yes; alias ls=rm", "startup_variable"),
        ("hash -p /bin/rm ls; ls x", "command_hash"),
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
        "export -n A",
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
        ("P ~=~/x", "?"),
        ("P $'\\c=\\c?'", "\u{1d}\u{7f}"),
        ("P a~", "a~"),
        ("P {", "{"),
        ("P é\\ü", "éü"),
    ] {
        assert_eq!(argvs(source), [["P", text]], "{source}");
    }
}

/// One line for each rule and for each thing that the lexer refuses.
#[test]
fn rules_refuse() {
    for (source, expected) in [
        ("ls &&", "missing_command"),
        ("ls | | x", "missing_command"),
        ("; ls", "missing_command"),
        ("if a; then fi", "misplaced_keyword"),
        ("while false; do done", "misplaced_keyword"),
        ("fi; rm a", "misplaced_keyword"),
        ("do rm a", "misplaced_keyword"),
        ("{ }", "misplaced_keyword"),
        ("( )", "missing_command"),
        ("ls ;; rm a", "stray_separator"),
        ("ls )", "stray_parenthesis"),
        ("ls (a)", "stray_parenthesis"),
        ("( a ) b", "word_after_compound"),
        ("if a; then b", "unclosed_compound"),
        ("( a", "unclosed_parenthesis"),
        ("echo 'a", "unclosed_quote"),
        ("echo \"a", "unclosed_quote"),
        ("echo $'a\\'", "unclosed_quote"),
        ("echo `a", "unclosed_backtick"),
        ("echo ${a", "unclosed_parameter"),
        ("a=(b", "unclosed_array"),
        ("[[ a", "unclosed_condition"),
        ("echo ${ a; }", "function_substitution"),
        ("echo @(a)", "extglob"),
        ("cat <<$x\n$x\n", "heredoc_delimiter"),
        ("FOO=bar for", "reserved_word"),
        (">f if a", "reserved_word"),
        ("f() ls", "function_body"),
        ("f() 2>&1", "function_body"),
        ("> ; ls", "redirect_target"),
        ("cat <<", "redirect_target"),
        ("12345678901>f ls", "descriptor_number"),
        ("{a[1]}>f ls", "descriptor_subscript"),
        ("ls x=(1)", "stray_parenthesis"),
        ("case x y) a;; esac", "case_in"),
        ("for 1x in a; do b; done", "loop_variable"),
        ("for x in a; b; done", "loop_body"),
        ("for ((i=0;i<1)); do b; done", "loop_arithmetic"),
        ("for ((a;b;c;d)); do b; done", "loop_arithmetic"),
        ("echo \"${x:-\"$\\(rm x)\"}\"", "quote_in_parameter"),
        ("cat <<E\n${x:-\"$\\(rm x)\"}\nE\n", "quote_in_parameter"),
        ("echo \"${x:-\"`rm \\\"x\\\"`\"}\"", "quote_in_parameter"),
        ("echo \"${x:-`rm \\\"x\\\"`}\"", "quote_in_parameter"),
        ("echo \"${x:-'\"'}\"", "quote_in_parameter"),
        ("P \"$${x-\"${x-'$(rm x)'}\"}\"", "dollar_dollar"),
        ("P $((1 # $(Q\n\nR)\n))", "comment_in_arithmetic"),
        ("P \"${x:-<(Q {a,b})}\"", "substitution_in_parameter"),
        ("P $((16#ff + $# + ${#x}))", "trusted"),
        ("P $((1 + $(Q $(case x in (x) R;; esac)) 0))", "case_in_arithmetic"),
        ("P $(Q <<E\nE\ngit;\npush)", "heredoc_in_substitution"),
        ("P $(Q <<E; git\nE\npush)", "heredoc_in_substitution"),
        ("P <(while Q <<E\nE\ndo R; S; done)", "heredoc_in_substitution"),
        ("P \"$(Q <<E\n$(R; S; T)\nE\n)\"", "trusted"),
        ("P $(A; B; Q <<E\nE\nR)", "trusted"),
        ("P $>((1 << 2))||Q\nrm x\n", "nested_parenthesis"),
        ("P <((Q << E) )\nrm x\nE\n", "nested_parenthesis"),
        ("P $((Q << E) )\nrm x\nE\n", "nested_parenthesis"),
        ("ls \r", "control_character"),
        ("r\u{200b}m", "odd_character"),
    ] {
        assert_eq!(code(source), expected, "{source:?}");
    }
    assert_eq!(code(&"a".repeat(70_000)), "too_long");
}

#[test]
fn bytes_that_are_no_text_are_untrusted() {
    let script = parse_bytes(b"rm \xff");
    assert!(matches!(script.trust, Trust::Untrusted { code: "invalid_utf8", .. }));
    assert_eq!(script.segments.len(), 1);
    assert_eq!(parse_bytes(b"rm x").trust, Trust::Trusted);
}

#[test]
fn an_argv_is_one_literal_segment() {
    let script = from_argv(&["rm".to_owned(), "$x".to_owned()]);
    assert_eq!(script.trust, Trust::Trusted);
    assert_eq!(script.segments[0].argv[1].value, Value::Literal("$x".to_owned()));
}

/// Contexts as letters: in Substitution, Function, pipe In, pipe Out, Conditional, Background, subsHell.
fn contexts(source: &str) -> String {
    let script = parse(source);
    assert_eq!(script.trust, Trust::Trusted, "{source:?}");
    let letters = script.segments.iter().filter(|segment| !segment.argv.is_empty()).map(|segment| {
        let context = segment.context;
        let flags = [
            (context.in_substitution, 'S'),
            (context.in_function, 'F'),
            (context.piped_in, 'I'),
            (context.piped_out, 'O'),
            (context.conditional, 'C'),
            (context.background, 'B'),
            (context.subshell, 'H'),
        ];
        let letters = flags.iter().filter(|(set, _)| *set).map(|(_, letter)| letter);
        format!("{}{}", segment.argv[0].value.literal().unwrap_or("?"), letters.collect::<String>())
    });
    letters.collect::<Vec<_>>().join(" ")
}

#[test]
fn contexts_follow_the_structure() {
    for (source, expected) in [
        ("a; b", "a b"),
        ("a | b | c", "aOH bIOH cIH"),
        ("a | b && c", "aOH bIH cC"),
        ("a && b | c", "a bOCH cICH"),
        ("a || b; c", "a bC c"),
        ("a & b", "aBH b"),
        ("a && b & c", "aBH bCBH c"),
        ("( a; b ) | c", "aOH bOH cIH"),
        ("c | { a; b; }", "cOH aIH bIH"),
        ("if a; then b; else c; fi; d", "a bC cC d"),
        ("while a; do b; done", "aC bC"),
        ("for x in 1; do b; done", "bC"),
        ("case x in x) b;; esac", "bC"),
        ("f() { a; }; f", "aFC f"),
        ("echo $(a | b) | c", "echoOH aSOH bSIH cIH"),
        ("a | echo $(b)", "aOH echoIH bSIH"),
        ("a <(b) >(c)", "a bSOH cSIH"),
        ("coproc a; b", "aBH b"),
        ("coproc N { a; }; b", "aBH b"),
        ("! a; time b", "a b"),
        ("{ a; } &", "aBH"),
        ("a |& b", "aOH bIH"),
        ("x=$(a)", "aSH"),
        ("cat <<E\n$(a)\nE\n", "cat aSH"),
        ("cat <<E\n$(a)\nE\nb &", "cat aSH bBH"),
    ] {
        assert_eq!(contexts(source), expected, "{source:?}");
    }
}

#[test]
fn pipelines_share_a_number() {
    let script = parse("a | b | c; d | e");
    let numbers: Vec<u32> = script.segments.iter().map(|segment| segment.context.pipeline).collect();
    assert_eq!(numbers[0], numbers[1]);
    assert_eq!(numbers[1], numbers[2]);
    assert_eq!(numbers[3], numbers[4]);
    assert_ne!(numbers[2], numbers[3]);
}

/// Operator, descriptor and target of each redirect.
fn redirects(source: &str) -> Vec<(RedirectOp, Option<String>, Option<String>)> {
    let script = parse(source);
    assert_eq!(script.trust, Trust::Trusted, "{source:?}");
    let redirects = script.segments.into_iter().flat_map(|segment| segment.redirects);
    redirects
        .map(|redirect| (redirect.op, redirect.fd, redirect.target.value.literal().map(str::to_owned)))
        .collect()
}

#[test]
fn a_continuation_before_the_end_of_arithmetic_is_nothing() {
    for source in [
        "P $((a + 1\\\n))",
        "P $((\\\n1))",
        "P $[1\\\n]",
        "((a\\\n))",
        "for ((;;i++\\\n)); do P; break; done",
    ] {
        assert_eq!(code(source), "trusted", "{source:?}");
    }
}

#[test]
fn spans_never_split_a_character() {
    // Read past its end, `))` would be taken to be two of the bytes that follow.
    for source in ["((\\\n))\u{fffd}9((\\\n))9", "$((`))`é", "((\"))\"é))é", "$(('))é", "$[']é b"] {
        for segment in parse(source).segments {
            assert!(source.get(segment.span.start..segment.span.end).is_some(), "{source:?}");
            for arg in segment.argv {
                assert!(source.get(arg.span.start..arg.span.end).is_some(), "{source:?} {arg:?}");
            }
        }
    }
}

#[test]
fn a_bracket_with_quotes_or_expansions_is_one_pattern() {
    let value = |source: &str| parse(source).segments[0].argv[1].value.clone();
    for source in ["P [a$-c]", "P x[^]\\a]", "P [\"a\"]", "P [a$x", "P [`Q`]"] {
        let uncertain = match value(source) {
            Value::Unknown { splits } => splits,
            Value::Partial(pieces) => pieces.contains(&Piece::Unknown { splits: true }),
            Value::Literal(_) => false,
        };
        assert!(uncertain, "{source}: {:?}", value(source));
    }
    assert_eq!(value("P [a'b'"), Value::Literal("[ab".to_owned()));
    assert_eq!(value("P [a-c]"), Value::Partial(vec![Piece::Glob("[a-c]".to_owned())]));
}

#[test]
fn redirects_are_exact() {
    use RedirectOp::{
        Append, BothAppend, BothWrite, Clobber, DupIn, DupOut, HereString, Heredoc, Read, ReadWrite, Write,
    };
    type Expected = (RedirectOp, Option<&'static str>, Option<&'static str>);
    let cases: &[(&str, &[Expected])] = &[
        ("a > f", &[(Write, None, Some("f"))]),
        ("a 2>/dev/null", &[(Write, Some("2"), Some("/dev/null"))]),
        ("a 2>&1", &[(DupOut, Some("2"), Some("1"))]),
        ("a >&2", &[(DupOut, None, Some("2"))]),
        ("a >&f", &[(BothWrite, None, Some("f"))]),
        ("a 1>& f", &[(BothWrite, Some("1"), Some("f"))]),
        ("a >&$x", &[(BothWrite, None, None)]),
        ("a &> f", &[(BothWrite, None, Some("f"))]),
        ("a &>>f", &[(BothAppend, None, Some("f"))]),
        ("a >|f", &[(Clobber, None, Some("f"))]),
        ("a >>f <g", &[(Append, None, Some("f")), (Read, None, Some("g"))]),
        ("a <>f", &[(ReadWrite, None, Some("f"))]),
        ("a 3<&- 4>&5-", &[(DupIn, Some("3"), Some("-")), (DupOut, Some("4"), Some("5-"))]),
        ("exec {fd}>f", &[(Write, Some("{fd}"), Some("f"))]),
        ("a <<< 'b c'", &[(HereString, None, Some("b c"))]),
        ("a <<E\nb $x\nE\n", &[(Heredoc, None, None)]),
        ("a <<'E'\nb $x\nE\n", &[(Heredoc, None, Some("b $x\n"))]),
        ("a <<E\nb\\\nc \\$\nE\n", &[(Heredoc, None, Some("bc $\n"))]),
        ("a <<-E\n\tb\n\tE\n", &[(Heredoc, None, Some("b\n"))]),
        ("> f", &[(Write, None, Some("f"))]),
        ("{ a; } > f 2>&1", &[(Write, None, Some("f")), (DupOut, Some("2"), Some("1"))]),
        ("while a; do b; done < f", &[(Read, None, Some("f"))]),
        ("[[ a > b ]]", &[]),
        ("(( a > b ))", &[]),
        ("echo $((a>b))", &[]),
        ("a \\> f '>' g", &[]),
        ("a 2 >f", &[(Write, None, Some("f"))]),
        ("a2>f", &[(Write, None, Some("f"))]),
        ("a > 'x y'", &[(Write, None, Some("x y"))]),
        ("a > {b,c}", &[(Write, None, None)]),
    ];
    for (source, expected) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|(op, fd, text)| (*op, fd.map(str::to_owned), text.map(str::to_owned)))
            .collect();
        assert_eq!(redirects(source), expected, "{source:?}");
    }
}

#[test]
fn a_compound_has_a_segment_for_its_redirects() {
    let script = parse("{ a; b; } > f");
    let empty: Vec<_> = script.segments.iter().filter(|segment| segment.argv.is_empty()).collect();
    assert_eq!(empty.len(), 1);
    assert_eq!(empty[0].redirects.len(), 1);
}

#[test]
fn constants_hold_only_in_straight_line_code() {
    for (source, expected) in [
        ("x=rm; $x a", "rm a"),
        ("x='rm -rf'; $x a", "rm -rf a"),
        ("x='a b'; rm \"$x\"", "rm a b"),
        ("x=rm\ny=$x; ${y} a", "rm a"),
        ("rm${IFS}-rf$IFS/", "rm -rf /"),
        ("rm${IFS%??}a", "rm a"),
        ("rm a$IFS$x$", "rm ?"),
        ("x=; rm $x a", "rm a"),
        ("x=a; for i in 1; do rm $x; done", "rm a"),
        ("x=a; x=b; rm $x", "rm b"),
        ("true && x=a; rm $x", "rm ?"),
        ("(x=a); rm $x", "rm ?"),
        ("x=a; read x; rm $x", "rm ?"),
        ("x=a; for x in 1; do :; done; rm $x", "rm ?"),
        ("x=a; eval x=b; rm $x", "rm ?"),
        ("x=a; ((x++)); rm $x", "rm ?"),
        ("x=a; while :; do x=b; done; rm $x", "rm ?"),
        ("x=a; f() { rm $x; }; x=b; f", "rm ?"),
        ("x=a; unset x; rm $x", "rm ?"),
        ("x=a; printf -v x b; rm $x", "rm ?"),
        ("x=a; declare x=b; rm $x", "rm ?"),
        ("x=a; : ${x:=b}; rm $x", "rm ?"),
        ("x=a | true; rm $x", "rm ?"),
        ("x+=a; rm $x", "rm ?"),
        ("x=(a b); rm $x", "rm ?"),
        ("IFS=,; x=a,b; rm $x", "rm ?"),
        ("RANDOM=1; rm $RANDOM", "rm ?"),
        ("x=$(a); rm $x", "rm ?"),
        ("x=a; source f; rm $x", "rm ?"),
        ("x=a; \"$y\" b; rm $x", "rm ?"),
        ("x='*'; rm $x", "rm ?"),
    ] {
        let found = argvs(source).into_iter().find(|argv| argv[0] == "rm");
        assert_eq!(found.map(|argv| argv.join(" ")).as_deref(), Some(expected), "{source:?}");
    }
}

#[test]
fn arithmetic_gives_a_number() {
    let last = |source: &str| {
        parse(source).segments.last().and_then(|segment| segment.argv.last().cloned()).unwrap().value
    };
    let number = |rest: &str| Value::Partial(vec![Piece::Number, Piece::Known(rest.to_owned())]);
    for source in ["P \"$((x))p\"", "P $((x-1))p", "n=$((x)); P \"${n}p\"", "n=$((x)); P $((n))p"] {
        assert_eq!(last(source), number("p"), "{source}");
    }
    for source in [
        "P \"${n}p\"",
        "n=$x; P \"${n}p\"",
        "n=$((1)); n=$x; P \"${n}p\"",
        "n=$((1)); read n; P \"${n}p\"",
        "n=$((1)); n+=x; P \"${n}p\"",
        "n=$((1))$x; P \"${n}p\"",
        "if a; then n=$((1)); fi; P \"${n}p\"",
        "(n=$((1))); P \"${n}p\"",
        "f() { n=$((1)); }; P \"${n}p\"",
        "n=$((1)) Q; P \"${n}p\"",
    ] {
        assert_ne!(last(source), number("p"), "{source}");
    }
}

#[test]
fn only_a_sure_definition_makes_a_call() {
    let calls = |source: &str| parse(source).segments.iter().filter(|segment| segment.calls_function).count();
    assert_eq!(calls("f() { a; }; f; f x"), 2);
    assert_eq!(calls("function f { a; }\n'f'"), 1);
    assert_eq!(calls("f; f() { a; }"), 0);
    assert_eq!(calls("true && f() { a; }; f"), 0);
    assert_eq!(calls("(f() { a; }); f"), 0);
    assert_eq!(calls("if a; then f() { b; }; fi; f"), 0);
    assert_eq!(calls("f() { a; }; unset -f f; f"), 0);
    assert_eq!(parse("f() { a; }; g() ( b )").functions, ["f", "g"]);
}

#[test]
fn spans_point_at_the_source() {
    let source = "A=1 rm -rf \"a b\" >log; x=`echo \\`rm z\\``";
    let script = parse(source);
    let texts: Vec<_> = script.segments[0].argv.iter().map(|arg| arg.span.of(source)).collect();
    assert_eq!(texts, ["rm", "-rf", "\"a b\""]);
    assert_eq!(script.segments[0].span.of(source), "A=1 rm -rf \"a b\" >log");
    assert_eq!(script.segments[0].redirects[0].span.of(source), ">log");
    let inner =
        script.segments.iter().find(|segment| segment.argv.iter().any(|arg| arg.span.of(source) == "z"));
    assert!(inner.is_some(), "{script:#?}");
}

/// R8 holds by itself, not only where nothing else is wrong.
#[test]
fn every_byte_is_booked() {
    let traps = include_str!("../../tests/corpus/traps.txt").lines();
    let hidden =
        include_str!("../../tests/corpus/hidden.txt").lines().filter_map(|line| line.split_once('\t'));
    for line in traps.chain(hidden.map(|(_, text)| text)) {
        let source = line.replace('⏎', "\n").replace('→', "\t");
        // and each of its beginnings, most of them invalid
        for (end, _) in source.char_indices().chain([(source.len(), ' ')]) {
            let reading = lexer::read(&source[..end]);
            assert_eq!(reading.unbooked, None, "{:?}", &source[..end]);
        }
    }
}
