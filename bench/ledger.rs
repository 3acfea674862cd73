//! What each step of a launch costs: plans with and without it, launched in turn, the difference of the medians.
//!
//! `cargo bench --bench ledger [-- ROUNDS]`. The command is this program itself, which is static and ends at once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use swbox::jail::{Capture, Exit, JailPlan, Step, launch, plan, probe};
use swbox::policy::{NetworkRight, Rights, WorkspaceRight};
use swbox::profile::resolve::secret_places;
use swbox::profile::value::Anchors;
use swbox::profile::{Bind, HostFacts, Task, builtin, resolve};

/// The argument with which this program ends at once.
const NOTHING: &str = "--nothing";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == NOTHING) {
        return Ok(());
    }
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(200);
    let workspace = std::env::current_dir()?;
    let own = std::env::current_exe()?;
    let variants = variants(&workspace, &own)?;
    pure(&workspace, &own)?;
    let mut times = vec![Vec::with_capacity(rounds); variants.len() + 1];
    for _ in 0..rounds {
        let begun = Instant::now();
        std::process::Command::new(&own).arg(NOTHING).status()?;
        times[0].push(begun.elapsed().as_secs_f64() * 1e3);
        for (times, (_, plan)) in times.iter_mut().skip(1).zip(&variants) {
            let begun = Instant::now();
            let outcome = launch(plan, Capture::Inherit)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if outcome.exit != Exit::Code(0) {
                return Err(format!("the command ended with {:?}", outcome.exit).into());
            }
        }
    }
    let names =
        std::iter::once("spawn and exec, no jail").chain(variants.iter().map(|(name, _)| name.as_str()));
    let (mut before, mut quickest) = (0.0, 0.0);
    let mut table = format!("{:<44} {:>9} {:>9} {:>9} {:>9}\n", "step", "median ms", "+", "fastest", "+");
    for (name, times) in names.zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let (median, fastest) = (times[times.len() / 2], times[0]);
        let (more, fast_more) = (median - before, fastest - quickest);
        table += &format!("{name:<44} {median:>9.3} {more:>+9.3} {fastest:>9.3} {fast_more:>+9.3}\n");
        (before, quickest) = (median, fastest);
    }
    std::io::Write::write_all(&mut std::io::stdout(), table.as_bytes())?;
    Ok(())
}

/// What the pure parts cost: they are done once a launch, in memory.
fn pure(workspace: &Path, own: &Path) -> Result<(), Failure> {
    const ROUNDS: u32 = 500;
    let read = || whole(workspace, own, WorkspaceRight::Read, NetworkRight::None);
    let filter = read()?.filter;
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        std::hint::black_box(swbox::jail::seccomp::compile(filter, swbox::jail::seccomp::Arch::NATIVE));
    }
    let compiled = begun.elapsed() / ROUNDS;
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        std::hint::black_box(read()?);
    }
    let planned = begun.elapsed() / ROUNDS;
    let text = format!("profile, spec and plan {planned:?}, seccomp program {compiled:?}\n");
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

/// Plans that grow step by step, each with a name for what is new in it.
fn variants(workspace: &Path, own: &Path) -> Result<Vec<(String, JailPlan)>, Failure> {
    let whole = |right, network| whole(workspace, own, right, network);
    let read = whole(WorkspaceRight::Read, NetworkRight::None)?;
    let is_own = |step: &Step| matches!(step, Step::Bind { path, .. } if path == own);
    let keep = |name: &str, wanted: &dyn Fn(&Step) -> bool| {
        let mut plan = read.clone();
        plan.steps.retain(|step| is_own(step) || matches!(step, Step::Workspace { .. }) || wanted(step));
        (name.to_owned(), plan)
    };
    let dirs = |step: &Step| matches!(step, Step::Dir { .. } | Step::Symlink { .. });
    let devices = |step: &Step| dirs(step) || matches!(step, Step::Device { .. });
    let pts = |step: &Step| devices(step) || matches!(step, Step::Pts);
    let proc = |step: &Step| pts(step) || matches!(step, Step::Proc);
    let binds = |step: &Step| proc(step) || matches!(step, Step::Bind { .. });
    let git = |step: &Step| binds(step) || matches!(step, Step::Git { .. });
    let (name, bare) = keep("namespaces, root, workspace, filter, pid 1", &|_| false);
    let mut unfenced = bare;
    unfenced.landlock.grants.clear();
    let mut variants = vec![
        (name, unfenced),
        keep("Landlock rules", &|_| false),
        keep("private directories and links", &dirs),
        keep("device nodes", &devices),
        keep("/dev/pts", &pts),
        keep("/proc", &proc),
        keep("host trees", &binds),
        keep("finding git directories", &git),
        keep("secrets and made files: all of a read state", &|_| true),
    ];
    variants.push(("writable workspace".to_owned(), whole(WorkspaceRight::Write, NetworkRight::None)?));
    variants.push(("… with loopback".to_owned(), whole(WorkspaceRight::Write, NetworkRight::Loopback)?));
    variants.push((
        "… with a throw-away layer".to_owned(),
        whole(WorkspaceRight::ThrowAway, NetworkRight::Loopback)?,
    ));
    Ok(variants)
}

/// The plan of a real state with the base profile.
fn whole(
    workspace: &Path,
    own: &Path,
    right: WorkspaceRight,
    network: NetworkRight,
) -> Result<JailPlan, Failure> {
    let rights = Rights { workspace: right, git_write: false, network, narrowed: Vec::new() };
    let profile = builtin::find("base").ok_or("no base profile")?.profile()?;
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into()));
    let env: Vec<_> = std::env::vars_os().collect();
    let anchors = Anchors { home: &home, workspace, env: &env };
    let secrets = secret_places(&profile, &anchors).into_iter().filter(|path| path.exists()).collect();
    let facts = HostFacts { home: home.clone(), env: env.clone(), secrets, ..HostFacts::default() };
    let task = Task {
        workspace,
        cwd: workspace,
        pwd: workspace,
        rights: &rights,
        executes: false,
        blocked_env: &[],
        env_overrides: &[],
        state: &swbox::profile::resolve::StateJail::default(),
        timeout: None,
    };
    let mut spec = resolve(&profile, &facts, &task);
    spec.binds.push(Bind { path: own.to_owned(), writable: false, exec: true, optional: false });
    let argv = [own.as_os_str().to_owned(), OsString::from(NOTHING)];
    Ok(plan(&spec, &probe(), &argv)?)
}
