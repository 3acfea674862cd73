//! `swbox jobs`, `swbox output` and `swbox kill`: what commands of a session left running.

use std::fmt::Write as _;
use std::io::Read as _;

use serde_json::json;

use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, print};
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::Law;
use crate::service::report::JSON_VERSION;
use crate::service::session::{self, JobShown};

/// Bytes of a watcher's word: a hundred thousand names.
const MOST: u64 = 64 * 1024 * 1024;

/// `swbox jobs`.
pub(super) fn list(law: &Law, as_json: bool, color: ColorChoice) -> Result<u8, Diagnostic> {
    let (session, jobs) = session::jobs(law)?;
    if as_json {
        let value = json!({ "version": JSON_VERSION, "session": session, "jobs": jobs });
        print(&json_line(&value))?;
        return Ok(Code::OK);
    }
    if jobs.is_empty() {
        print("nothing runs in the background\n")?;
        return Ok(Code::OK);
    }
    let paint = Paint::stdout(color);
    let mut out = String::new();
    for job in &jobs {
        let JobShown { id, command, state, rights, age, processes } = job;
        let many = if *processes == 1 { "" } else { "es" };
        let _ = writeln!(out, "{}  {}", paint.bold(id), visible(command));
        let _ = writeln!(
            out,
            "  lives {age} s, {processes} process{many}; started in \"{}\": {rights}",
            visible(state)
        );
    }
    print(&out)?;
    Ok(Code::OK)
}

/// `swbox output ID`: as the job wrote it.
pub(super) fn output(id: &str, law: &Law, as_json: bool) -> Result<u8, Diagnostic> {
    let written = session::output(law, id)?;
    if as_json {
        let value = json!({
            "version": JSON_VERSION, "job": id, "output": written.text, "dropped": written.dropped,
        });
        print(&json_line(&value))?;
        return Ok(Code::OK);
    }
    print(&written.text)?;
    if written.dropped > 0 {
        print(&format!("\nswbox: {} bytes in the middle were not kept\n", written.dropped))?;
    }
    Ok(Code::OK)
}

/// `swbox kill ID`.
pub(super) fn kill(id: &str, law: &Law, as_json: bool) -> Result<u8, Diagnostic> {
    session::kill(law, id)?;
    if as_json {
        print(&json_line(&json!({ "version": JSON_VERSION, "job": id, "ended": true })))?;
    } else {
        print(&format!("{} has ended\n", visible(id)))?;
    }
    Ok(Code::OK)
}

/// `swbox job-seen`: answers by its status alone.
pub(super) fn seen() -> Result<u8, Diagnostic> {
    let mut text = String::new();
    let read = std::io::stdin().take(MOST).read_to_string(&mut text);
    read.map_err(|error| Diagnostic::new("job_unknown", format!("standard input: {error}")))?;
    session::job_seen(&text)?;
    Ok(Code::OK)
}
