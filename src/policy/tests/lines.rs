use super::*;

#[test]
fn a_refusal_names_class_right_and_way_forward() {
    let text = "cat > config.yml";
    let line = line(vec![segment(text).op(OpClass::FileWrite).on("config.yml").closed()]);
    let answer = ask(&machine("bugfix"), "planning", text, &line);
    assert_eq!(answer.decision, Decision::Forbidden);
    let reason = &answer.reasons[0];
    assert_eq!(reason.message, "`cat > config.yml` writes a file (FileWrite: config.yml)");
    assert_eq!(
        (reason.code, reason.needs.as_slice()),
        ("missing_tool", ["Write".to_owned(), "Edit".to_owned()].as_slice())
    );
    let hint = answer.hint.unwrap();
    assert_eq!(
        (hint.path.len(), hint.path[0].event.as_str(), hint.path[0].target.as_str()),
        (1, "PLAN_READY", "implementing")
    );
    assert_eq!(hint.grants, ["write_file", "edit_file"]);
}

#[test]
fn opaque_needs_an_execute_tool() {
    let line = line(vec![segment("pytest -q").opaque()]);
    let bugfix = machine("bugfix");
    let refused = ask(&bugfix, "planning", "pytest -q", &line);
    assert_eq!((refused.decision, codes(&refused)), (Decision::Forbidden, vec!["opaque"]));
    let way: Vec<_> = refused.hint.unwrap().path.into_iter().map(|step| step.event).collect();
    assert_eq!(way, ["PLAN_READY", "DONE"]);
    let allowed = ask(&bugfix, "testing", "pytest -q", &line);
    assert_eq!((allowed.decision, codes(&allowed)), (Decision::Allow, vec!["opaque_bounded"]));
    let ended = ask(&bugfix, "completed", "pytest -q", &line);
    assert_eq!((ended.decision, codes(&ended), ended.hint), (Decision::Forbidden, vec!["final_state"], None));
}

#[test]
fn the_exact_git_tool_is_enough_and_no_more() {
    let bugfix = machine("bugfix");
    let commit = line(vec![segment("git commit -m x").op(OpClass::GitWrite).tool("git_commit")]);
    let push = line(vec![
        segment("git push").op(OpClass::GitWrite).tool("git_push").op(OpClass::Network).tool("git_push"),
    ]);
    assert_eq!(ask(&bugfix, "committing", "git commit -m x", &commit).decision, Decision::Allow);
    let refused = ask(&bugfix, "committing", "git push", &push);
    assert_eq!((refused.decision, refused.hint), (Decision::Forbidden, None));
    assert_eq!(ask(&bugfix, "planning", "git commit -m x", &commit).decision, Decision::Forbidden);
}
