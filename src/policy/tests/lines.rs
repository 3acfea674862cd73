//! Lines against states without command lists: classes, opacity, trust, hints, messages.

use super::*;
use crate::classify::Catastrophe;

#[test]
fn a_refusal_names_class_right_and_way_forward() {
    let text = "cat > config.yml";
    let line = line(vec![segment(text).op(OpClass::FileWrite).on("config.yml").closed()]);
    let answer = ask(&machine("bugfix"), "planning", text, &line);
    assert_eq!(answer.decision, Decision::Forbidden);
    let reason = &answer.reasons[0];
    assert_eq!(reason.message, "`cat > config.yml` writes a file (FileWrite: config.yml)");
    assert_eq!((reason.code, reason.needs.join(" or ").as_str()), ("missing_tool", "Write or Edit"));
    assert_eq!((reason.class, reason.subject.as_deref()), (Some(OpClass::FileWrite), Some("config.yml")));
    let hint = answer.hint.unwrap();
    let step = &hint.path[0];
    assert_eq!(
        (hint.path.len(), step.event.as_str(), step.target.as_str()),
        (1, "PLAN_READY", "implementing")
    );
    assert_eq!(hint.grants, ["write_file", "edit_file"]);
}

#[test]
fn each_class_needs_what_the_table_says() {
    use OpClass::*;
    let all = [
        FileWrite,
        FileModify,
        FileRead,
        ContentSearch,
        FileSearch,
        Destructive,
        Network,
        GitWrite,
        GitRead,
        Passthrough,
    ];
    for (tool, classes) in [
        ("Write", &[FileWrite, FileModify][..]),
        ("Edit", &[FileWrite, FileModify]),
        ("Read", &[FileRead, ContentSearch, FileSearch, GitRead]),
        ("Grep", &[ContentSearch, FileSearch]),
        ("Glob", &[FileSearch]),
        ("LS", &[FileSearch]),
        ("__DESTRUCTIVE__", &[Destructive]),
        ("WebFetch", &[Network]),
        ("http_request", &[Network]),
        ("deploy", &[Network]),
        ("__GIT_WRITE__", &[GitWrite]),
        ("Bash", &[Passthrough]),
        ("run_command", &[Passthrough]),
        ("run_test", &[Passthrough]),
        ("run_build", &[Passthrough]),
        ("git_commit", &[]),
        ("git_log", &[]),
        ("delete_file", &[]),
        ("TodoWrite", &[]),
        ("stranger", &[]),
    ] {
        let one = one_state(&format!("{{\"allowed_tools\": [\"{tool}\"], \"on\": {{\"X\": \"end\"}}}}"));
        for class in all {
            let (decision, _) = decide(&one, &line(vec![segment("program x").op(class)]));
            let expected = if classes.contains(&class) { Decision::Allow } else { Decision::Forbidden };
            assert_eq!(decision, expected, "{tool}: {class:?}");
        }
    }
}

#[test]
fn without_a_list_a_state_has_the_default_and_no_sentinel() {
    use OpClass::*;
    let state = one_state("{\"on\": {\"X\": \"end\"}}");
    for class in [FileWrite, FileModify, FileRead, ContentSearch, FileSearch, Network, GitRead, Passthrough] {
        assert_eq!(decide(&state, &line(vec![segment("p").op(class)])).0, Decision::Allow, "{class:?}");
    }
    for (class, tool) in [(Destructive, "delete_file"), (GitWrite, "git_commit"), (GitWrite, "git_push")] {
        let (decision, codes) = decide(&state, &line(vec![segment("p").op(class).tool(tool)]));
        assert_eq!((decision, codes), (Decision::Forbidden, vec!["missing_sentinel"]), "{class:?} {tool}");
    }
}

