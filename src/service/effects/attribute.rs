//! What a refusal of the jail means: which right was missing, what would grant it, and which event leads there. Pure.
//!
//! Danger: a suggestion is followed. Nothing is suggested that opens more than what was asked for, and nothing at all
//! where no state and no profile may grant it.

use std::borrow::Cow;
use std::path::Path;

use super::Denied;
use super::address::{SOCKETS, is_name_server, is_own, is_question, of_address};
use super::place::Places;
use super::shortfall::{Shortfall, kept};
use super::undeclared::is_refresh;
use crate::classify::{Classification, OpClass};
use crate::policy::{Decision, Hint, NetworkRight, Policy, Right, Rights, StateLaw, right};
use crate::profile::value::{Anchors, lies_in};
use crate::profile::{HostFacts, Profile};
use crate::supervisor::{Act, Cause, Denial, Target};

/// What would let a refused operation pass.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Grant {
    /// One of these tools in the state.
    Tools {
        /// Their names.
        any: Vec<&'static str>,
    },
    /// A line in a profile.
    Profile {
        /// The table that it belongs to; empty for none.
        table: String,
        /// The line.
        line: String,
    },
    /// An entry in the state's own `jail`.
    State {
        /// The entry.
        line: String,
    },
    /// An option of the call.
    Option {
        /// Its name.
        name: &'static str,
    },
    /// Nothing does.
    Nothing {
        /// Why not, as a clause; where the jail is weaker than the state, the words of `jail.degraded`.
        why: Cow<'static, str>,
    },
}

/// What refusals are explained by.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Ground<'a> {
    pub(in crate::service) policy: &'a Policy<'a>,
    pub(in crate::service) law: &'a StateLaw,
    pub(in crate::service) source: &'a str,
    pub(in crate::service) line: &'a Classification,
    pub(in crate::service) rights: &'a Rights,
    pub(in crate::service) profile: &'a Profile,
    pub(in crate::service) anchors: Anchors<'a>,
    pub(in crate::service) facts: &'a HostFacts,
    pub(in crate::service) cwd: &'a Path,
    /// What the jail gives less than the state, as far as that is known.
    pub(in crate::service) shortfall: Shortfall<'a>,
}

impl<'a> Ground<'a> {
    fn places(&self) -> Places<'a> {
        Places { profile: self.profile, anchors: self.anchors, facts: self.facts }
    }
}

/// A refusal with what is known around it.
#[derive(Debug, Clone)]
pub(in crate::service) struct Refused {
    pub(in crate::service) denial: Denial,
    /// How often.
    pub(in crate::service) count: u64,
    /// The program that tried it first.
    pub(in crate::service) program: String,
    /// The hosts that the program, or the line, was given by name.
    pub(in crate::service) hosts: Vec<String>,
    /// Whether the command ended well.
    pub(in crate::service) ended_well: bool,
}

/// Explains one refusal.
pub(in crate::service) fn attribute(ground: &Ground<'_>, refused: Refused) -> Denied {
    let Refused { denial, count, program, hosts, ended_well } = refused;
    let mut hosts = if is_question(&denial) { hosts } else { Vec::new() };
    let named = !hosts.is_empty();
    if is_name_server(&denial) && ground.rights.network != NetworkRight::None {
        // Nobody's server is asked for the own loopback but for its name, as servers do at their start.
        hosts.retain(|host| !is_own(host));
    }
    let own = named && hosts.is_empty();
    let (right, grant) = explain(ground, &denial, &program, hosts.first());
    let lacks = !right::holds(ground.law, right);
    let wanted = match &grant {
        Grant::Tools { .. } => true,
        Grant::Profile { .. } | Grant::State { .. } => lacks,
        Grant::Option { .. } | Grant::Nothing { .. } => false,
    };
    let forward = if wanted { way(ground, right) } else { None };
    let shown = match &denial.target {
        Target::Path(path) => crate::service::setting::shorten(path, ground.cwd, ground.anchors.home),
        Target::Address(address) if address == "unix" => "a socket of the host".to_owned(),
        Target::Address(address) if SOCKETS.contains(&address.as_str()) => {
            format!("a host (no {address} socket is given)")
        }
        Target::Address(address) if address.ends_with(":53") => {
            format!("a host by its name (at the name server {address})")
        }
        Target::Address(address) => address.clone(),
        Target::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    };
    let shown = match &hosts[..] {
        [] => shown,
        hosts => hosts.join(", "),
    };
    // What a tool tries in its own directory, or git of its index, and does well without.
    let reads = !ground.line.classes.contains(OpClass::GitWrite);
    let tried = |path: &Path| ground.places().is_tool(path) || reads && is_refresh(&denial.target);
    let incidental = ended_well
        && match &denial.target {
            Target::Path(path) => tried(path),
            // Libraries try at their start which kinds of socket there are: no host was asked for.
            Target::Address(address) => own || hosts.is_empty() && SOCKETS.contains(&address.as_str()),
            Target::Abstract(_) => false,
        };
    // What is concluded of HOME was looked for.
    let unknown = denial.inferred
        && denial.cause == Cause::Outside
        && matches!(&denial.target, Target::Path(path) if !lies_in(path, ground.anchors.home));
    Denied { denial, shown, hosts, incidental, unknown, count, program, right, grant, forward }
}

