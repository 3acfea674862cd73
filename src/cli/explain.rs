//! `swbox explain`, and what a dry run shows.

use std::fmt::Write as _;

use super::args::ExplainArgs;
use super::exit::Code;
use super::output::{ColorChoice, Paint, print};
use super::refusal::refusal;
use super::show::{visible, visible_lines};
use super::{command, json_line, law};
use crate::diagnostic::Diagnostic;
use crate::service::explain::{Explanation, explain as ask};
use crate::service::overview::{Overview, overview};
use crate::service::{Decision, JailPlan, Level, NetworkRight, Report, Rights, WorkspaceRight};

/// `swbox explain`.
pub(super) fn explain(args: ExplainArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let bare = args.law.state.is_none() && args.command.line.is_none() && args.command.argv.is_empty();
    if let Some(workflow) = args.law.workflow.as_ref().filter(|_| bare) {
        let overview = overview(workflow)?;
        if args.json {
            print(&json_line(&overview.to_json()))?;
        } else {
            print(&states(&overview, Paint::stdout(color)))?;
        }
        return Ok(Code::OK);
    }
    let explanation = ask(&law(args.law), command(args.command).as_ref())?;
    if args.json {
        print(&json_line(&explanation.to_json()))?;
    } else {
        print(&text(&explanation, Paint::stdout(color)))?;
    }
    Ok(Code::OK)
}

/// States × what each may do.
fn states(overview: &Overview, paint: Paint) -> String {
    let mut out = format!(
        "{} ({}), begins in \"{}\"\n\n",
        paint.bold(&visible(&overview.workflow)),
        visible(&overview.origin),
        visible(&overview.initial)
    );
    let names = overview.states.iter().map(|state| visible(&state.state));
    let wide = names.clone().map(|name| name.chars().count()).max().unwrap_or(0).max("state".len());
    let head: Vec<&str> = overview.acts.clone();
    let _ = writeln!(out, "{}", paint.bold(&format!("{:wide$}  {}", "state", head.join("  "))));
    for (state, name) in overview.states.iter().zip(names) {
        let pad = " ".repeat(wide - name.chars().count());
        let cells: Vec<String> = overview
            .acts
            .iter()
            .zip(&state.decisions)
            .map(|(act, decision)| {
                let cell = match decision {
                    Decision::Allow => "yes",
                    Decision::Prompt => "ask",
                    // The program that stands for all is not listed; those that are, are named below.
                    Decision::Forbidden if *act == "run" && state.commands.is_some() => "few",
                    Decision::Forbidden => "·",
                };
                format!("{cell:<0$}", act.len())
            })
            .collect();
        let _ = writeln!(out, "{name}{pad}  {}", cells.join("  ").trim_end());
    }
    out.push('\n');
    for state in &overview.states {
        if let Some(commands) = &state.commands {
            let text = format!("runs only {}", visible(&commands.join(", ")));
            let _ = writeln!(out, "{:wide$}  {text}", visible(&state.state));
        }
        for (event, target, asks) in &state.edges {
            let asks = if asks.is_empty() { String::new() } else { format!(" ({})", asks.join(", ")) };
            let _ = writeln!(
                out,
                "{:wide$}  {} → {}{asks}",
                visible(&state.state),
                visible(event),
                visible(target)
            );
        }
    }
    let _ =
        writeln!(out, "\n`swbox explain --workflow … --state S` shows the rights and the plan of a state.");
    out
}

fn text(explanation: &Explanation, paint: Paint) -> String {
    let law = &explanation.law;
    let mut out = format!(
        "state \"{}\" of {} ({})\n",
        paint.bold(&visible(&law.state)),
        visible(&law.workflow),
        visible(&law.origin)
    );
    if law.is_final {
        out.push_str("\nThis state is final: nothing runs in it.\n");
        return out;
    }
    if let Some(instructions) = &explanation.instructions {
        for line in visible_lines(instructions) {
            let _ = writeln!(out, "  {}", paint.dim(&line));
        }
    }
    out.push('\n');
    if let Some(judgement) = &explanation.judgement {
        if judgement.allowed() {
            let _ = writeln!(out, "{} `{}`\n", paint.green("allowed"), visible(&judgement.source));
        } else {
            let _ = writeln!(out, "{}", refusal(judgement, paint));
        }
    }
    let tools = law.tools.as_ref().map_or_else(|| "(the default tools)".to_owned(), |tools| tools.join(", "));
    row(&mut out, "tools", &visible(&tools), paint);
    row(&mut out, "profiles", &explanation.profiles.join(", "), paint);
    rights(
        &mut out,
        &explanation.rights,
        &explanation.workspace.to_string_lossy(),
        &|code| explanation.lacks(code),
        paint,
    );
    let (programs, data) = explanation.visible();
    row(&mut out, "programs", &visible(&programs.join("  ")), paint);
    row(&mut out, "data", &visible(&data.join("  ")), paint);
    for (name, list) in [
        ("writable", explanation.writable()),
        ("frozen", explanation.protected()),
        ("secrets", explanation.secrets()),
    ] {
        if !list.is_empty() {
            row(&mut out, name, &visible(&list.join("  ")), paint);
        }
    }
    let private = match explanation.plan.level {
        Level::Full => "HOME, /tmp, /var/tmp, /dev/shm: empty at the start, gone at the end",
        Level::LandlockOnly => {
            "HOME and TMPDIR, elsewhere: empty at the start, gone at the end; /tmp itself is closed"
        }
    };
    row(&mut out, "private", private, paint);
    plan(&mut out, &explanation.plan, paint);
    let calls = explanation.closed_calls();
    let judged = calls.iter().filter(|entry| !entry.cases.is_empty()).count();
    let closed = format!(
        "{} closed, {judged} judged by their arguments; docs/system-calls.md says why",
        calls.len() - judged
    );
    row(&mut out, "calls", &closed, paint);
    let rest = match explanation.plan.level {
        Level::Full => "does not exist inside",
        Level::LandlockOnly => "cannot be opened inside",
    };
    let _ = writeln!(
        out,
        "\nEverything that is not named here {rest}. --json has the plan step by step and every closed call."
    );
    out
}

