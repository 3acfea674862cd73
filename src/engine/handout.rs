//! What an agent and its host are handed in a state: instructions, advice, the events, what waits.

use serde::Serialize;
use serde_json::Value;

use super::effect::Offer;
use super::library::Workflow;
use super::resolve;
use super::session::{Session, Wait};

/// A state as an agent and its host see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Handout {
    /// The workflow that runs: the root, or the invoked one.
    pub workflow: String,
    /// The state.
    pub state: String,
    /// Whether nothing more is allowed.
    pub over: bool,
    /// The workflow's text for the agent.
    pub instructions: Option<String>,
    /// The tools; none for the default ones.
    pub allowed_tools: Option<Vec<String>>,
    /// Tools taken away.
    pub disallowed_tools: Vec<String>,
    /// How the commands may begin.
    pub allowed_commands: Option<Vec<String>>,
    /// The ways on.
    pub events: Vec<Offer>,
    /// Calls counted in this visit.
    pub calls: u32,
    /// Calls of this visit before `on_max` applies.
    pub max_iterations: Option<u32>,
    /// Advice to the host: the model.
    pub model: Option<String>,
    /// Advice to the host: the thinking level.
    pub thinking_level: Option<String>,
    /// Advice to the host: models by difficulty.
    pub model_ladder: Vec<Value>,
    /// Advice to the host: whether its own model acts.
    pub direct_execution: Option<bool>,
    /// Variables that a command does not get.
    pub blocked_env: Vec<String>,
    /// Variables that a command gets.
    pub env_overrides: Vec<(String, String)>,
    /// Approvals that wait for a person.
    pub approvals: Vec<String>,
    /// Where everything waits until a person has looked: the approval's id, and what was found that makes git run programs.
    pub alarm: Option<(String, Vec<String>)>,
    /// The interrupt that is being handled, with its files.
    pub interrupt: Option<(String, Vec<String>)>,
    /// Branches that are waited for.
    pub branches: Vec<String>,
}

/// What a session hands out now; none where its workflow has no such state.
pub fn handout(workflow: &Workflow, session: &Session) -> Option<Handout> {
    let (_, state) = workflow.state_of(&session.current)?;
    let over = session.is_over();
    let waiting = session.pending.iter().filter(|one| matches!(one.wait, Wait::Approval { .. }));
    let branches = session.fork.iter().flat_map(|fork| &fork.branches);
    Some(Handout {
        workflow: session.current.workflow.clone(),
        state: session.current.state.clone(),
        over,
        instructions: state.instructions.clone(),
        allowed_tools: state.allowed_tools.clone(),
        disallowed_tools: state.disallowed_tools.clone(),
        allowed_commands: state.allowed_commands.clone(),
        events: if over || session.fork.is_some() { Vec::new() } else { resolve::offers(state) },
        calls: session.current.visit.calls,
        max_iterations: state.max_iterations,
        model: state.model.clone(),
        thinking_level: state.thinking_level.clone(),
        model_ladder: state.model_ladder.clone(),
        direct_execution: state.direct_execution,
        blocked_env: state.blocked_env.clone(),
        env_overrides: state
            .env_overrides
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        approvals: waiting
            .map(|one| one.id.clone())
            .chain(session.parked.iter().map(|one| one.id.clone()))
            .collect(),
        alarm: session.alarm.as_ref().map(|alarm| (alarm.id.clone(), alarm.planted.clone())),
        interrupt: session.current.stack.last().map(|back| (back.interrupt.clone(), back.files.clone())),
        branches: branches.filter(|(_, child)| child.end.is_none()).map(|(name, _)| name.clone()).collect(),
    })
}
