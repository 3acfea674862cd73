//! The reason codes: one row each, with what it means and the test that shows it. `docs/reasons.md` is this table.

use super::decision::Decision;

/// A stable code that stands in results, logs and documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonCode {
    /// The snake-case code.
    pub code: &'static str,
    /// What it decides.
    pub decision: Decision,
    /// What it means, for a person.
    pub meaning: &'static str,
    /// The way on.
    pub remedy: &'static str,
    /// The test that shows it.
    pub test: &'static str,
}

macro_rules! codes {
    ($($name:ident $code:literal $decision:ident $meaning:literal $remedy:literal $test:literal)*) => {
        $(
            #[doc = $meaning]
            pub const $name: ReasonCode = ReasonCode {
                code: $code,
                decision: Decision::$decision,
                meaning: $meaning,
                remedy: $remedy,
                test: $test,
            };
        )*

        /// Every code, in the order of the decision.
        pub const CODES: &[ReasonCode] = &[$($name),*];
    };
}

codes! {
    CATASTROPHE "catastrophe" Forbidden
        "One of the five shapes that nothing overrides: removing `/`, `/*`, `~` or `$HOME`, and the fork bomb."
        "Name what is to be removed."
        "nothing_overrides_a_catastrophe"
    FINAL_STATE "final_state" Forbidden
        "The session is in a final state; nothing runs there."
        "Start a new session."
        "opaque_needs_an_execute_tool"
    PERSON_COMMAND "person_command" Forbidden
        "`swbox approve`, `reject`, `session`, `rules`, `trust` and their kin are for a person, outside every jail."
        "Ask a person to run it in a terminal."
        "commands_of_a_person_are_refused_in_a_line"
    AGENT_COMMAND "agent_command" Forbidden
        "`swbox state`, `transition` and their kin are answered outside the jail, and only as a command of their own."
        "Send it as its own command: nothing before, behind or around it."
        "commands_of_an_agent_stand_alone"
    MISSING_TOOL "missing_tool" Forbidden
        "The state has no tool that satisfies what the command or the tool call does."
        "Send the event that the hint names, or do it another way."
        "a_refusal_names_class_right_and_way_forward"
    MISSING_SENTINEL "missing_sentinel" Forbidden
        "The command deletes or changes a repository, and the state has neither the sentinel nor the exact tool."
        "Send the event that the hint names; `delete_file`, for what a build makes again `run_build`, or the exact `git_…` tool is enough for the plain forms."
        "without_a_list_a_state_has_the_default_and_no_sentinel"
    TOOL_DISALLOWED "tool_disallowed" Forbidden
        "The state's `disallowed_tools` takes away the tool that this is."
        "Send an event to a state that does not take it away."
        "disallowed_tools_win"
    COMMAND_NOT_LISTED "command_not_listed" Forbidden
        "The state has `allowed_commands`, and this command begins with none of its entries."
        "Use a listed command; each command of a line must match an entry."
        "an_entry_covers_one_command_not_the_line"
    BEYOND_ENTRY "beyond_entry" Forbidden
        "An entry of `allowed_commands` matches, but options, operands or redirects do more than the bare entry."
        "Leave out what adds the further class."
        "an_entry_does_not_grant_what_redirects_and_options_add"
    RULE_FORBID "rule_forbid" Forbidden
        "A prefix rule forbids the command, as written or after unwrapping."
        "The rule's justification says what to do instead."
        "forbid_sees_the_command_as_written_and_unwrapped"
    APPROVALS_DENIED "approvals_denied" Forbidden
        "A person would have to say yes, and the user's rules or the state say that nobody is asked."
        "Do it another way, or run it where a person can be asked."
        "where_approvals_are_denied_a_question_is_a_refusal"
    OPAQUE "opaque" Forbidden
        "What runs cannot be seen from the text, and the state has no execute tool whose jail would bound it."
        "Write it plainly, or send the event that the hint names."
        "opaque_needs_an_execute_tool"
    UNTRUSTED "untrusted" Forbidden
        "The text may mean something else to bash than its parse shows, and the state has no execute tool."
        "Write it in a plainer form; the span shows where the reading stops."
        "untrusted_counts_as_opaque_or_is_refused"
    UNTRUSTED_WITH_RULES "untrusted_with_rules" Forbidden
        "The text cannot be read for certain, and command rules apply here that need it read."
        "Write it in a plainer form; the span shows where the reading stops."
        "untrusted_counts_as_opaque_or_is_refused"
    RULE_PROMPT "rule_prompt" Prompt
        "A prefix rule asks for a person's yes."
        "A person approves, or a more specific allow rule of the user lifts it."
        "a_more_specific_allow_of_the_user_lifts_a_prompt"
    DEFAULT_PROMPT "default_prompt" Prompt
        "The user's base decision is `prompt`, and no allow rule covers the command."
        "A person approves, or the user adds an allow rule."
        "a_prompting_base_does_not_ask_about_harmless_commands"
    OPAQUE_BOUNDED "opaque_bounded" Allow
        "What runs cannot be seen from the text; the jail bounds it to the rights of the state."
        "Nothing to do."
        "opaque_needs_an_execute_tool"
    OPAQUE_READ_ONLY "opaque_read_only" Allow
        "What runs cannot be seen from the text; the state runs it on a read-only view without network."
        "Nothing to do."
        "opaque_needs_an_execute_tool"
    UNTRUSTED_BOUNDED "untrusted_bounded" Allow
        "The text cannot be read for certain; it counts as opaque and the jail bounds it."
        "Nothing to do."
        "untrusted_counts_as_opaque_or_is_refused"
    RULE_ALLOW "rule_allow" Allow
        "An allow rule of the user covers the command and lifts a prompt."
        "Nothing to do."
        "a_more_specific_allow_of_the_user_lifts_a_prompt"
}
