//! Values of words; each line was run in bash 5.2.

use super::super::parse;
use super::super::word::{Piece, Value};

#[test]
fn arithmetic_sets_what_the_text_of_a_variable_sets() {
    let last = |source: &str| {
        parse(source).segments.last().and_then(|segment| segment.argv.last().cloned()).unwrap().value
    };
    for source in [
        "i=rm; x=i=7; : $((x)); P $i",
        "i=rm; x='i++'; [[ x -gt 1 ]]; P $i",
        "i=rm; a=i; x=\"$a=7\"; : $((x)); P $i",
        "i=rm; for x in i=7; do : $((x)); done; P $i",
        "i=rm; set -- i=7; : $(($1)); P $i",
        "i=rm; f() { : $(($1)); }; f i=7; P $i",
    ] {
        assert!(last(source).literal().is_none(), "{source}");
    }
    for source in
        ["i=rm; x=7; : $((x)); P $i", "i=rm; x=--i=$i; : $((1 + 1)); P rm", "i=rm; x=--j=$i; : $((1)); P $i"]
    {
        assert_eq!(last(source), Value::Literal("rm".to_owned()), "{source}");
    }
}

#[test]
fn an_unset_job_number_keeps_what_stands_before_it_together() {
    let words = |source: &str| {
        let script = parse(source);
        script.segments.last().unwrap().argv.iter().map(|arg| arg.value.clone()).collect::<Vec<_>>()
    };
    let any = Value::Unknown { splits: true };
    for source in ["P$IFS$!", "x='a b'; $x$!", "x='a b'; \"$x\"$x$!"] {
        assert_eq!(words(source), std::slice::from_ref(&any), "{source}");
    }
    assert_eq!(words("x='a b'; P $x"), ["P", "a", "b"].map(|word| Value::Literal(word.to_owned())));
    assert_eq!(words("x='a b'; P \"$x$!\"")[1].known_prefix(), "a b");
    assert_eq!(words("P a$!")[1].known_prefix(), "a");
}

#[test]
fn the_home_directory_is_known_as_such_unless_it_is_assigned() {
    let first = |source: &str| {
        parse(source).segments.last().and_then(|segment| segment.argv.last().cloned()).unwrap().value
    };
    let home = |rest: &str| Value::Partial(vec![Piece::Home, Piece::Known(rest.to_owned())]);
    assert_eq!(first("rm ~/a"), home("/a"));
    assert_eq!(first("rm \"$HOME\"/a"), home("/a"));
    assert_eq!(first("rm ${HOME}/a"), home("/a"));
    assert_eq!(
        first("make PREFIX=~/a"),
        Value::Partial(vec![Piece::Known("PREFIX=".to_owned()), Piece::Home, Piece::Known("/a".to_owned())])
    );
    assert_eq!(first("rm '~/a'"), Value::Literal("~/a".to_owned()));
    assert_eq!(first("HOME=/x; rm ~/a"), Value::Literal("/x/a".to_owned()));
    assert!(
        matches!(first("read HOME; rm ~/a"), Value::Partial(pieces) if pieces[0] == Piece::Unknown { splits: false })
    );
    assert_eq!(first("f() { rm ~/a; }"), home("/a"));
}

#[test]
fn an_empty_member_of_braces_is_no_word() {
    let words = |source: &str| {
        let script = parse(source);
        script.segments[0].argv.iter().map(|arg| arg.value.literal().map(str::to_owned)).collect::<Vec<_>>()
    };
    for (source, expected) in [
        ("P {a,,}", &["P", "a"][..]),
        ("P {,}", &["P"]),
        ("P {a,\"\",}", &["P", "a", ""]),
        ("P {,}{a,}", &["P", "a", "a"]),
        ("P x{a,,}", &["P", "xa", "x", "x"]),
        ("P \"{a,}\" ''", &["P", "{a,}", ""]),
        ("{,rm} x", &["rm", "x"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|word| Some((*word).to_owned())).collect();
        assert_eq!(words(source), expected, "{source}");
    }
}

#[test]
fn a_list_in_quotes_is_one_over_a_continued_line_too() {
    for source in ["P \"$\\\n{x[@]}\"", "P \"${x[@]}\"", "P \"$\\\n@\""] {
        let script = parse(source);
        assert_eq!(script.segments[0].argv[1].value, Value::Unknown { splits: true }, "{source:?}");
    }
}

#[test]
fn a_name_goes_on_in_a_brace_member_over_a_continued_line() {
    for source in ["P $\\\nx{a,b}", "P $x\\\ny{a,b}", "P $\\\n\\\n{a,b}", "P $x{a,b}"] {
        let script = parse(source);
        assert_eq!(script.segments[0].argv[1].value, Value::Unknown { splits: true }, "{source:?}");
    }
}
