//! Batch systems, parallel launchers and attached devices.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "squeue",
        "sinfo",
        "sacct",
        "sstat",
        "sprio",
        "sshare",
        "qstat",
        "qhost",
        "pbsnodes",
        "bjobs",
        "bqueues",
        "bhosts",
        "showq",
        "condor_q",
        "condor_status",
    ])
    .classes(&[Network])
    .lenient(),
    command(&["scancel", "qdel", "bkill", "condor_rm", "scontrol", "sacctmgr", "qalter", "qhold", "qrls"])
        .classes(&[Network])
        .lenient(),
    command(&["sbatch", "qsub", "bsub", "condor_submit"])
        .classes(&[Network])
        .opaque(Cause::ScriptFile)
        .lenient()
        .hatch(wrapped),
    // Their options are too many to know which word is the command.
    command(&[
        "srun",
        "salloc",
        "mpirun",
        "mpiexec",
        "mpiexec.hydra",
        "orterun",
        "prun",
        "jsrun",
        "aprun",
        "horovodrun",
        "dask-ssh",
        "gnu-parallel",
    ])
    .opaque(Cause::ExecOption)
    .lenient()
    .hatch(launcher),
    command(&["adb"]).classes(&[Network]).bare(&[]).lenient().values("sHPLt").subcommands(&[
        command(&["shell", "exec-out", "exec-in"])
            .wrapper()
            .remote()
            .switches("tTxn")
            .values("e")
            .operands(Role::Line),
        command(&["install", "install-multiple", "push", "sideload", "restore"])
            .classes(&[FileRead])
            .lenient(),
        command(&["pull", "backup", "bugreport"]).classes(&[FileWrite]).lenient(),
        command(&["uninstall"]).classes(&[Destructive]).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&["fastboot"]).classes(&[Network]).lenient().hatch(fastboot),
    command(&[
        "avrdude",
        "esptool",
        "esptool.py",
        "dfu-util",
        "st-flash",
        "openocd",
        "flashrom",
        "picotool",
        "stm32flash",
        "bossac",
        "teensy_loader_cli",
    ])
    .classes(&[FileRead, Destructive])
    .lenient()
    .options(&[
        opt("c", "").value(),
        opt("f", "").value().opaque(Cause::ScriptFile),
        opt("r", "read").adds(&[FileWrite]),
    ]),
    command(&["tlmgr"]).classes(&[Network]).lenient().subcommands(&[
        command(&["install", "update", "init-usertree", "option", "repository"])
            .classes(&[FileWrite])
            .lenient(),
        command(&["remove", "uninstall"]).classes(&[Destructive]).lenient(),
        command(&["*"]).lenient(),
    ]),
];

/// `sbatch --wrap 'CMD'`.
fn wrapped<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for pair in call.words.windows(2) {
        if pair[0].value.literal() == Some("--wrap") {
            findings.shell(crate::classify::options::Word::whole(&pair[1]));
        }
    }
    for arg in call.words {
        if let Some(text) = arg.value.literal().and_then(|text| text.strip_prefix("--wrap=")) {
            findings.shell_text(text.to_owned(), arg.span);
        }
    }
}

/// `srun -n 4 CMD`, `mpirun -np 4 CMD`: the first operand that is no number begins the command.
fn launcher<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_value =
        |text: &str| text.starts_with('-') || text.chars().next().is_some_and(|c| c.is_ascii_digit());
    let start = call.words.iter().position(|arg| !is_value(arg.value.known_prefix()));
    if let Some(rest) = start.and_then(|at| call.words.get(at..)) {
        findings.run(rest);
    }
}

fn fastboot<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operands.iter().any(|word| {
        matches!(
            word.text(),
            Some("erase" | "format" | "flash" | "flashall" | "wipe-super" | "update" | "-w")
        )
    }) {
        findings.add(Destructive, call.name.span());
    }
}