#[test]
fn disallowed_tools_win() {
    use OpClass::*;
    for (lists, class, tool, decision) in [
        (
            "\"allowed_tools\": [\"Read\", \"Edit\"], \"disallowed_tools\": [\"Write\"]",
            FileWrite,
            None,
            Decision::Forbidden,
        ),
        (
            "\"allowed_tools\": [\"Read\", \"Edit\"], \"disallowed_tools\": [\"Write\"]",
            FileModify,
            None,
            Decision::Allow,
        ),
        (
            "\"allowed_tools\": [\"Write\"], \"disallowed_tools\": [\"write_file\"]",
            FileModify,
            None,
            Decision::Forbidden,
        ),
        ("\"disallowed_tools\": [\"Bash\"]", Passthrough, None, Decision::Forbidden),
        ("\"disallowed_tools\": [\"run_test\"]", Passthrough, None, Decision::Forbidden),
        ("\"disallowed_tools\": [\"Grep\"]", ContentSearch, None, Decision::Forbidden),
        ("\"disallowed_tools\": [\"Grep\"]", FileRead, None, Decision::Allow),
        ("\"disallowed_tools\": [\"WebFetch\"]", Network, None, Decision::Forbidden),
        (
            "\"allowed_tools\": [\"run_test\"], \"disallowed_tools\": [\"Bash\"]",
            Passthrough,
            None,
            Decision::Allow,
        ),
        (
            "\"allowed_tools\": [\"__GIT_WRITE__\"], \"disallowed_tools\": [\"git_push\"]",
            GitWrite,
            Some("git_push"),
            Decision::Forbidden,
        ),
        (
            "\"allowed_tools\": [\"__GIT_WRITE__\"], \"disallowed_tools\": [\"git_push\"]",
            GitWrite,
            Some("git_commit"),
            Decision::Allow,
        ),
        (
            "\"allowed_tools\": [\"Read\"], \"disallowed_tools\": [\"git_log\"]",
            GitRead,
            Some("git_log"),
            Decision::Forbidden,
        ),
    ] {
        let state = one_state(&format!("{{{lists}, \"on\": {{\"X\": \"end\"}}}}"));
        let mut one = segment("program x").op(class);
        if let Some(tool) = tool {
            one = one.tool(tool);
        }
        let (found, codes) = decide(&state, &line(vec![one]));
        assert_eq!(found, decision, "{lists} {class:?}");
        if decision == Decision::Forbidden {
            assert!(matches!(codes[0], "tool_disallowed" | "missing_tool"), "{codes:?}");
        }
    }
}

#[test]
fn opaque_needs_an_execute_tool() {
    let line = line(vec![segment("pytest -q").opaque()]);
    let bugfix = machine("bugfix");
    let refused = ask(&bugfix, "planning", "pytest -q", &line);
    assert_eq!((refused.decision, codes(&refused)), (Decision::Forbidden, vec!["opaque"]));
    let way: Vec<_> = refused.hint.clone().unwrap().path.into_iter().map(|step| step.event).collect();
    assert_eq!(way, ["PLAN_READY", "DONE"]);
    assert_eq!(refused.hint.unwrap().grants, ["run_test"]);
    let allowed = ask(&bugfix, "testing", "pytest -q", &line);
    assert_eq!((allowed.decision, codes(&allowed)), (Decision::Allow, vec!["opaque_bounded"]));
    let ended = ask(&bugfix, "completed", "pytest -q", &line);
    assert_eq!((ended.decision, codes(&ended), ended.hint), (Decision::Forbidden, vec!["final_state"], None));
    let reading = ask(&machine("research"), "exploring", "pytest -q", &line);
    assert_eq!((reading.decision, codes(&reading)), (Decision::Allow, vec!["opaque_read_only"]));
}

#[test]
fn what_an_opaque_command_shows_is_still_judged() {
    let line = line(vec![segment("python gen.py > out").opaque().op(OpClass::FileWrite).on("out")]);
    assert_eq!(
        ask(&machine("bugfix"), "testing", "python gen.py > out", &line).decision,
        Decision::Forbidden
    );
    assert_eq!(
        ask(&machine("research"), "exploring", "python gen.py > out", &line).decision,
        Decision::Forbidden
    );
    assert_eq!(
        ask(&machine("feature"), "implementing", "python gen.py > out", &line).decision,
        Decision::Allow
    );
}

#[test]
fn what_has_no_effect_needs_no_tool() {
    let state = one_state("{\"allowed_tools\": [], \"on\": {\"X\": \"end\"}}");
    let free = [
        segment("cd src").effect_free(),
        segment("date").op(OpClass::Passthrough).pure(),
        segment("head").op(OpClass::FileRead).filter(),
        segment("grep x").op(OpClass::ContentSearch).filter(),
    ];
    for one in free {
        let name = one.0.program.clone();
        assert_eq!(decide(&state, &line(vec![one])).0, Decision::Allow, "{name}");
    }
    // A redirect is an effect, whatever the program is.
    for one in [
        segment("echo x").effect_free().op(OpClass::FileWrite).on("f"),
        segment("date").pure().op(OpClass::FileWrite).on("f"),
        segment("head").filter().op(OpClass::FileRead).on("f"),
        segment("sleep 5").op(OpClass::Passthrough),
        segment("unheard-of"),
    ] {
        let name = one.0.program.clone();
        assert_eq!(decide(&state, &line(vec![one])).0, Decision::Forbidden, "{name}");
    }
}