fn way(ground: &Ground<'_>, right: Right) -> Option<Hint> {
    let runs = |law: &StateLaw| {
        ground.policy.evaluate(law, ground.source, ground.line).decision != Decision::Forbidden
    };
    ground.policy.way_to(ground.law, right, runs)
}

fn explain(ground: &Ground<'_>, denial: &Denial, program: &str, host: Option<&String>) -> (Right, Grant) {
    let right = asked(denial);
    if denial.cause == Cause::Narrowed {
        return (right, Grant::Option { name: "--no-narrow" });
    }
    if let Some(why) = kept(ground, denial, host) {
        return (right, Grant::Nothing { why });
    }
    match &denial.target {
        Target::Address(address) => of_address(ground, host.unwrap_or(address)),
        Target::Abstract(_) => {
            (Right::Network, nothing("sockets of the host are within reach of no command"))
        }
        Target::Path(_)
            if matches!(denial.act, Act::Connect | Act::Bind) && denial.cause != Cause::Rights =>
        {
            (Right::Network, nothing("sockets of the host are within reach of no command"))
        }
        Target::Path(path) => of_path(ground, denial, path, program, right),
    }
}

/// The right that an act needs.
const fn asked(denial: &Denial) -> Right {
    match denial.act {
        Act::Read => Right::Read,
        Act::Write | Act::Create | Act::Rename | Act::Metadata => Right::Write,
        Act::Remove => Right::Delete,
        Act::Connect | Act::Bind => Right::Network,
        Act::Exec => Right::Exec,
    }
}

pub(super) const fn nothing(why: &'static str) -> Grant {
    Grant::Nothing { why: Cow::Borrowed(why) }
}

pub(super) fn tools(right: Right) -> Grant {
    Grant::Tools { any: right.tools().to_vec() }
}

fn of_path(ground: &Ground<'_>, denial: &Denial, path: &Path, program: &str, right: Right) -> (Right, Grant) {
    if denial.cause == Cause::Secret {
        return (right, credential(ground, path));
    }
    if is_git(path) && right != Right::Read {
        return (Right::GitWrite, of_git(ground, program));
    }
    if denial.cause == Cause::Protected {
        return (right, nothing("what others run later is changed by a person, outside"));
    }
    if lies_in(path, ground.anchors.workspace) && right != Right::Exec {
        return (right, tools(right));
    }
    let places = ground.places();
    let grant = match right {
        Right::Read => places.line("data", path),
        Right::Exec => places.line("toolchains", path.parent().unwrap_or(path)),
        _ => places.opened_for_change(path, matches!(denial.act, Act::Write | Act::Metadata)),
    };
    (right, grant)
}

/// What lets a program change a git directory.
fn of_git(ground: &Ground<'_>, program: &str) -> Grant {
    if !program.is_empty() && program != "git" && !program.starts_with("git-") {
        return nothing("git directories are changed by git's own commands alone");
    }
    if right::holds(ground.law, Right::GitWrite) {
        // The state gives it, and this command did not have it.
        return nothing(
            "git changes it where nothing else in the line changes files: send the git commands as a line of their own",
        );
    }
    tools(Right::GitWrite)
}

pub(super) fn profile(table: &str, line: String) -> Grant {
    Grant::Profile { table: table.to_owned(), line }
}