/// What a dry run shows: the decision, the rights and the plan.
pub(super) fn dry_run(report: &Report, paint: Paint) -> String {
    let mut out = format!(
        "{} in state \"{}\": {}\n",
        paint.green("allowed"),
        visible(&report.judgement.law.state),
        visible(&report.judgement.source)
    );
    row(&mut out, "profiles", &report.profiles.join(", "), paint);
    if let Some(given) = &report.rights {
        rights(&mut out, given, &report.workspace.to_string_lossy(), &|_| false, paint);
    }
    if let Some(steps) = &report.plan {
        row(&mut out, "starts in", &visible(&report.cwd.to_string_lossy()), paint);
        plan(&mut out, steps, paint);
    }
    out.push_str("nothing was run\n");
    out
}

/// Rights; `lacks` says by the code of its reason whether this host does not give one.
fn rights(out: &mut String, rights: &Rights, workspace: &str, lacks: &dyn Fn(&str) -> bool, paint: Paint) {
    let how = match rights.workspace {
        WorkspaceRight::ThrowAway if lacks("no-throwaway") => "read-only but for its declared outputs",
        WorkspaceRight::Write if lacks("no-new-names") => {
            "files can be changed; names not everywhere, see below"
        }
        WorkspaceRight::Write if lacks("foreign-workspace") => {
            "files can be changed where everybody may, see below"
        }
        WorkspaceRight::List => "names can be listed, contents cannot be read",
        WorkspaceRight::Read => "read-only",
        WorkspaceRight::ThrowAway => "writes succeed and vanish at the end",
        WorkspaceRight::Write => "files can be created, changed and removed",
    };
    row(out, "workspace", &format!("{}: {how}", visible(workspace)), paint);
    let git = if rights.git_write && !lacks("no-git-write") {
        "writable but for hooks and configuration"
    } else {
        "read-only"
    };
    row(out, "git", git, paint);
    let network = match &rights.network {
        NetworkRight::None => "none: no IP socket at all".to_owned(),
        NetworkRight::Loopback | NetworkRight::Hosts(_) if lacks("no-loopback") || lacks("no-hosts") => {
            "none here: no IP socket at all".to_owned()
        }
        NetworkRight::Loopback => "its own loopback only".to_owned(),
        NetworkRight::Hosts(hosts) => format!("its own loopback, and {}", visible(&hosts.join(", "))),
        NetworkRight::Open => "the host's".to_owned(),
    };
    row(out, "network", &network, paint);
    if !rights.narrowed.is_empty() {
        let text = format!(
            "{} (the command declares that it needs none of it; --no-narrow grants it)",
            rights.narrowed.join(", ")
        );
        row(out, "narrowed", &text, paint);
    }
}

fn plan(out: &mut String, plan: &JailPlan, paint: Paint) {
    let names: Vec<String> = plan.env.keys().map(|name| visible(&name.to_string_lossy())).collect();
    row(out, "variables", &names.join(" "), paint);
    let path = plan.env.get(std::ffi::OsStr::new("PATH")).map(|path| path.to_string_lossy().into_owned());
    row(out, "PATH", &visible(&path.unwrap_or_default()), paint);
    let limits = &plan.limits;
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let shown: Vec<String> = [
        limits.timeout.map(|span| format!("time {} s", span.as_secs_f64())),
        limits.processes.map(|count| format!("processes {count}")),
        limits.memory.map(|bytes| format!("memory {}", mib(bytes))),
        limits.file_size.map(|bytes| format!("file size {}", mib(bytes))),
        limits.cpu.map(|seconds| format!("CPU {seconds} s")),
        limits.open_files.map(|count| format!("open files {count}")),
        limits.scratch.map(|bytes| format!("scratch {}", mib(bytes))),
    ]
    .into_iter()
    .flatten()
    .collect();
    row(out, "limits", &shown.join(", "), paint);
    let level = serde_json::to_value(plan.level).ok().and_then(|level| level.as_str().map(str::to_owned));
    row(out, "level", &level.unwrap_or_default(), paint);
    let mut told: Vec<&String> = Vec::new();
    for reason in &plan.degraded {
        // Each plan that was given up may say the same.
        if !told.contains(&reason) {
            row(out, "weaker", &visible(reason), paint);
            told.push(reason);
        }
    }
}

fn row(out: &mut String, name: &str, text: &str, paint: Paint) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} {text}", paint.bold(&format!("{name:<10}")));
}
