//! Rights by state and line: the table of design section 4.

use super::*;

fn request() -> RightsRequest<'static> {
    RightsRequest { hosts: &[], narrow: true }
}

fn of(machine: &Machine, state: &str, line: &Classification, request: RightsRequest<'_>) -> Rights {
    let policy = Policy::compile(machine, RuleSet::default()).unwrap();
    policy.rights(policy.state(state).unwrap(), line, request)
}

fn opaque() -> Classification {
    line(vec![segment("make").opaque()])
}

fn cat() -> Classification {
    line(vec![segment("cat f").op(OpClass::FileRead).on("f").closed()])
}

fn write() -> Classification {
    line(vec![segment("cp a b").op(OpClass::FileRead).op(OpClass::FileWrite).closed()])
}

fn git(tool: &'static str) -> Segment {
    segment("git x").op(OpClass::GitWrite).tool(tool)
}

fn tools(tools: &str) -> Machine {
    one_state(&format!("{{\"allowed_tools\": [{tools}], \"on\": {{\"X\": \"end\"}}}}"))
}

#[test]
fn the_table() {
    use NetworkRight as N;
    use WorkspaceRight as W;
    for (list, line, workspace, network) in [
        ("\"Glob\"", opaque(), W::List, N::None),
        ("", opaque(), W::List, N::None),
        ("\"Read\"", opaque(), W::Read, N::None),
        ("\"Grep\"", opaque(), W::Read, N::None),
        ("\"git_log\"", opaque(), W::Read, N::None),
        ("\"Read\", \"run_test\"", opaque(), W::ThrowAway, N::Loopback),
        ("\"Bash\"", opaque(), W::ThrowAway, N::Loopback),
        ("\"Read\", \"run_test\"", cat(), W::Read, N::None),
        ("\"Read\", \"Write\"", write(), W::Write, N::None),
        ("\"Read\", \"Edit\", \"Bash\"", opaque(), W::Write, N::Loopback),
        ("\"Read\", \"Write\", \"Bash\"", cat(), W::Read, N::None),
        ("\"Read\"", write(), W::Read, N::None),
    ] {
        let rights = of(&tools(list), "s", &line, request());
        assert_eq!(
            (rights.workspace, rights.network),
            (workspace, network),
            "[{list}] {:?}",
            line.segments[0].raw
        );
        assert!(!rights.git_write);
    }
}

#[test]
fn narrowing_takes_away_and_says_so() {
    let state = tools("\"Read\", \"Write\", \"Bash\", \"WebFetch\", \"git_commit\"");
    let hosts = ["example.org".to_owned()];
    let wide = RightsRequest { hosts: &hosts, narrow: false };
    let rights = of(&state, "s", &cat(), wide);
    assert_eq!(rights.workspace, WorkspaceRight::Write);
    assert_eq!(rights.network, NetworkRight::Hosts(hosts.to_vec()));
    assert!(rights.narrowed.is_empty());
    let rights = of(&state, "s", &cat(), RightsRequest { narrow: true, ..wide });
    assert_eq!((rights.workspace, &rights.network), (WorkspaceRight::Read, &NetworkRight::None));
    assert_eq!(rights.narrowed, ["write", "network"]);
    // One command that is not closed, an untrusted line or an opaque part: nothing is taken away.
    let mixed =
        line(vec![segment("cat f").op(OpClass::FileRead).closed(), segment("tool").op(OpClass::FileRead)]);
    for line in [mixed, untrusted(cat()), opaque()] {
        assert!(of(&state, "s", &line, RightsRequest { narrow: true, ..wide }).narrowed.is_empty());
    }
    // In a read state there is nothing to take.
    assert!(of(&tools("\"Read\""), "s", &cat(), request()).narrowed.is_empty());
}

#[test]
fn rights_do_not_depend_on_the_decision() {
    // `--decide warn` runs what was refused: planning still grants no write.
    let rights = of(&machine("bugfix"), "planning", &write(), request());
    assert_eq!(rights.workspace, WorkspaceRight::Read);
    let ended = of(&machine("bugfix"), "completed", &opaque(), request());
    assert_eq!(
        (ended.workspace, ended.network, ended.git_write),
        (WorkspaceRight::List, NetworkRight::None, false)
    );
}

#[test]
fn git_directories_open_for_lines_of_git_alone() {
    let bugfix = machine("bugfix");
    let commit = || git("git_commit");
    let message = segment("cat").op(OpClass::FileRead).filter().closed();
    for (segments, open) in [
        (vec![commit()], true),
        (vec![git("git_add"), commit()], true),
        (vec![segment("cd x").effect_free(), commit(), message], true),
        (vec![commit(), segment("make").opaque()], false),
        (vec![commit(), segment("tool").op(OpClass::FileRead)], false),
        (vec![git("git_commit").opaque()], false),
        (vec![segment("cat f").op(OpClass::FileRead).closed()], false),
        // What changes files beside git would have the git directory too.
        (vec![commit(), segment("rm f").op(OpClass::Destructive).closed()], false),
        (vec![segment("echo x").op(OpClass::FileWrite).effect_free(), commit()], false),
        (vec![segment("sed -i s/a/b/ f").op(OpClass::FileModify).closed(), commit()], false),
        (vec![git("git_rm").op(OpClass::Destructive).tool("git_rm"), commit()], true),
    ] {
        let line = line(segments);
        let rights = of(&bugfix, "committing", &line, request());
        assert_eq!(rights.git_write, open, "{:?}", line.segments);
        assert_eq!(rights.workspace, WorkspaceRight::Read, "review and commit change no file");
        assert!(!of(&bugfix, "planning", &line, request()).git_write, "git_log and git_diff only read");
        assert!(!of(&bugfix, "committing", &untrusted(line), request()).git_write);
    }
    let status = line(vec![segment("git status").op(OpClass::GitRead).closed()]);
    let rights = of(&bugfix, "committing", &status, request());
    assert_eq!((rights.git_write, rights.narrowed), (false, vec!["git-write"]));
}

