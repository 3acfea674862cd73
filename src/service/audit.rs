//! A whole history of commands against one state: what would be allowed, prompted and refused, and why, in groups.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::report::{JSON_VERSION, LawShown};
use super::request::{Command, Law};
use super::setting::Setting;
use crate::classify::Classification;
use crate::diagnostic::Diagnostic;
use crate::policy::{Decision, Evaluation, Reason};

/// Largest history.
const LIMIT: u64 = 256 * 1024 * 1024;

/// Commands that share decision, reason and class.
#[derive(Debug, Clone)]
pub struct Group {
    /// The decision.
    pub decision: Decision,
    /// The reason's code; `allowed` for those that nothing speaks against.
    pub code: &'static str,
    /// The class concerned.
    pub class: Option<&'static str>,
    /// The tools of which one would satisfy it.
    pub needs: Vec<String>,
    /// How many commands.
    pub count: usize,
    /// The canonical prefixes of the segments concerned, with their number.
    pub programs: BTreeMap<String, usize>,
    /// The first few commands.
    pub examples: Vec<String>,
}

/// What a history comes to.
#[derive(Debug, Clone)]
pub struct Audit {
    /// The law it was held against.
    pub law: LawShown,
    /// Commands in all.
    pub total: usize,
    /// By decision.
    pub allowed: usize,
    /// By decision.
    pub prompted: usize,
    /// By decision.
    pub forbidden: usize,
    /// Lines that no shell could be given, with the reason's code.
    pub unreadable: BTreeMap<&'static str, usize>,
    /// The groups, the largest of each decision first.
    pub groups: Vec<Group>,
}

/// Judges every command of the files; `progress` hears done and total.
///
/// # Errors
/// A file that cannot be read, and whatever prevents a decision at all.
pub fn audit(
    law: &Law,
    files: &[PathBuf],
    examples: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<Audit, Diagnostic> {
    let setting = Setting::new(law)?;
    let policy = setting.policy()?;
    let state = policy.require_state(&setting.state)?;
    let mut commands = Vec::new();
    for file in files {
        commands.extend(commands_of(&bytes(file)?));
    }
    let mut audit = Audit {
        law: setting.shown(state),
        total: commands.len(),
        allowed: 0,
        prompted: 0,
        forbidden: 0,
        unreadable: BTreeMap::new(),
        groups: Vec::new(),
    };
    for (done, command) in commands.iter().enumerate() {
        progress(done, commands.len());
        match setting.judge(&policy, &Command::line(command)) {
            Ok(judgement) => {
                match judgement.evaluation.decision {
                    Decision::Allow => audit.allowed += 1,
                    Decision::Prompt => audit.prompted += 1,
                    Decision::Forbidden => audit.forbidden += 1,
                }
                audit.add(command, &judgement.evaluation, &judgement.classification, examples);
            }
            Err(problem) => *audit.unreadable.entry(problem.code).or_default() += 1,
        }
    }
    progress(commands.len(), commands.len());
    audit.groups.sort_by_key(|group| std::cmp::Reverse((group.decision, group.count)));
    Ok(audit)
}

impl Audit {
    fn add(&mut self, command: &str, evaluation: &Evaluation, reading: &Classification, examples: usize) {
        let decisive = evaluation.reasons.iter().filter(|reason| reason.decision == evaluation.decision);
        // Each kind of reason counts once a command.
        let mut kinds: Vec<(&'static str, Option<&'static str>)> = Vec::new();
        for reason in decisive {
            let kind = (reason.code, reason.class.map(crate::classify::OpClass::name));
            let program = program_of(reason, reading);
            let first = !kinds.contains(&kind);
            if first {
                kinds.push(kind);
            }
            let group = self.group(evaluation.decision, kind, &reason.needs);
            if let Some(program) = program {
                *group.programs.entry(program).or_default() += 1;
            }
            if first {
                group.take(command, examples);
            }
        }
        if kinds.is_empty() {
            let group = self.group(evaluation.decision, ("allowed", None), &[]);
            for segment in reading.segments.iter().filter(|segment| !segment.prefix.is_empty()) {
                *group.programs.entry(segment.prefix.join(" ")).or_default() += 1;
            }
            group.take(command, examples);
        }
    }

    fn group(
        &mut self,
        decision: Decision,
        (code, class): (&'static str, Option<&'static str>),
        needs: &[String],
    ) -> &mut Group {
        let at = self
            .groups
            .iter()
            .position(|group| group.decision == decision && group.code == code && group.class == class);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group {
                decision,
                code,
                class,
                needs: needs.to_vec(),
                count: 0,
                programs: BTreeMap::new(),
                examples: Vec::new(),
            });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                json!({
                    "decision": group.decision,
                    "code": group.code,
                    "class": group.class,
                    "needs": group.needs,
                    "count": group.count,
                    "programs": group.programs,
                    "examples": group.examples,
                })
            })
            .collect();
        json!({
            "version": JSON_VERSION,
            "law": { "workflow": self.law.workflow, "origin": self.law.origin, "state": self.law.state },
            "total": self.total,
            "allow": self.allowed,
            "prompt": self.prompted,
            "forbidden": self.forbidden,
            "unreadable": self.unreadable,
            "groups": groups,
        })
    }
}

