//! `swbox audit`: a history of commands against a state, in groups.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::args::AuditArgs;
use super::exit::Code;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::{excerpt, visible};
use super::{json_line, law};
use crate::diagnostic::Diagnostic;
use crate::service::Decision;
use crate::service::audit::{Audit, Group, audit as judge};
use crate::service::gaps::{Gaps, gaps};

/// How many programs a group names.
const PROGRAMS: usize = 8;

/// `swbox audit`.
pub(super) fn audit(args: AuditArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let mut bar = Bar::new();
    if args.run {
        return run(args, &mut bar, color);
    }
    let audit = judge(&law(args.law), &args.files, args.examples, |done, total| bar.show(done, total))?;
    bar.clear();
    if args.json {
        print(&json_line(&audit.to_json()))?;
    } else {
        print(&text(&audit, Paint::stdout(color)))?;
    }
    Ok(if audit.prompted + audit.forbidden == 0 && audit.unreadable.is_empty() {
        Code::OK
    } else {
        Code::PROBLEMS
    })
}

/// `swbox audit --run`.
fn run(args: AuditArgs, bar: &mut Bar, color: ColorChoice) -> Result<u8, Diagnostic> {
    let gaps = gaps(&law(args.law), &args.files, args.examples, |done, total| bar.show(done, total))?;
    bar.clear();
    if args.json {
        print(&json_line(&gaps.to_json()))?;
    } else {
        print(&gaps_text(&gaps, Paint::stdout(color)))?;
    }
    Ok(if gaps.gaps.is_empty() { Code::OK } else { Code::PROBLEMS })
}

fn gaps_text(gaps: &Gaps, paint: Paint) -> String {
    let mut out = format!(
        "{} commands: {} ran ({} without their program, {} failed, {} timed out), {} declare nothing\n",
        gaps.total, gaps.ran, gaps.missing, gaps.failed, gaps.timed_out, gaps.undeclaring
    );
    if gaps.gaps.is_empty() {
        out.push_str("none did more than its text declares\n");
    }
    for gap in &gaps.gaps {
        let program = if gap.program.is_empty() { "?".to_owned() } else { excerpt(&gap.program, 40) };
        let what = match gap.class {
            Some(class) => format!("undeclared {}", class.name()),
            None => "another end when narrowed".to_owned(),
        };
        let _ = writeln!(out, "\n{} {}: {program}", paint.yellow(&what), gap.count);
        if !gap.targets.is_empty() {
            let targets: Vec<String> = gap.targets.iter().map(|target| excerpt(target, 60)).collect();
            let _ = writeln!(out, "  {}", targets.join(", "));
        }
        for example in &gap.examples {
            let _ = writeln!(out, "    {}", paint.dim(&excerpt(example, 100)));
        }
    }
    out
}

fn text(audit: &Audit, paint: Paint) -> String {
    let mut out = format!(
        "{} commands against state \"{}\" of {} ({})\n\n",
        audit.total,
        visible(&audit.law.state),
        visible(&audit.law.workflow),
        visible(&audit.law.origin)
    );
    let share = |count: usize| {
        let percent = if audit.total == 0 { 0.0 } else { 100.0 * count as f64 / audit.total as f64 };
        format!("{count:>7}  {percent:>5.1} %")
    };
    let _ = writeln!(out, "  {}    {}", paint.green("allowed"), share(audit.allowed));
    let _ = writeln!(out, "  {}   {}", paint.yellow("prompted"), share(audit.prompted));
    let _ = writeln!(out, "  {}  {}", paint.red("forbidden"), share(audit.forbidden));
    let unreadable: usize = audit.unreadable.values().sum();
    if unreadable > 0 {
        let why: Vec<String> =
            audit.unreadable.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let _ = writeln!(out, "  {} {}  ({})", paint.red("unreadable"), share(unreadable), why.join(", "));
    }
    for group in &audit.groups {
        out.push('\n');
        group_text(&mut out, group, paint);
    }
    out
}

fn group_text(out: &mut String, group: &Group, paint: Paint) {
    let name = match group.decision {
        Decision::Allow => paint.green("allowed"),
        Decision::Prompt => paint.yellow("prompted"),
        Decision::Forbidden => paint.red("forbidden"),
    };
    let class = group.class.map_or_else(String::new, |class| format!(" {class}"));
    let needs = if group.needs.is_empty() {
        String::new()
    } else {
        format!(", needs {}", visible(&group.needs.join(" or ")))
    };
    let _ = writeln!(out, "{name} {}: {}{class}{needs}", group.count, group.code);
    let mut programs: Vec<(&String, &usize)> = group.programs.iter().collect();
    programs.sort_by(|left, right| right.1.cmp(left.1).then(left.0.cmp(right.0)));
    let shown: Vec<String> = programs
        .iter()
        .take(PROGRAMS)
        .map(|(program, count)| format!("{} {count}", excerpt(program, 40)))
        .collect();
    if !shown.is_empty() {
        let more = programs.len().saturating_sub(PROGRAMS);
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        let _ = writeln!(out, "  {}{more}", shown.join(", "));
    }
    if group.decision != Decision::Allow {
        for example in &group.examples {
            let _ = writeln!(out, "    {}", paint.dim(&excerpt(example, 100)));
        }
    }
}

/// A progress bar on a terminal's standard error, nothing elsewhere.
struct Bar {
    on: bool,
    last: Option<Instant>,
}

impl Bar {
    const WIDTH: usize = 30;

    fn new() -> Self {
        Self { on: std::io::stderr().is_terminal(), last: None }
    }

    fn show(&mut self, done: usize, total: usize) {
        let due = self.last.is_none_or(|last| last.elapsed() > Duration::from_millis(100));
        if !self.on || total == 0 || !due {
            return;
        }
        self.last = Some(Instant::now());
        let filled = Self::WIDTH * done / total;
        let bar = format!("{}{}", "#".repeat(filled), ".".repeat(Self::WIDTH - filled));
        complain(&format!("\r[{bar}] {done}/{total}"));
    }

    fn clear(&self) {
        if self.on && self.last.is_some() {
            complain("\r\x1b[K");
        }
    }
}
