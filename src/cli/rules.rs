//! `swbox rules`: the user's own rules, and taking back what an approval wrote.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args_session::RulesArgs;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::report::JSON_VERSION;
use crate::service::session::keeping_rule;
use crate::service::{Terminal, UserRule, UserRules, forget_rule, user_rules};

/// `swbox rules`.
pub(super) fn rules(args: &RulesArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    if let Some(id) = &args.forget {
        return forget(id, args.json);
    }
    let rules = user_rules()?;
    if args.json {
        print(&json_line(&as_json(&rules)))?;
    } else {
        print(&as_text(&rules, Paint::stdout(color)))?;
    }
    Ok(Code::OK)
}

fn forget(id: &str, json: bool) -> Result<u8, Diagnostic> {
    let person = Terminal::open("`swbox rules --forget`")?;
    let gone = forget_rule(id, &person)?;
    // Also where it is gone from the file already.
    let keeping = keeping_rule(id)?;
    if json {
        print(&json_line(
            &json!({ "version": JSON_VERSION, "rule": id, "forgotten": gone, "kept_by": keeping }),
        ))?;
    } else {
        let mut out = String::new();
        if gone {
            let _ =
                writeln!(out, "{} allows nothing any more in sessions that begin from now on", visible(id));
        }
        for session in &keeping {
            let _ = writeln!(
                out,
                "{session} began with it and keeps it until it is taken away there: swbox session reload {session}"
            );
        }
        print(&out)?;
    }
    if !gone {
        complain(&format!("swbox: there is no rule `{}` that an approval wrote\n", visible(id)));
    }
    Ok(if gone { Code::OK } else { Code::PROBLEMS })
}

fn as_json(rules: &UserRules) -> Value {
    let all: Vec<Value> = rules
        .rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id, "prefix": rule.prefix, "decision": rule.word(), "justification": rule.justification,
                "workspace": rule.workspace.as_ref().map(|place| place.to_string_lossy()), "state": rule.state,
            })
        })
        .collect();
    json!({
        "version": JSON_VERSION, "file": rules.file.to_string_lossy(), "default": default_word(rules),
        "approvals": rules.approvals, "rules": all,
    })
}

fn default_word(rules: &UserRules) -> &'static str {
    if rules.asks { "prompt" } else { "allow" }
}

fn as_text(rules: &UserRules, paint: Paint) -> String {
    let mut out = String::new();
    let approvals = json!(rules.approvals);
    let _ = writeln!(
        out,
        "{}: default \"{}\", approvals \"{}\"",
        visible(&rules.file.to_string_lossy()),
        default_word(rules),
        approvals.as_str().unwrap_or_default()
    );
    for rule in &rules.rules {
        let _ = writeln!(
            out,
            "  {:<13}{:<7} {}",
            rule.id.as_deref().unwrap_or(""),
            rule.word(),
            one(rule, paint)
        );
    }
    if rules.rules.is_empty() {
        out.push_str("  no rules\n");
    }
    out
}

fn one(rule: &UserRule, paint: Paint) -> String {
    let mut text = paint.bold(&visible(&rule.prefix));
    if let Some(workspace) = &rule.workspace {
        let _ = write!(text, "  in {}", visible(&workspace.to_string_lossy()));
    }
    if let Some(state) = &rule.state {
        let _ = write!(text, "  in the state \"{}\"", visible(state));
    }
    if let Some(why) = &rule.justification {
        let _ = write!(text, "  {}", paint.dim(&visible(why)));
    }
    text
}
