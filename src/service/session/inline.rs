//! An agent's command in a line: `swbox transition DONE` alone is answered by swbox outside the jail.
//!
//! Danger: what is taken for the agent's own word must be its own word. Only one literal command is; in a pipe, a
//! substitution, a script or behind anything else it could be a test's or a package's.

use crate::diagnostic::Diagnostic;
use crate::service::reading;
use crate::service::request::Command;
use crate::shell::{Context, Trust};

/// The commands of swbox that are an agent's.
const AGENT_COMMANDS: [&str; 5] = ["jobs", "kill", "output", "state", "transition"];

/// The arguments after `swbox` where the command is exactly one literal agent command.
///
/// # Errors
/// What bash could not be given.
pub fn agent_command(command: &Command) -> Result<Option<Vec<String>>, Diagnostic> {
    // Nearly every line is done here.
    let mentions = |text: &std::ffi::OsStr| text.to_string_lossy().contains("swbox");
    let plain = match command {
        Command::Line { text, options, parameters } => {
            mentions(text) && options.is_empty() && parameters.is_empty()
        }
        Command::Argv(argv) => argv.first().is_some_and(|program| mentions(program)),
        // Some harnesses send their line through standard input.
        Command::Script(script) => {
            mentions(&script.text)
                && script.file.is_none()
                && script.options.is_empty()
                && script.parameters.is_empty()
        }
    };
    if !plain {
        return Ok(None);
    }
    let reading = reading::read(command)?;
    let script = &reading.script;
    let [segment] = &script.segments[..] else { return Ok(None) };
    let Context { pipeline, chain, .. } = segment.context;
    let alone = segment.context == Context { pipeline, chain, ..Context::default() }
        && segment.assignments.is_empty()
        && segment.redirects.is_empty()
        && segment.span.of(&reading.source) == reading.source.trim()
        && script.trust == Trust::Trusted
        && script.opaque.is_none()
        && script.functions.is_empty()
        && script.assigned.is_empty();
    if !alone {
        return Ok(None);
    }
    let words: Option<Vec<String>> =
        segment.argv.iter().map(|word| word.value.literal().map(str::to_owned)).collect();
    Ok(words.and_then(|words| match &words[..] {
        [program, verb, ..] if program == "swbox" && AGENT_COMMANDS.contains(&verb.as_str()) => {
            Some(words[1..].to_vec())
        }
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_literal_command_is_the_agents_own_word() {
        let words = |line: &str| agent_command(&Command::line(line)).unwrap();
        assert_eq!(words("swbox transition DONE").unwrap(), ["transition", "DONE"]);
        assert_eq!(
            words("  swbox transition DONE --data '{\"a\": 1}'\n").unwrap(),
            ["transition", "DONE", "--data", "{\"a\": 1}"]
        );
        assert_eq!(words("swbox state").unwrap(), ["state"]);
        assert_eq!(words("swbox jobs").unwrap(), ["jobs"]);
        assert_eq!(words("swbox kill j-1").unwrap(), ["kill", "j-1"]);
        assert_eq!(words("swbox output 'j-1'").unwrap(), ["output", "j-1"]);
        let argv = Command::Argv(["swbox", "state", "--json"].map(Into::into).to_vec());
        assert_eq!(agent_command(&argv).unwrap().unwrap(), ["state", "--json"]);
    }

    #[test]
    fn nothing_else_is() {
        for line in [
            "swbox transition DONE; true",
            "true && swbox transition DONE",
            "swbox transition DONE &",
            "swbox transition DONE | cat",
            "echo x | swbox transition DONE",
            "(swbox transition DONE)",
            "{ swbox transition DONE; }",
            "$(swbox transition DONE)",
            "echo $(swbox state)",
            "`swbox transition DONE`",
            "if true; then swbox transition DONE; fi",
            "! swbox state",
            "time swbox state",
            "X=1 swbox transition DONE",
            "PATH=. swbox state",
            "swbox transition DONE > f",
            "swbox transition DONE 2>&1",
            "swbox transition $X",
            "swbox transition D*",
            "swbox transition \"$(cat f)\"",
            "swbox $X",
            "./swbox transition DONE",
            "/tmp/swbox transition DONE",
            "env swbox transition DONE",
            "command swbox transition DONE",
            "exec swbox transition DONE",
            "eval swbox transition DONE",
            "bash -c 'swbox transition DONE'",
            "swbox transition DONE\nrm x",
            "swbox kill $(swbox jobs)",
            "swbox jobs | wc -l",
            "swbox approve a-1",
            "swbox session end s-1",
            "swbox exec -c 'swbox transition DONE'",
            "swbox() { rm x; }; swbox state",
            "swbox",
            "echo swbox transition DONE",
        ] {
            assert_eq!(agent_command(&Command::line(line)).unwrap(), None, "{line}");
        }
        let mut with = Command::line("swbox state");
        if let Command::Line { options, .. } = &mut with {
            options.push("-x".into());
        }
        assert_eq!(agent_command(&with).unwrap(), None);
    }
}
