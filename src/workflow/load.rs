//! Bytes of a workflow file to a [`Machine`], or every problem that prevents it.
//!
//! Danger: what is loaded here is the law of a session. A file that can be read in two ways is refused.

use super::decode;
use super::finding::{Finding, Weight};
use super::model::Machine;
use super::read::Reader;
use super::span::{self, Kind, Node, Path};
use super::validate::{self, Invoked};
use crate::diagnostic::Diagnostic;

/// The largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;

/// A machine that can be used, and what else is to be said of its file.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// Worth knowing; nothing depends on it.
    pub advice: Vec<Diagnostic>,
    /// Failed validation stages beyond the first: printed as warnings on loading, an error for `workflow validate`.
    pub violations: Vec<Diagnostic>,
}

/// Reads and checks a workflow file: the bare machine, or `{"definition": machine, "upstream_servers": […]}`.
///
/// # Errors
/// Every problem that prevents loading, and after it what else was found, each with code, path, line and help.
pub fn load(bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    read(bytes, validate::validate)
}

/// The same, with the later stages of validation through the workflows that it invokes.
///
/// # Errors
/// As for [`load`].
pub fn load_with(bytes: &[u8], invoked: &[Invoked<'_>]) -> Result<Loaded, Vec<Diagnostic>> {
    read(bytes, |machine| validate::validate_with(machine, invoked))
}

/// Reads a file that is known to pass every check: one of the program's own, which a test has loaded in full.
pub(super) fn load_known(bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    read(bytes, |_| Vec::new())
}

fn read(bytes: &[u8], check: impl Fn(&Machine) -> Vec<Finding>) -> Result<Loaded, Vec<Diagnostic>> {
    let text = text_of(bytes).map_err(|problem| vec![problem])?;
    let root = span::parse(text).map_err(|fault| {
        let (line, column) = span::line_column(text, fault.at);
        let code = if fault.too_deep { "workflow_too_deep" } else { "malformed_json" };
        let mut problem = at(code, fault.message, line, column);
        if fault.too_deep {
            problem.help = Some(format!("at most {} levels of nesting are read", span::MAX_DEPTH));
        }
        vec![problem]
    })?;
    let (node, prefix, servers) = unwrap(&root);
    let mut reader = Reader::default();
    let machine = decode::machine(&mut reader, node);
    let mut findings = reader.findings;
    if let Some(machine) = &machine {
        findings.extend(check(machine));
    }
    let place = |finding: &Finding| finding.place(text, &root, &prefix);
    match machine {
        Some(mut machine) if findings.iter().all(|finding| finding.weight != Weight::Error) => {
            machine.upstream_servers.extend(servers);
            let of =
                |weight| findings.iter().filter(move |finding| finding.weight == weight).map(place).collect();
            Ok(Loaded { machine, advice: of(Weight::Advice), violations: of(Weight::Violation) })
        }
        Some(_) | None => {
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
            Err(findings.iter().map(place).collect())
        }
    }
}

fn at(code: &'static str, message: impl Into<String>, line: usize, column: usize) -> Diagnostic {
    let mut problem = Diagnostic::new(code, message);
    (problem.line, problem.column) = (Some(line), Some(column));
    problem
}

fn text_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_BYTES {
        return Err(Diagnostic::new("workflow_too_large", format!("the file has {} bytes", bytes.len()))
            .help("a workflow file has at most 1 MiB"));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Diagnostic::new("workflow_not_utf8", "the file is UTF-16").help("save it as UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let sound = std::str::from_utf8(&bytes[..fault.valid_up_to()]).unwrap_or_default();
        let (line, column) = span::line_column(sound, sound.len());
        at("workflow_not_utf8", "this byte is not UTF-8", line, column).help("save the file as UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(Diagnostic::new("malformed_json", "the file is empty")
            .help("`swbox workflow show bugfix` prints a complete example"));
    }
    Ok(text)
}

/// The machine inside the wrapped form, the path to it, and the wrapper's server list.
fn unwrap(root: &Node) -> (&Node, Path, Vec<serde_json::Value>) {
    let Some(definition) = root.get("definition") else { return (root, Path::root(), Vec::new()) };
    if root.get("states").is_some() {
        return (root, Path::root(), Vec::new());
    }
    let servers = match root.get("upstream_servers").map(|member| &member.value.kind) {
        Some(Kind::Array(items)) => items.iter().map(Node::to_value).collect(),
        Some(Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Object(_)) | None => {
            Vec::new()
        }
    };
    (&definition.value, Path::root().key("definition"), servers)
}

#[cfg(test)]
mod tests;
