//! The way of the host list's listener: bound inside, handed out, given to the proxy process outside.
//!
//! Danger: the command must not run before the proxy does, and no copy of the listener may stay behind: with the proxy dead
//! a connection is refused, not left waiting.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::outlet;
use crate::diagnostic::Diagnostic;
use crate::proxy::environment::PORT;
use crate::proxy::{Order, Spawned};

/// Inside: binds the listener on the own loopback, which must be up, and hands it out.
pub(super) fn hand_out(outside: &UnixStream) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    outlet::send(outside, &listener)
}

/// Inside: waits until the proxy has been started; an error when it has not.
pub(super) fn await_proxy(mut outside: &UnixStream) -> io::Result<()> {
    outside.read_exact(&mut [0])
}

/// Outside: takes the listener and starts the proxy with it. `None` when the inside ended before; it reports why itself.
pub(super) fn start(order: &Order, mut inside: &UnixStream) -> Result<Option<Spawned>, Diagnostic> {
    let failed = |error: io::Error| {
        Diagnostic::new(
            "proxy_not_started",
            format!("the proxy for the host list cannot be started: {error}"),
        )
    };
    let Some(listener) = outlet::take(inside).map_err(failed)? else { return Ok(None) };
    let proxy = Spawned::start(order, listener.as_fd())?;
    inside.write_all(&[0]).map_err(failed)?;
    Ok(Some(proxy))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    use crate::jail::outcome::Level;
    use crate::jail::plan::{JailPlan, Step};
    use crate::jail::probe::Host;
    use crate::jail::seccomp::Sockets;
    use crate::policy::{NetworkRight, Rights, WorkspaceRight};
    use crate::profile::{Aliases, Limits, Protection, Requirement, SandboxSpec};
    use crate::proxy::environment::CONNECT_PROGRAM;

    fn plan(
        hosts: &[&str],
        level: Level,
        network: Requirement,
    ) -> Result<JailPlan, crate::diagnostic::Diagnostic> {
        let mut protections: BTreeMap<_, _> =
            crate::jail::protection::ALL.into_iter().map(|each| (each, Requirement::Degradable)).collect();
        protections.insert(Protection::Network, network);
        let spec = SandboxSpec {
            workspace: "/work".into(),
            cwd: "/work".into(),
            rights: Rights {
                workspace: WorkspaceRight::Write,
                git_write: false,
                network: NetworkRight::Hosts(hosts.iter().map(|host| (*host).to_owned()).collect()),
                narrowed: Vec::new(),
            },
            binds: Vec::new(),
            home: "/home/user".into(),
            secrets: Vec::new(),
            protected: Vec::new(),
            files: Vec::new(),
            script: None,
            env: BTreeMap::from([("http_proxy".into(), "http://corp.example:3128".into())]),
            limits: Limits::default(),
            protections,
            outputs: Vec::new(),
            repositories: None,
            aliases: Aliases::default(),
        };
        let host = Host { level, landlock_abi: 7, seccomp: true, uid: 1000, gid: 1000 };
        crate::jail::plan(&spec, &host, &["curl".into()])
    }

    #[test]
    fn a_host_list_is_a_proxy_and_its_surroundings() {
        let plan = plan(&["a.example"], Level::Full, Requirement::Strict).unwrap().for_state("working");
        let order = plan.egress.unwrap();
        assert_eq!((order.hosts, order.state), (vec!["a.example".to_owned()], "working".to_owned()));
        assert!(plan.namespaces.net);
        assert_eq!(plan.filter.sockets, Sockets::Ip);
        assert_eq!(plan.env.get(OsStr::new("http_proxy")).unwrap(), "http://127.0.0.1:61080");
        assert!(plan.steps.contains(&Step::Own { path: CONNECT_PROGRAM.into() }));
        // What follows where the host refuses a PID namespace is the same proxy.
        assert_eq!(plan.fallback.unwrap().egress.unwrap().state, "working");
    }

    #[test]
    fn without_namespaces_there_is_no_network_and_it_is_said() {
        let plan = plan(&["a.example"], Level::LandlockOnly, Requirement::Degradable).unwrap();
        assert_eq!((plan.egress, plan.filter.sockets), (None, Sockets::None));
        assert!(plan.degraded.iter().any(|reason| reason.starts_with("no-hosts")), "{:?}", plan.degraded);
        let strict = self::plan(&["a.example"], Level::LandlockOnly, Requirement::Strict).unwrap_err();
        assert_eq!(strict.code, "protection_unavailable");
    }

    #[test]
    fn an_entry_that_cannot_hold_is_an_error_before_anything_runs() {
        let error = plan(&["a.example", "https://b.example"], Level::Full, Requirement::Strict).unwrap_err();
        assert_eq!(error.code, "bad_host_entry");
        assert!(error.message.contains("https://b.example"), "{error}");
    }
}
