//! The one use-case layer: a request is read, judged, planned, launched and reported here, whoever asked.
//!
//! Duty: gather what the pure layers need, in the order that refuses early and cheaply. Danger: a step that fails must
//! end the run; no step falls back to a laxer law, profile or jail.

mod achieved;
mod ancestry;
pub mod audit;
mod clock;
pub mod doctor;
pub mod effects;
pub mod explain;
mod family;
mod fault;
pub mod gaps;
mod gituser;
mod harnesses;
mod host;
pub mod overview;
mod own_files;
mod person;
mod plain;
mod profiles;
mod reading;
pub mod report;
pub mod request;
mod rules;
mod run;
pub mod session;
mod setting;
mod suggest;
mod trust;
mod watched;
mod workflow;
mod workflows;
mod workspace;

pub use crate::classify::{Classification, ClassifiedSegment, Op, OpClass, Subject};
pub use crate::jail::{Exit, JailPlan, Level, LimitHit, Outcome, end_by_interrupt};
pub use crate::policy::{
    Decision, Evaluation, Hint, NetworkRight, Reason, Right, Rights, Step, WorkspaceRight,
};
pub use crate::profile::value::TimeSpan;
pub use crate::shell::{Span, Trust};
pub use crate::supervisor::{Act, Cause as DenialCause, Denial, Target};
pub use crate::workflow::new::Wishes;
pub use fault::end_on_panic;
pub use person::Terminal;
pub use report::{Judgement, LawShown, Report};
pub use request::{Command, EventsTo, Law, Observe, Run, Script, ScriptFile};
pub use rules::{UserRule, UserRules, forget_rule, user_rules};
pub use run::{run, run_unjudged};
pub use setting::{Reader, check};
pub use trust::{Candidate, Standing, accept_file, candidates, forget_file};
pub use workflow::{
    Listed, Picture, Shown, Validated, draw_workflow, list_workflows, new_workflow, show_workflow,
    validate_workflow, workflow_schema,
};

/// The standard stream that is a directory, if any: all below it could be reached through `/proc/self/fd`.
pub fn directory_stream() -> Option<&'static str> {
    crate::jail::directory_stream()
}

/// Puts these bytes on standard input, from their start, for the command that inherits it.
///
/// # Errors
/// What the kernel says.
pub fn set_input(bytes: &[u8]) -> std::io::Result<()> {
    crate::jail::set_input(bytes)
}

/// The standard stream that the caller had closed, if any.
pub fn closed_stream() -> Option<&'static str> {
    crate::jail::closed_at_start()
}
