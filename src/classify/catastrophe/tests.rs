use super::find;

fn shape(line: &str) -> Option<&'static str> {
    find(line).map(|found| found.shape)
}

/// `tests/corpus/catastrophe.txt`: blocks of one script each, headed by `## shape` or `## none`.
#[test]
fn corpus() {
    let text = include_str!("../../../tests/corpus/catastrophe.txt");
    let (mut count, mut wrong) = (0, Vec::new());
    let mut expected = "none";
    for raw in text.lines().filter(|line| !line.is_empty()) {
        if let Some(head) = raw.strip_prefix("## ") {
            expected = head;
            continue;
        }
        // One script a line; `⏎` stands for a newline, `→` for a tab.
        let line = raw.replace('⏎', "\n").replace('→', "\t");
        count += 1;
        let got = shape(&line).unwrap_or("none");
        if got != expected {
            wrong.push(format!("{raw}  expected {expected}, got {got}"));
        }
    }
    assert!(count > 300, "corpus of {count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_span_is_the_command() {
    let line = "ls; rm -rf /; ls";
    let found = find(line).unwrap();
    assert_eq!(found.span.of(line), "rm -rf /");
    let line = "echo x && sudo sh -c 'rm -rf /' && ls";
    assert_eq!(find(line).unwrap().span.of(line), "sudo sh -c 'rm -rf /'");
}

#[test]
fn hostile_sizes_end() {
    let cases = [
        "$(".repeat(20_000),
        "`".repeat(30_001),
        "{a,".repeat(10_000),
        "(".repeat(30_000) + &")".repeat(30_000),
        "((".repeat(20_000),
        "${x:-".repeat(10_000),
        "\"$(".repeat(10_000),
        "a=".repeat(20_000),
        "case x in ".repeat(5_000),
        "<<E ".repeat(10_000) + "\n",
        "f(){ f|f& };".to_owned() + &"f;".repeat(20_000),
        "eval ".repeat(10_000) + "x",
        "sudo ".repeat(10_000) + "x",
        "find . -exec ".repeat(3_000) + "x",
        format!("x={}; {}", "y".repeat(3_000), "(cd /; $x);".repeat(3_000)),
        "{".repeat(500) + " " + &"{".repeat(500) + &" {{{{{{{{".repeat(1_000),
        "f(){ g $1; }; g(){ f $1; }; f /x".to_owned(),
        "a(){ b $1;b $1;};b(){ c $1;c $1;};c(){ d $1;d $1;};d(){ e $1;e $1;};a /".to_owned(),
        "*".repeat(60_000),
        "[".repeat(60_000),
        "$'\\".repeat(20_000),
        "\\\n".repeat(30_000),
        "fi;".repeat(20_000),
        "{ ".repeat(20_000) + &"};".repeat(20_000),
        "<(".repeat(20_000),
        "$((".repeat(20_000),
        "a=(".repeat(20_000),
        "[[ ".repeat(20_000),
        "$[".repeat(20_000),
        "\"${x:-".repeat(10_000),
        "f() ".repeat(20_000),
        "\\`".repeat(10_000) + "`",
        format!("`{}", "\\\\\\`".repeat(10_000)),
        "trap \"$(".repeat(8_000),
        "for x in ".repeat(8_000),
    ];
    for case in cases {
        let started = std::time::Instant::now();
        let _ = find(&case);
        let took = started.elapsed();
        let head: String = case.chars().take(20).collect();
        // Against a hang, not for speed: what is not linear takes hours here.
        assert!(took.as_secs() < 60, "{head}: {took:?}");
    }
}
