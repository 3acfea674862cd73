//! `allowed_commands`: token prefixes, what needs no entry, what an entry does not grant.

use super::*;

fn listed(tools: &str, entries: &str) -> Machine {
    one_state(&format!(
        "{{\"allowed_tools\": {tools}, \"allowed_commands\": {entries}, \"on\": {{\"X\": \"end\"}}}}"
    ))
}

fn runs(entries: &str, one: Segment) -> bool {
    decide(&listed("[\"Bash\"]", entries), &line(vec![one])).0 == Decision::Allow
}

#[test]
fn the_example_of_the_design_passes() {
    // cd x && FOO=1 pytest -q 2>&1 | tail -5
    let state = listed("[\"Bash\"]", "[\"pytest\"]");
    let whole = line(vec![
        segment("cd x").effect_free(),
        segment("pytest -q").opaque(),
        segment("tail -5").op(OpClass::FileRead).closed().filter(),
    ]);
    assert_eq!(decide(&state, &whole), (Decision::Allow, vec!["opaque_bounded"]));
}

#[test]
fn an_entry_covers_one_command_not_the_line() {
    let state = listed("[\"Bash\"]", "[\"pytest\"]");
    // pytest; rm -rf x: the published reading is `starts_with`.
    let smuggled =
        line(vec![segment("pytest").opaque(), segment("rm -rf x").op(OpClass::Destructive).closed()]);
    assert_eq!(decide(&state, &smuggled).0, Decision::Forbidden);
    for text in ["pytestx", "py", "./pytest", "/tmp/pytest", "tests/pytest"] {
        let (decision, codes) = decide(&state, &line(vec![segment(text).prefix(text).opaque()]));
        assert_eq!((decision, codes), (Decision::Forbidden, vec!["command_not_listed"]), "{text}");
    }
    for text in
        ["pytest", "pytest -q tests", "/usr/bin/pytest", ".venv/bin/pytest", "node_modules/.bin/pytest"]
    {
        assert_eq!(decide(&state, &line(vec![segment(text).opaque()])).0, Decision::Allow, "{text}");
    }
    let wrapped = line(vec![segment("pytest -q").wrapped("timeout 60 pytest -q").opaque()]);
    assert_eq!(decide(&state, &wrapped).0, Decision::Allow, "entries are held against the unwrapped command");
}

#[test]
fn entries_are_words() {
    for (entry, text, matches) in [
        ("git commit", "git commit -m x", true),
        ("git commit", "git add x", false),
        ("cargo test", "cargo test --all", true),
        ("cargo test", "cargo build", false),
        ("cargo test --locked", "cargo test --locked --all", true),
        ("cargo test --locked", "cargo test --all", false),
        ("npm run *", "npm run build", true),
        ("npm run te*", "npm run test", true),
        ("npm run te*", "npm run build", false),
        ("npm test *", "npm test", true),
        ("git diff*", "git diff", true),
        ("git diff*", "git difftool", true),
        ("Bash(git add:*)", "git add x", true),
        ("git add:*", "git add x", true),
        ("git add:*", "git addx", false),
        ("*", "anything at all", true),
        ("*-lint", "ruff-lint x", true),
        ("a*b*c", "axbxc", true),
        ("a*b*c", "axcxb", false),
        ("python manage.py test", "python manage.py test app", true),
        ("python manage.py test", "python evil.py manage.py test", false),
        ("python manage.py test", "python manage.py migrate test", false),
        ("python manage.py test", "python manage.py --settings=x test", true),
        ("docker run alpine", "docker run --name alpine evil", false),
        ("docker run alpine", "docker run alpine ls", true),
        ("./run.sh", "./run.sh x", true),
        ("./run.sh", "run.sh", false),
        ("", "ls", false),
        ("   ", "ls", false),
        ("'unfinished", "unfinished", false),
    ] {
        let one = segment(text).op(OpClass::Passthrough);
        assert_eq!(runs(&format!("[{entry:?}]"), one), matches, "{entry:?} on {text:?}");
    }
}

#[test]
fn the_canonical_prefix_decides_where_options_take_values() {
    // git -C push commit: `push` is the value of -C.
    let entry = "[\"git commit\"]";
    let commit = || segment("git -C push commit").prefix("git commit").op(OpClass::GitWrite);
    assert!(runs(entry, commit()));
    assert!(!runs("[\"git push\"]", commit()));
}