/// The credential that a secret file is part of.
fn credential(ground: &Ground<'_>, path: &Path) -> Grant {
    let owner = ground.profile.credentials.iter().find(|(_, credential)| {
        let mut files = credential.files.iter().filter_map(|place| place.resolve(&ground.anchors));
        files.any(|file| lies_in(path, &file))
    });
    match owner {
        Some((name, _)) => profile(&format!("credentials.{name:?}"), "grant = true".to_owned()),
        None => nothing("secrets are shown to no command"),
    }
}

/// Whether a path lies in a git directory, as its names say.
pub(super) fn is_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

#[cfg(test)]
pub(super) mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::classify::{Environment, classify_line};
    use crate::policy::{RightsRequest, RuleSet};
    use crate::workflow::builtin::builtin;
    use crate::workflow::load;

    /// A path, or an address.
    fn place(text: &str) -> Target {
        if text.starts_with('/') { Target::Path(text.into()) } else { Target::Address(text.into()) }
    }

    /// What is said of one refusal in a state of the built-in `bugfix`.
    fn said(state: &str, line: &str, act: Act, target: &str, cause: Cause) -> (Right, Grant, Option<String>) {
        said_of(state, line, line.split(' ').next().unwrap_or_default(), (act, target, cause))
    }

    fn said_of(
        state: &str,
        line: &str,
        program: &str,
        (act, target, cause): (Act, &str, Cause),
    ) -> (Right, Grant, Option<String>) {
        let here = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        let mut said = None;
        with_ground(state, line, &here, |ground| {
            let denial = Denial { act, target: place(target), cause, errno: libc::EACCES, inferred: false };
            let hosts = vec!["example.org".to_owned()];
            let program = program.to_owned();
            let denied = attribute(ground, Refused { denial, count: 1, program, hosts, ended_well: true });
            let event = denied.forward.and_then(|hint| hint.path.first().map(|step| step.event.clone()));
            said = Some((denied.right, denied.grant, event));
        });
        said.unwrap()
    }

    /// Hands on what refusals of a line in a state of `bugfix` are explained by.
    pub(in super::super) fn with_ground(
        state: &str,
        line: &str,
        here: &Environment,
        mut with: impl FnMut(&Ground<'_>),
    ) {
        let machine = load(builtin("bugfix").unwrap().source.as_bytes()).unwrap().machine;
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap().within("/w");
        let law = policy.state(state).unwrap();
        let read = classify_line(line, here);
        let rights = policy.rights(law, &read, RightsRequest { hosts: &[], narrow: true });
        let profile =
            "[binds]\ntoolchains = [\"~/.cargo\"]\n[credentials.\"npm:x\"]\nfiles = [\"~/.npmrc\"]\n";
        let profile = Profile::from_toml(profile, Path::new("p.toml")).unwrap();
        let facts = HostFacts::default();
        let env: Vec<(OsString, OsString)> = Vec::new();
        let anchors = Anchors { home: Path::new("/home/u"), workspace: Path::new("/w"), env: &env };
        let ground = Ground {
            policy: &policy,
            law,
            source: line,
            line: &read,
            rights: &rights,
            profile: &profile,
            anchors,
            facts: &facts,
            cwd: Path::new("/w"),
            shortfall: &[],
        };
        with(&ground);
    }

    fn line(table: &str, line: &str) -> Grant {
        Grant::Profile { table: table.into(), line: line.into() }
    }

    #[test]
    fn a_missing_right_names_the_tools_and_the_event() {
        let (right, grant, event) = said("planning", "python3 x.py", Act::Create, "/w/a.txt", Cause::Rights);
        assert_eq!((right, grant), (Right::Write, tools(Right::Write)));
        assert_eq!(event.as_deref(), Some("PLAN_READY"));
        let (right, _, event) = said("review", "python3 x.py", Act::Remove, "/w/a.txt", Cause::Rights);
        assert_eq!((right, event.as_deref()), (Right::Delete, Some("REJECTED")));
        let (right, grant, event) =
            said("implementing", "git add x", Act::Create, "/w/.git/index.lock", Cause::Protected);
        assert_eq!((right, grant), (Right::GitWrite, tools(Right::GitWrite)));
        assert_eq!(event.as_deref(), Some("DONE"), "the first of the way to committing");
    }

    #[test]
    fn a_git_directory_is_gits_own() {
        let create = (Act::Create, "/w/.git/index.lock", Cause::Protected);
        // Another program gets it in no state, so no event is named.
        for state in ["implementing", "committing"] {
            let (right, grant, event) = said_of(state, "python3 x.py", "python3", create);
            assert_eq!((right, event), (Right::GitWrite, None), "{state}");
            assert!(matches!(grant, Grant::Nothing { .. }), "{state}: {grant:?}");
        }
        // git that a program starts lacks the tool first, and a line of its own then.
        let (_, grant, event) = said_of("implementing", "python3 x.py", "git", create);
        assert_eq!((grant, event.as_deref()), (tools(Right::GitWrite), Some("DONE")));
        let (_, grant, _) = said_of("committing", "python3 x.py", "git", create);
        assert!(matches!(&grant, Grant::Nothing { why } if why.contains("a line of their own")), "{grant:?}");
    }

    #[test]
    fn what_lies_outside_names_the_line_of_a_profile() {
        let (right, grant, event) =
            said("implementing", "python3 x.py", Act::Write, "/home/u/.tool/config.toml", Cause::Outside);
        assert_eq!(right, Right::Write);
        assert_eq!(grant, line("binds", "writable = [\"~/.tool/config.toml\"]"));
        assert_eq!(event, None);
        let (_, grant, event) = said("planning", "x", Act::Create, "/srv/data/new", Cause::Outside);
        assert_eq!(
            grant,
            line("binds", "writable = [\"/srv/data\"]"),
            "a name that is not there cannot be opened"
        );
        assert_eq!(event.as_deref(), Some("PLAN_READY"), "the list counts for commands with a write right");
        let (right, grant, _) = said("testing", "x", Act::Exec, "/srv/tools/run", Cause::Outside);
        assert_eq!((right, grant), (Right::Exec, line("binds", "toolchains = [\"/srv/tools\"]")));
        let (_, grant, _) = said("testing", "x", Act::Read, "/home/u/notes.txt", Cause::Outside);
        assert_eq!(grant, line("binds", "data = [\"~/notes.txt\"]"));
    }

    #[test]
    fn what_nothing_grants_is_said_without_a_suggestion() {
        for (act, path, cause) in [
            (Act::Write, "/etc/hosts", Cause::Outside),
            (Act::Create, "/home/u/.cargo/registry/x", Cause::Outside),
            (Act::Create, "/home/u/new", Cause::Outside),
            (Act::Create, "/new", Cause::Outside),
            (Act::Write, "/w/.envrc", Cause::Protected),
            (Act::Read, "/home/u/.ssh/id_rsa", Cause::Secret),
            (Act::Connect, "/run/docker.sock", Cause::Network),
        ] {
            let (_, grant, event) = said("implementing", "x", act, path, cause);
            assert!(matches!(grant, Grant::Nothing { .. }), "{path}: {grant:?}");
            assert_eq!(event, None, "{path}");
        }
        let (_, grant, _) = said("testing", "npm ci", Act::Read, "/home/u/.npmrc", Cause::Secret);
        assert_eq!(grant, line("credentials.\"npm:x\"", "grant = true"));
    }

    /// A connection of Python's that was refused.
    pub(in super::super) fn connecting(
        address: &str,
        cause: Cause,
        errno: i32,
        hosts: &[&str],
        ended_well: bool,
    ) -> Refused {
        let target = Target::Address(address.into());
        let denial = Denial { act: Act::Connect, target, cause, errno, inferred: false };
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Refused { denial, count: 1, program: "python3".to_owned(), hosts, ended_well }
    }

    #[test]
    fn a_socket_that_a_library_only_tries_is_incidental() {
        let python = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        for (line, hosts, ended_well, incidental) in [
            ("python3 -m pip --version", &[][..], true, true),
            ("python3 -m pip --version", &[], false, false),
            ("curl https://example.org/x", &["example.org"], true, false),
        ] {
            with_ground("testing", line, &python, |ground| {
                let refused = connecting("ipv6", Cause::Narrowed, libc::EACCES, hosts, ended_well);
                let denied = attribute(ground, refused);
                assert_eq!(denied.incidental, incidental, "{line} {ended_well}");
            });
        }
    }

    #[test]
    fn a_right_that_the_state_has_is_not_asked_for_again() {
        let here = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        let no = |code: &str| format!("{code}: why");
        let lacks: Vec<String> =
            ["no-throwaway", "no-new-names", "no-loopback", "no-git-write"].map(no).to_vec();
        let lacks = [lacks, vec!["processes: seen without a PID namespace".to_owned()]].concat();
        for (state, line, act, target, cause, why) in [
            ("implementing", "mkdir d", Act::Create, "/w/d", Cause::Rights, "no-new-names: why"),
            (
                "committing",
                "git add r",
                Act::Create,
                "/w/.git/index.lock",
                Cause::Protected,
                "no-git-write: why",
            ),
            ("testing", "python3 x.py", Act::Create, "/w/n", Cause::Rights, "no-throwaway: why"),
            ("testing", "python3 x.py", Act::Connect, "ipv4", Cause::Network, "no-loopback: why"),
            (
                "testing",
                "python3 x.py",
                Act::Metadata,
                "/tmp/swbox-1/tmp/x",
                Cause::Rights,
                "without namespaces",
            ),
            ("implementing", "chmod u+s x", Act::Metadata, "/w/x", Cause::Rights, "set-user-id"),
        ] {
            with_ground(state, line, &here, |ground| {
                let denial =
                    Denial { act, target: place(target), cause, errno: libc::EACCES, inferred: false };
                let program = line.split(' ').next().unwrap().to_owned();
                let refused = Refused { denial, count: 1, program, hosts: Vec::new(), ended_well: false };
                let denied = attribute(&Ground { shortfall: &lacks, ..*ground }, refused);
                let Grant::Nothing { why: said } = denied.grant else { panic!("{line}: {:?}", denied.grant) };
                assert!(said.starts_with(why), "{line}: {said}");
                assert_eq!(denied.forward, None, "{line}");
            });
        }
        // The twin: what the state lacks is named as before, whatever else the jail lacks.
        with_ground("planning", "python3 x.py", &here, |ground| {
            let target = Target::Path("/w/n".into());
            let denial = Denial {
                act: Act::Create,
                target,
                cause: Cause::Rights,
                errno: libc::EACCES,
                inferred: false,
            };
            let refused =
                Refused { denial, count: 1, program: String::new(), hosts: Vec::new(), ended_well: false };
            let denied = attribute(&Ground { shortfall: &lacks, ..*ground }, refused);
            assert_eq!(denied.grant, tools(Right::Write));
            assert!(denied.forward.is_some());
        });
    }

    #[test]
    fn of_a_concluded_name_outside_home_nobody_knows_whether_it_is_there() {
        let here = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        for (path, inferred, unknown) in
            [("/srv/x", true, true), ("/home/u/x", true, false), ("/srv/x", false, false)]
        {
            with_ground("planning", "cat x", &here, |ground| {
                let denial = Denial {
                    act: Act::Read,
                    target: Target::Path(path.into()),
                    cause: Cause::Outside,
                    errno: libc::ENOENT,
                    inferred,
                };
                let refused = Refused {
                    denial,
                    count: 1,
                    program: String::new(),
                    hosts: Vec::new(),
                    ended_well: false,
                };
                let denied = attribute(ground, refused);
                assert_eq!(denied.unknown, unknown, "{path} {inferred}");
                assert_eq!(denied.forward, None, "{path}");
            });
        }
    }

    #[test]
    fn narrowing_names_its_option_and_the_network_its_right() {
        let (right, grant, event) = said("implementing", "cat x", Act::Create, "/w/a", Cause::Narrowed);
        assert_eq!((right, grant, event), (Right::Write, Grant::Option { name: "--no-narrow" }, None));
        let (right, grant, _) = said("testing", "x", Act::Connect, "example.org:443", Cause::Network);
        assert_eq!((right, grant), (Right::Network, tools(Right::Network)));
        let (_, grant, _) = said("testing", "x", Act::Connect, "10.0.0.2:53", Cause::Network);
        assert_eq!(grant, tools(Right::Network), "the name counts, not its server");
        let (right, _, event) = said("planning", "x", Act::Connect, "127.0.0.1:80", Cause::Network);
        assert_eq!((right, event.as_deref()), (Right::Loopback, Some("PLAN_READY")));
    }
}