#[test]
fn the_exact_tool_is_enough_and_no_more() {
    let bugfix = machine("bugfix");
    let commit = line(vec![segment("git commit -m x").op(OpClass::GitWrite).tool("git_commit")]);
    let push =
        segment("git push").op(OpClass::GitWrite).tool("git_push").op(OpClass::Network).tool("git_push");
    let push = line(vec![push]);
    assert_eq!(ask(&bugfix, "committing", "git commit -m x", &commit).decision, Decision::Allow);
    let refused = ask(&bugfix, "committing", "git push", &push);
    assert_eq!((refused.decision, refused.hint), (Decision::Forbidden, None));
    assert_eq!(refused.reasons[0].needs, ["git_push", "__GIT_WRITE__"]);
    let early = ask(&bugfix, "planning", "git commit -m x", &commit);
    assert_eq!((early.decision, codes(&early)), (Decision::Forbidden, vec!["missing_sentinel"]));
    // Four edges away, the third with an approval: the way is told whole.
    let way: Vec<String> = early.hint.unwrap().path.into_iter().map(|step| step.target).collect();
    assert_eq!(way, ["implementing", "testing", "review", "committing"]);
    let pushing = one_state("{\"allowed_tools\": [\"git_push\"], \"on\": {\"X\": \"end\"}}");
    assert_eq!(decide(&pushing, &push).0, Decision::Allow);
    let curl = line(vec![segment("curl x").op(OpClass::Network).host("x")]);
    assert_eq!(decide(&pushing, &curl).0, Decision::Forbidden, "git_push reaches the remote, not the world");
}

#[test]
fn delete_file_is_enough_for_a_plain_removal_only() {
    let state = one_state("{\"allowed_tools\": [\"delete_file\"], \"on\": {\"X\": \"end\"}}");
    let plain = line(vec![segment("rm f").op(OpClass::Destructive).tool("delete_file")]);
    let tree = line(vec![segment("rm -r d").op(OpClass::Destructive)]);
    assert_eq!((decide(&state, &plain).0, decide(&state, &tree).0), (Decision::Allow, Decision::Forbidden));
}

#[test]
fn the_workspace_bounds_delete_file() {
    let state = one_state("{\"allowed_tools\": [\"delete_file\"], \"on\": {\"X\": \"end\"}}");
    let policy = Policy::compile(&state, RuleSet::default()).unwrap().within("/work/a");
    let law = policy.state("s").unwrap();
    for (path, decision) in [
        ("/work/a/f", Decision::Allow),
        ("/work/a/d/f", Decision::Allow),
        ("/work/ab/f", Decision::Forbidden),
        ("/work/a", Decision::Forbidden),
        ("/work/a/", Decision::Forbidden),
        ("/etc/f", Decision::Forbidden),
        ("/work/a/../b", Decision::Forbidden),
    ] {
        let line = line(vec![segment("rm f").op(OpClass::Destructive).on(path).tool("delete_file")]);
        assert_eq!(policy.evaluate(law, "rm f", &line).decision, decision, "{path}");
    }
}

#[test]
fn untrusted_counts_as_opaque_or_is_refused() {
    let line = untrusted(line(vec![]));
    let answer = ask(&machine("bugfix"), "planning", "echo 'x", &line);
    assert_eq!((answer.decision, codes(&answer)), (Decision::Forbidden, vec!["untrusted"]));
    assert!(answer.reasons[0].span.is_some() && answer.reasons[0].message.contains("the quote never ends"));
    let answer = ask(&machine("bugfix"), "testing", "echo 'x", &line);
    assert_eq!((answer.decision, codes(&answer)), (Decision::Allow, vec!["untrusted_bounded"]));
    let listed = one_state(
        "{\"allowed_tools\": [\"Bash\"], \"allowed_commands\": [\"pytest\"], \"on\": {\"X\": \"end\"}}",
    );
    assert_eq!(decide(&listed, &line), (Decision::Forbidden, vec!["untrusted_with_rules"]));
    let rules = RuleSet { argv_judged: true, ..RuleSet::default() };
    let policy = Policy::compile(&listed, rules).unwrap();
    assert_eq!(policy.evaluate(policy.state("s").unwrap(), "echo 'x", &line).decision, Decision::Allow);
    // `opaque: read_only` is for what can be read.
    assert_eq!(ask(&machine("research"), "exploring", "echo 'x", &line).decision, Decision::Forbidden);
}

#[test]
fn opacity_of_the_line_itself_counts() {
    let mut line = line(vec![segment("echo").effect_free()]);
    line.opaque = Some(Opacity {
        code: "expansion",
        reason: "an expansion that runs code".into(),
        span: Span::new(5, 9),
    });
    assert_eq!(ask(&machine("bugfix"), "planning", "echo ${x@P}", &line).decision, Decision::Forbidden);
    assert_eq!(ask(&machine("bugfix"), "testing", "echo ${x@P}", &line).decision, Decision::Allow);
}