#[test]
fn an_unknown_word_matches_no_entry() {
    assert!(!runs("[\"*\"]", segment("\u{fffd}").prefix("").opaque()));
    assert!(!runs(
        "[\"npm run *\", \"npm run te*\"]",
        segment("npm run-x \u{fffd}").prefix("npm \u{fffd}").opaque()
    ));
}

#[test]
fn a_list_takes_nothing_away_from_other_tools() {
    let state = listed("[\"Bash\", \"Read\"]", "[\"pytest\"]");
    let cat = || segment("cat f").op(OpClass::FileRead).on("f").closed();
    assert_eq!(decide(&state, &line(vec![cat()])).0, Decision::Allow, "closed, and Read allows it");
    let without = listed("[\"Bash\"]", "[\"pytest\"]");
    assert_eq!(decide(&without, &line(vec![cat()])), (Decision::Forbidden, vec!["missing_tool"]));
    let sleep = || segment("sleep 5").op(OpClass::Passthrough).closed();
    assert_eq!(decide(&state, &line(vec![sleep()])), (Decision::Forbidden, vec!["command_not_listed"]));
    let open = segment("tar tf x").op(OpClass::FileRead).on("x");
    assert_eq!(
        decide(&state, &line(vec![open])),
        (Decision::Forbidden, vec!["command_not_listed"]),
        "not closed"
    );
    let date = || segment("date").op(OpClass::Passthrough).pure();
    assert_eq!(decide(&state, &line(vec![date()])).0, Decision::Allow);
}

#[test]
fn an_entry_does_not_grant_what_redirects_and_options_add() {
    let state = listed("[\"Bash\", \"Read\"]", "[\"pytest\", \"find\"]");
    let redirected = segment("pytest").opaque().op(OpClass::FileWrite).on("out");
    let (decision, codes) = decide(&state, &line(vec![redirected]));
    assert_eq!((decision, codes[0]), (Decision::Forbidden, "beyond_entry"));
    // git -c core.pager=evil log: the bare entry is plain, the option hides what runs.
    let hidden = segment("git -c core.pager=evil log").prefix("git log").op(OpClass::GitRead).opaque();
    let state = listed("[\"Bash\", \"Read\"]", "[\"pytest\", \"find\", \"git log\"]");
    assert_eq!(decide(&state, &line(vec![hidden])), (Decision::Forbidden, vec!["beyond_entry"]));
    let deleting = segment("find . -delete").op(OpClass::FileSearch).op(OpClass::Destructive);
    assert_eq!(decide(&state, &line(vec![deleting])), (Decision::Forbidden, vec!["beyond_entry"]));
}

#[test]
fn an_entry_grants_what_the_bare_command_does() {
    let state = listed("[\"Bash\"]", "[\"git commit\", \"rm\", \"cp\"]");
    let commit = segment("git commit -m x").op(OpClass::GitWrite).tool("git_commit");
    let remove = segment("rm -rf build").op(OpClass::Destructive);
    assert_eq!(decide(&state, &line(vec![commit, remove])), (Decision::Allow, vec![]));
    let push = segment("git push").op(OpClass::GitWrite).tool("git_push");
    assert_eq!(decide(&state, &line(vec![push])), (Decision::Forbidden, vec!["missing_sentinel"]));
}

#[test]
fn without_an_execute_tool_the_list_has_no_effect() {
    let state = listed("[\"Read\"]", "[\"pytest\"]");
    assert_eq!(
        decide(&state, &line(vec![segment("pytest").opaque()])),
        (Decision::Forbidden, vec!["opaque"])
    );
    let cat = segment("cat f").op(OpClass::FileRead).on("f");
    assert_eq!(decide(&state, &line(vec![cat])).0, Decision::Allow);
}

#[test]
fn the_refusal_lists_the_entries() {
    let state = listed("[\"Bash\"]", "[\"pytest\", \"npm run *\"]");
    let answer = ask(&state, "s", "make", &line(vec![segment("make").opaque()]));
    assert_eq!(answer.reasons[0].needs, ["pytest", "npm run *"]);
    assert_eq!(answer.reasons[0].message, "`make` is not among the commands that this state lists");
}
