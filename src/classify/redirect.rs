//! Redirects to operations, exactly.
//!
//! Danger: `2>&1` and `>/dev/null` are no writes, `>&f` and `2>f` are; `/dev/tcp/…` is a connection.

use crate::shell::{Redirect, RedirectOp};

use super::findings::Findings;
use super::op::OpClass;
use super::options::Word;
use super::path;

/// Adds what one redirect does.
pub fn judge(redirect: &Redirect, findings: &mut Findings<'_>) {
    let word = Word::whole(&redirect.target);
    if let Some(host) = path::network_device(word.known_prefix()) {
        let is_file = !matches!(redirect.op, RedirectOp::Heredoc | RedirectOp::HereString);
        if is_file {
            if word.is_dynamic() && !word.known_prefix()["/dev/tcp/".len()..].contains('/') {
                findings.add(OpClass::Network, redirect.span);
            } else {
                findings.host_text(host, redirect.span);
            }
            return;
        }
    }
    match redirect.op {
        RedirectOp::Read => findings.path(OpClass::FileRead, word),
        RedirectOp::Write
        | RedirectOp::Clobber
        | RedirectOp::Append
        | RedirectOp::BothWrite
        | RedirectOp::BothAppend
        | RedirectOp::ReadWrite => findings.path(OpClass::FileWrite, word),
        RedirectOp::DupOut | RedirectOp::DupIn => {
            // `>&$x` is a file unless `$x` is a number; a literal descriptor is none.
            let is_descriptor = word.text().is_some_and(|text| {
                let digits = text.strip_suffix('-').unwrap_or(text);
                digits.bytes().all(|byte| byte.is_ascii_digit())
            });
            if !is_descriptor && redirect.op == RedirectOp::DupOut {
                findings.path(OpClass::FileWrite, word);
            }
        }
        RedirectOp::Heredoc | RedirectOp::HereString => {}
    }
}
