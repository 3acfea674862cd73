//! What a state, or a command in it, may do, and why: the law, the rights and the plan, without running the command. What the
//! host gives of the plan is found with a program that does nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::achieved::achieved;
use super::report::{JSON_VERSION, Judgement, LawShown, plan_to_json};
use super::request::{Command, Law};
use super::run::{plan, runs_the_unseen};
use super::setting::{Setting, shorten};
use crate::classify::{Classification, OpSet, Opacity};
use crate::diagnostic::Diagnostic;
use crate::jail::seccomp::{self, Arch, Entry};
use crate::jail::{Access, JailPlan, Level, Step};
use crate::policy::{Rights, RightsRequest};
use crate::shell::{Span, Trust};

/// The answer to `explain`.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The law.
    pub law: LawShown,
    /// The state's text for the agent.
    pub instructions: Option<String>,
    /// The workspace.
    pub workspace: PathBuf,
    /// The profiles that take part.
    pub profiles: Vec<String>,
    /// The judgement, where a command was given.
    pub judgement: Option<Judgement>,
    /// Rights: of the command, or the most that any command of the state has.
    pub rights: Rights,
    /// The plan: its steps, Landlock domain, filter, environment and limits.
    pub plan: JailPlan,
    home: PathBuf,
}

/// Explains a state, or a command in it.
///
/// # Errors
/// Whatever would keep the command from being judged or planned.
pub fn explain(law: &Law, command: Option<&Command>) -> Result<Explanation, Diagnostic> {
    let mut setting = Setting::new(law)?;
    setting.complete(law)?;
    let policy = setting.policy()?;
    let of_state = policy.require_state(&setting.state)?;
    let judgement = command.map(|command| setting.judge(&policy, command)).transpose()?;
    let any = anything();
    let reading = judgement.as_ref().map_or(&any, |judgement| &judgement.classification);
    let narrow = command.is_some() && !law.no_narrow;
    let request = RightsRequest { hosts: &setting.chosen.profile.network.hosts, narrow };
    let rights = policy.rights(of_state, reading, request);
    let executes = runs_the_unseen(reading) && of_state.executes();
    let shown = Command::Argv(vec!["true".into()]);
    let plan = plan(&setting, &rights, executes, command.unwrap_or(&shown), None, crate::jail::plan)?;
    let plan = if of_state.is_final { plan } else { achieved(plan)? };
    Ok(Explanation {
        law: setting.shown(of_state),
        instructions: setting.state().instructions.clone(),
        workspace: setting.place.workspace.clone(),
        profiles: setting.chosen.names.clone(),
        judgement,
        rights,
        plan,
        home: setting.facts.home.clone(),
    })
}

/// A line of which nothing is known: it gets whatever a state gives to any command.
fn anything() -> Classification {
    Classification {
        segments: Vec::new(),
        classes: OpSet::EMPTY,
        trust: Trust::Trusted,
        opaque: Some(Opacity { code: "any", reason: "any command".to_owned(), span: Span::default() }),
        catastrophe: None,
    }
}

impl Explanation {
    /// Trees of the host that can be read, shortened: programs and data apart.
    pub fn visible(&self) -> (Vec<String>, Vec<String>) {
        let mut programs = Vec::new();
        let mut data = Vec::new();
        for (path, exec) in self.trees(false) {
            if path.symlink_metadata().is_ok() {
                let list = if exec { &mut programs } else { &mut data };
                list.push(shorten(path, &self.workspace, &self.home));
            }
        }
        (programs, data)
    }

    /// Trees beside the workspace that can be changed.
    pub fn writable(&self) -> Vec<String> {
        let trees = self.trees(true).into_iter();
        trees.map(|(path, _)| shorten(path, &self.workspace, &self.home)).collect()
    }

    /// Trees beside the workspace, and whether programs run from them: those that are mounted, or without mounts those that
    /// rules open.
    fn trees(&self, changed: bool) -> Vec<(&Path, bool)> {
        if self.plan.level == Level::Full {
            let of = |step| match step {
                &Step::Bind { ref path, exec, writable, .. } if writable == changed => {
                    Some((path.as_path(), exec))
                }
                _ => None,
            };
            return self.plan.steps.iter().filter_map(of).collect();
        }
        let grants = self.plan.landlock.grants.iter();
        let beside = grants.filter(|grant| grant.path != self.workspace && !grant.path.starts_with("/dev"));
        beside
            .filter(|grant| {
                grant.access.contains(Access::MAKE) == changed && !grant.access.and(Access::READ).is_empty()
            })
            .map(|grant| (grant.path.as_path(), grant.access.contains(Access::EXECUTE)))
            .collect()
    }

    /// Secrets of this host that are stubs inside.
    pub fn secrets(&self) -> Vec<String> {
        let secrets = self.plan.steps.iter().filter_map(|step| match step {
            // Those that are the same everywhere are in each plan.
            Step::Secret { path } => {
                path.symlink_metadata().ok().map(|_| shorten(path, &self.workspace, &self.home))
            }
            _ => None,
        });
        secrets.collect()
    }

    /// Whether something was asked for and is not had here, by the code of its reason.
    pub fn lacks(&self, code: &str) -> bool {
        self.plan
            .degraded
            .iter()
            .any(|reason| reason.strip_prefix(code).is_some_and(|rest| rest.starts_with(':')))
    }

    /// Names below the workspace that are read-only and exist.
    pub fn protected(&self) -> Vec<String> {
        let protected = self.plan.steps.iter().filter_map(|step| match step {
            Step::Protect { name } if self.workspace.join(name).symlink_metadata().is_ok() => {
                Some(name.to_string_lossy().into_owned())
            }
            _ => None,
        });
        protected.collect()
    }

    /// System calls that the filter of this plan closes or judges, as the kernel of this machine numbers them.
    pub fn closed_calls(&self) -> Vec<&'static Entry> {
        seccomp::closed(self.plan.filter, Arch::NATIVE).collect()
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "version": JSON_VERSION,
            "law": {
                "workflow": self.law.workflow,
                "origin": self.law.origin,
                "state": self.law.state,
                "allowed_tools": self.law.tools,
                "final": self.law.is_final,
            },
            "workspace": self.workspace.to_string_lossy(),
            "profiles": self.profiles,
            "judgement": self.judgement.as_ref().map(Judgement::to_json),
            "rights": self.rights,
            "plan": plan_to_json(&self.plan),
            "closed_calls": self.closed_calls().iter().map(|entry| json!({
                "name": entry.name,
                "number": entry.number(Arch::NATIVE),
                "answer": entry.otherwise.name(),
                "by_arguments": !entry.cases.is_empty(),
                "reason": entry.reason,
            })).collect::<Vec<_>>(),
        })
    }
}