#[test]
fn nothing_overrides_a_catastrophe() {
    let state = one_state("{\"allowed_tools\": [\"Bash\", \"__DESTRUCTIVE__\"], \"on\": {\"X\": \"end\"}}");
    let mut line = line(vec![segment("rm -rf /").op(OpClass::Destructive)]);
    assert_eq!(decide(&state, &line).0, Decision::Allow, "by its class it would pass");
    line.catastrophe = Some(Catastrophe { shape: "remove_root", span: Span::new(0, 8) });
    let policy = Policy::compile(&state, rules::user("rm", crate::workflow::model::Verdict::Allow)).unwrap();
    let answer = policy.evaluate(policy.state("s").unwrap(), "rm -rf /", &line);
    assert_eq!((answer.decision, answer.reasons[0].code), (Decision::Forbidden, "catastrophe"));
    assert_eq!(answer.hint, None);
}

#[test]
fn commands_of_a_person_are_refused_in_a_line() {
    let state = one_state("{\"allowed_tools\": [\"Bash\"], \"on\": {\"X\": \"end\"}}");
    for text in ["swbox approve apr_1", "swbox trust", "swbox session end", "/usr/bin/swbox --json reject x"]
    {
        let (decision, codes) = decide(&state, &line(vec![segment(text).opaque()]));
        assert_eq!((decision, codes), (Decision::Forbidden, vec!["person_command"]), "{text}");
    }
}

#[test]
fn commands_of_an_agent_stand_alone() {
    let state = one_state("{\"allowed_tools\": [\"Bash\"], \"on\": {\"X\": \"end\"}}");
    for text in ["swbox transition DONE", "swbox state --json", "/usr/bin/swbox kill j1"] {
        let (decision, codes) = decide(&state, &line(vec![segment(text).opaque()]));
        assert_eq!((decision, codes), (Decision::Forbidden, vec!["agent_command"]), "{text}");
    }
}

#[test]
fn a_hint_says_what_its_edges_ask_for() {
    let text = r#"{"id": "h", "initial": "a", "guards": {"g": {"field": "x", "op": "exists", "source": "observed"}}, "states": {
        "a": {"allowed_tools": ["Read"], "on": {
            "FREE_LONG": "b",
            "ASKED": {"target": "w", "requires_approval": true, "guard": "g"},
            "BRANCH": [{"target": "v", "guards": ["g"]}, {"target": "a"}],
            "SUB": {"invoke": "other", "on_complete": "n"},
            "FORK": {"fork": {"branches": {"k": {"initial": "w", "terminal": "end"}}, "on_complete": "n"}}
        }},
        "b": {"allowed_tools": ["Read"], "on": {"GO": "w"}},
        "w": {"allowed_tools": ["Write"], "on": {"X": "end"}},
        "v": {"allowed_tools": ["Edit"], "on": {"X": "end"}},
        "n": {"allowed_tools": ["WebFetch"], "on": {"X": "end"}},
        "end": {"type": "final"}}}"#;
    let machine = machine(text);
    let answer = ask(&machine, "a", "p", &line(vec![segment("p").op(OpClass::FileWrite)]));
    let hint = answer.hint.unwrap();
    // Of the two one-edge ways the one that asks for less; the free one is longer.
    assert_eq!(
        (hint.path[0].event.as_str(), hint.path[0].requires.as_slice()),
        ("BRANCH", &["guard".to_owned()][..])
    );
    let answer = ask(&machine, "a", "p", &line(vec![segment("p").op(OpClass::Network)]));
    let step = &answer.hint.unwrap().path[0];
    assert_eq!((step.event.as_str(), step.requires.as_slice()), ("SUB", &["invoke".to_owned()][..]));
    let both = line(vec![segment("p").op(OpClass::FileWrite), segment("q").op(OpClass::Network)]);
    assert_eq!(ask(&machine, "a", "p; q", &both).hint, None, "no state allows the whole line");
}

#[test]
fn text_in_messages_cannot_move_the_terminal() {
    let text = "cat \u{1b}[2J\u{202e}x > f\nsecond line";
    let line = line(vec![segment(text).op(OpClass::FileWrite).on("f\u{7}")]);
    let mut line = line;
    line.segments[0].span = Span::new(0, text.len());
    let answer = ask(&machine("bugfix"), "planning", text, &line);
    let message = &answer.reasons[0].message;
    assert_eq!(message, "`cat \\u{1b}[2J\\u{202e}x > f …` writes a file (FileWrite: f\\u{7})");
}
