//! What a plan achieves on this host, found by trying: which namespaces a host gives, and what an overlay may lie on, no
//! version number says.
//!
//! Danger: an explanation that claims more than the command will get. So the jail is made as for the command, with a
//! program in it that does nothing, and nothing of it is kept.

use crate::diagnostic::Diagnostic;
use crate::jail::{self, Capture, JailPlan, Step};

/// The plan that the host gives in place of `plan`: this, or one of its lesser ones, with all that is less than asked.
///
/// # Errors
/// Whatever would keep a command from running under this plan.
pub(super) fn achieved(plan: JailPlan) -> Result<JailPlan, Diagnostic> {
    let outcome = jail::launch(&harmless(&plan), Capture::Keep(0))?;
    let given_up = outcome.degraded.iter().filter(|reason| reason.starts_with("level: ")).count();
    let mut achieved = plan;
    for _ in 0..given_up {
        let Some(lesser) = achieved.fallback.take() else { break };
        achieved = *lesser;
    }
    achieved.degraded = outcome.degraded;
    achieved.protections = outcome.protections;
    Ok(achieved)
}

/// The plan, and its lesser ones, for a program that does nothing.
fn harmless(plan: &JailPlan) -> JailPlan {
    let mut harmless = plan.clone();
    let mut lesser = Some(&mut harmless);
    while let Some(plan) = lesser {
        plan.argv = vec!["true".into()];
        (plan.outputs, plan.egress, plan.farewell) = (None, None, false);
        for step in &mut plan.steps {
            if let Step::Bind { optional, .. } = step {
                // The cache is made with the first command.
                *optional = true;
            }
        }
        lesser = plan.fallback.as_deref_mut();
    }
    harmless
}