impl Group {
    fn take(&mut self, command: &str, examples: usize) {
        self.count += 1;
        if self.examples.len() < examples && !self.examples.iter().any(|known| known == command) {
            self.examples.push(command.to_owned());
        }
    }
}

/// The canonical prefix of the segment that a reason is about.
fn program_of(reason: &Reason, reading: &Classification) -> Option<String> {
    let span = reason.span?;
    let segment = reading
        .segments
        .iter()
        .filter(|segment| segment.span.start <= span.start && span.end <= segment.span.end)
        .min_by_key(|segment| segment.span.end - segment.span.start)?;
    let prefix = if segment.prefix.is_empty() { &segment.argv } else { &segment.prefix };
    (!prefix.is_empty()).then(|| prefix.iter().take(3).cloned().collect::<Vec<_>>().join(" "))
}

pub(super) fn bytes(file: &Path) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::new("input_unreadable", format!("cannot be read: {error}")).file(file)
    };
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(LIMIT).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        fs::File::open(file).map_err(unreadable)?.take(LIMIT).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok(bytes)
}

/// The commands of a history: one a line, plain or as JSON objects; time stamps of bash and zsh are dropped.
pub(super) fn commands_of(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut commands = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || is_time_stamp(trimmed) {
            continue;
        }
        let object = trimmed.starts_with('{').then(|| serde_json::from_str::<Value>(trimmed).ok()).flatten();
        let named = object.as_ref().and_then(|object| object.get("cmd").or_else(|| object.get("command")));
        match named.and_then(Value::as_str) {
            Some(command) => commands.push(command.to_owned()),
            None => commands.push(without_zsh_stamp(trimmed).to_owned()),
        }
    }
    commands
}

/// `#1700000000`, as bash writes before a command with HISTTIMEFORMAT.
fn is_time_stamp(line: &str) -> bool {
    line.strip_prefix('#')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `: 1700000000:0;cmd`, as zsh writes with EXTENDED_HISTORY.
fn without_zsh_stamp(line: &str) -> &str {
    let stamped = line.strip_prefix(": ").and_then(|rest| rest.split_once(';'));
    match stamped {
        Some((stamp, command)) if stamp.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') => command,
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_of_every_kind_are_read() {
        let text = "ls\n\n#1700000000\ncat f\n: 1700000000:0;git log\n{\"id\": 1, \"cmd\": \"rm x\"}\n{\"command\":\"a\\nb\"}\n\
                    # a comment\n{ echo x; }\n";
        assert_eq!(
            commands_of(text.as_bytes()),
            ["ls", "cat f", "git log", "rm x", "a\nb", "# a comment", "{ echo x; }"]
        );
    }
}
