//! The variables that lead programs to the proxy. Pure.
//!
//! Danger: a variable is a hint. A program that ignores them meets a network without routes, never the open network.

/// Where the proxy listens inside: fixed, so that the environment, the plan and `explain` can name it before there is a
/// network namespace; above the range from which the kernel hands out ports, so that it is never taken by `bind(0)`.
pub const PORT: u16 = 61080;

/// Where the jail shows swbox's own binary to ssh, as the program that asks the proxy for a connection: most hosts have no
/// `nc` that speaks to a proxy. A directory of the root itself, since any other might be a read-only tree of the host.
pub const CONNECT_PROGRAM: &str = "/.swbox/connect";

/// The hidden subcommand of [`CONNECT_PROGRAM`].
pub const CONNECT: &str = "__connect";

/// Hosts that are never asked of the proxy: the command's own loopback, in the spellings that clients compare with. Without
/// `[::1]`, on which httpx fails at start.
const OWN: &str = "localhost,.localhost,127.0.0.1,127.0.0.0/8,::1,0.0.0.0";

/// What a command with a host list gets beside its environment; `get` reads the environment that it has.
pub fn variables(get: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let mut set = Vec::new();
    // ALL_PROXY names the HTTP side too: Python's httpx fails at start on a SOCKS address unless an extra is installed.
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        set.push((name, proxy.clone()));
    }
    for name in ["NO_PROXY", "no_proxy"] {
        set.push((name, OWN.into()));
    }
    set.push(("NODE_USE_ENV_PROXY", "1".into()));
    let java = format!(
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={PORT} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={PORT}"
    );
    set.push(("JAVA_TOOL_OPTIONS", after(get("JAVA_TOOL_OPTIONS"), &java)));
    let ssh = get("GIT_SSH_COMMAND").unwrap_or_else(|| "ssh".into());
    set.push(("GIT_SSH_COMMAND", format!("{ssh} -o 'ProxyCommand={CONNECT_PROGRAM} {CONNECT} %h %p'")));
    set
}

fn after(own: Option<String>, more: &str) -> String {
    match own {
        Some(own) if !own.is_empty() => format!("{own} {more}"),
        _ => more.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_the_own_options_kept() {
        let set = variables(|name| (name == "JAVA_TOOL_OPTIONS").then(|| "-Xmx1g".into()));
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
        assert_eq!(value("https_proxy"), Some("http://127.0.0.1:61080"));
        assert_eq!(value("HTTPS_PROXY"), value("https_proxy"));
        assert!(value("JAVA_TOOL_OPTIONS").is_some_and(|v| v.starts_with("-Xmx1g -Dhttp.proxyHost")));
        let ssh = value("GIT_SSH_COMMAND").map(shell_words::split).unwrap().unwrap();
        assert_eq!(ssh, ["ssh", "-o", "ProxyCommand=/.swbox/connect __connect %h %p"]);
    }
}
