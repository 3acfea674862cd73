//! `swbox doctor`: what this host can enforce, each protection tried outside and inside a jail.

use std::fmt::Write as _;

use serde_json::json;

use super::args::DoctorArgs;
use super::classify::columns;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, print};
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::doctor::{Check, Proof, doctor as ask};
use crate::service::report::JSON_VERSION;

/// `swbox doctor`.
pub(super) fn doctor(args: &DoctorArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let checks = ask(&args.profile)?;
    let failed: Vec<&Check> = checks.iter().filter(|check| check.failed()).collect();
    if args.json {
        let value = json!({ "version": JSON_VERSION, "sound": failed.is_empty(), "checks": checks });
        print(&json_line(&value))?;
    } else {
        print(&text(&checks, &failed, Paint::stdout(color)))?;
    }
    Ok(if failed.is_empty() { Code::OK } else { Code::PROBLEMS })
}

fn text(checks: &[Check], failed: &[&Check], paint: Paint) -> String {
    let rows: Vec<[String; 5]> = checks
        .iter()
        .map(|check| {
            [
                name(&check.protection),
                name(&check.requirement),
                name(&check.achieved),
                match check.proof {
                    Proof::Proven => format!("proven, {} acts", check.trials.len()),
                    Proof::Refuted => "REFUTED".to_owned(),
                    Proof::Unproven => "unproven".to_owned(),
                },
                visible(&check.detail),
            ]
        })
        .collect();
    let mut out = columns(["protection", "asked", "achieved", "proof", "what holds"], &rows, paint);
    if let Some(why) = checks.iter().find_map(|check| check.lesser.as_ref()) {
        let _ = writeln!(out, "\n{} {}", paint.yellow("not at the full level:"), visible(why));
    }
    // One remedy often serves several.
    let mut remedies: Vec<(&str, Vec<String>)> = Vec::new();
    for check in checks {
        let Some(remedy) = &check.remedy else { continue };
        let protection = name(&check.protection);
        match remedies.iter_mut().find(|(text, _)| text == remedy) {
            Some((_, protections)) => protections.push(protection),
            None => remedies.push((remedy, vec![protection])),
        }
    }
    for (remedy, protections) in remedies {
        let _ = writeln!(out, "\n{}: {}", paint.yellow(&protections.join(", ")), visible(remedy));
    }
    if failed.is_empty() {
        let _ = writeln!(out, "\n{}", paint.green("every strict protection holds on this host"));
    } else {
        let names: Vec<String> = failed.iter().map(|check| name(&check.protection)).collect();
        let _ = writeln!(out, "\n{} {}", paint.red("cannot be had here though strict:"), names.join(", "));
    }
    out
}

/// The name that a value has in files and JSON.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
