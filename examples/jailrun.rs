//! Temporary: run a command in the jail with given rights, until `swbox exec` has landed.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::expect_used)]
use std::ffi::OsString;
use std::path::PathBuf;

use swbox::jail::{Capture, Exit, Level, launch, plan, probe};
use swbox::policy::{NetworkRight, Rights, WorkspaceRight};
use swbox::profile::{HostFacts, Task, resolve, value::Anchors};

fn main() -> std::process::ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (mut right, mut network, mut git, mut keep, mut show) =
        (WorkspaceRight::Read, NetworkRight::None, false, None, false);
    let mut workspace = std::env::current_dir().unwrap();
    let mut host = probe();
    let mut timeout = None;
    let mut verbose = false;
    let mut lax = false;
    let mut argv: Vec<OsString> = Vec::new();
    while let Some(arg) = args.next() {
        match arg.to_str().unwrap() {
            "--list" => right = WorkspaceRight::List,
            "--write" => right = WorkspaceRight::Write,
            "--throw" => right = WorkspaceRight::ThrowAway,
            "--loop" => network = NetworkRight::Loopback,
            "--open" => network = NetworkRight::Open,
            "--git" => git = true,
            "--show" => show = true,
            "--lax" => lax = true,
            "-v" => verbose = true,
            "--landlock" => host.level = Level::LandlockOnly,
            "--abi" => host.landlock_abi = args.next().unwrap().to_str().unwrap().parse().unwrap(),
            "--keep" => keep = Some(args.next().unwrap().to_str().unwrap().parse().unwrap()),
            "--timeout" => {
                timeout = Some(std::time::Duration::from_secs_f64(
                    args.next().unwrap().to_str().unwrap().parse().unwrap(),
                ));
            }
            "--ws" => workspace = PathBuf::from(args.next().unwrap()),
            "--" => {
                argv.extend(args.by_ref());
            }
            other => panic!("{other}"),
        }
    }
    let workspace = workspace.canonicalize().unwrap();
    let rights = Rights { workspace: right, git_write: git, network, narrowed: vec![] };
    let profile = swbox::profile::builtin::find("base").unwrap().profile().unwrap();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or("/tmp".into()));
    let env: Vec<_> = std::env::vars_os().collect();
    let anchors = Anchors { home: &home, workspace: &workspace, env: &env };
    let secrets: Vec<_> = swbox::profile::resolve::secret_places(&profile, &anchors)
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    let facts = HostFacts {
        home: home.clone(),
        env: env.clone(),
        secrets,
        gitconfig: b"[user]\n name = t\n email = t@t\n".to_vec(),
        ..HostFacts::default()
    };
    let cwd = std::env::current_dir().unwrap();
    let cwd = if cwd.starts_with(&workspace) { cwd } else { workspace.clone() };
    let mut spec = resolve(
        &profile,
        &facts,
        &Task {
            workspace: &workspace,
            cwd: &cwd,
            rights: &rights,
            executes: false,
            blocked_env: &[],
            env_overrides: &[],
            state: &swbox::profile::StateJail::default(),
            timeout,
        },
    );
    if lax {
        for requirement in spec.protections.values_mut() {
            *requirement = swbox::profile::Requirement::Degradable;
        }
    }
    let plan = match plan(&spec, &host, &argv) {
        Ok(plan) => plan,
        Err(d) => {
            eprintln!("swbox: {d}\n  help {:?}", d.help);
            return 125.into();
        }
    };
    if show {
        println!("{}", serde_json::to_string_pretty(&plan).unwrap());
        return 0.into();
    }
    let capture = keep.map_or(Capture::Inherit, Capture::Keep);
    match launch(&plan, capture) {
        Ok(outcome) => {
            if verbose {
                eprintln!("{outcome:#?}");
            }
            if let Some((out, _)) = &outcome.output {
                eprintln!("out total {} head {} tail {}", out.total, out.head.len(), out.tail.len());
            }
            match outcome.exit {
                Exit::Code(code) => code.into(),
                Exit::Signal(signal) => (128 + u8::try_from(signal).unwrap()).into(),
                Exit::Timeout => 124.into(),
                Exit::NotStarted { code, errno } => {
                    eprintln!("swbox: not started: {}", std::io::Error::from_raw_os_error(errno));
                    code.into()
                }
            }
        }
        Err(d) => {
            eprintln!("swbox: {d}\n  help {:?}", d.help);
            125.into()
        }
    }
}