#[test]
fn git_tools_that_change_the_tree_open_it_for_git() {
    for tool in ["git_checkout", "git_stash", "git_merge", "git_restore", "git_pull", "__GIT_WRITE__"] {
        let state = tools(&format!("\"Read\", \"{tool}\""));
        let exact = if tool == "__GIT_WRITE__" { "git_reset" } else { tool };
        let exact: &'static str = crate::workflow::ToolId::named(exact).unwrap().tool().name;
        let rights = of(&state, "s", &line(vec![git(exact)]), request());
        assert_eq!((rights.workspace, rights.git_write), (WorkspaceRight::Write, true), "{tool}");
        let rights = of(&state, "s", &line(vec![git("git_commit")]), request());
        assert_eq!(rights.workspace, WorkspaceRight::Read, "{tool}: a commit changes no file");
        let rights = of(&state, "s", &opaque(), request());
        assert_eq!((rights.workspace, rights.git_write), (WorkspaceRight::Read, false), "{tool}");
    }
}

#[test]
fn hosts_come_from_the_state_before_the_profile() {
    let hosts = ["profile.example".to_owned()];
    let profile = RightsRequest { hosts: &hosts, narrow: true };
    let fetch = line(vec![segment("curl x").op(OpClass::Network).host("x")]);
    let network = |state: &Machine, request| of(state, "s", &fetch, request).network;
    let plain = tools("\"Read\", \"WebFetch\"");
    assert_eq!(network(&plain, profile), NetworkRight::Hosts(hosts.to_vec()));
    assert_eq!(network(&plain, request()), NetworkRight::None);
    for tool in ["http_request", "git_push", "git_fetch", "deploy", "database_query"] {
        assert_eq!(
            network(&tools(&format!("\"{tool}\"")), profile),
            NetworkRight::Hosts(hosts.to_vec()),
            "{tool}"
        );
    }
    assert_eq!(network(&tools("\"Read\", \"Bash\""), profile), NetworkRight::Loopback);
    assert_eq!(
        network(&tools("\"Read\", \"Bash\", \"WebFetch\""), request()),
        NetworkRight::Loopback,
        "no host listed"
    );
    let own = |hosts: &str| {
        one_state(&format!(
            "{{\"allowed_tools\": [\"WebFetch\"], \"jail\": {{\"network\": {hosts}}}, \"on\": {{\"X\": \"end\"}}}}"
        ))
    };
    assert_eq!(network(&own("[\"own.example\"]"), profile), NetworkRight::Hosts(vec!["own.example".into()]));
    assert_eq!(network(&own("\"*\""), profile), NetworkRight::Open);
    assert_eq!(network(&own("[]"), profile), NetworkRight::None);
}

#[test]
fn removing_alone_is_given_to_lines_that_the_text_binds() {
    let state = tools("\"Read\", \"Bash\", \"delete_file\"");
    let remove = line(vec![segment("rm f").op(OpClass::Destructive).tool("delete_file").closed()]);
    assert_eq!(of(&state, "s", &remove, request()).workspace, WorkspaceRight::Write);
    assert_eq!(of(&state, "s", &opaque(), request()).workspace, WorkspaceRight::ThrowAway);
}

#[test]
fn read_only_opacity_grants_reading() {
    let rights = of(&machine("research"), "exploring", &opaque(), request());
    assert_eq!(
        (rights.workspace, rights.network, rights.git_write),
        (WorkspaceRight::Read, NetworkRight::None, false)
    );
}

#[test]
fn entries_grant_rights_to_lines_that_they_cover() {
    let state = one_state(
        "{\"allowed_tools\": [\"Bash\"], \"allowed_commands\": [\"git commit\", \"cp\", \"pytest\"], \"on\": {\"X\": \"end\"}}",
    );
    let copy = || segment("cp a b").op(OpClass::FileWrite).closed();
    let test = || segment("pytest").opaque();
    let rights = of(&state, "s", &line(vec![copy()]), request());
    assert_eq!(rights.workspace, WorkspaceRight::Write);
    // The tests run in the same jail: they must not get what `cp` was granted.
    let rights = of(&state, "s", &line(vec![copy(), test()]), request());
    assert_eq!(rights.workspace, WorkspaceRight::ThrowAway);
    let commit = segment("git commit -m x").op(OpClass::GitWrite).tool("git_commit");
    assert!(of(&state, "s", &line(vec![commit]), request()).git_write);
    let push = segment("git push").op(OpClass::GitWrite).tool("git_push");
    assert!(!of(&state, "s", &line(vec![push]), request()).git_write);
}
