//! Infrastructure as code and configuration management: plans are looks, applying is Network and may do anything.

use crate::classify::findings::Findings;
use crate::classify::hatch::container;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["terraform", "tofu", "opentofu", "terragrunt", "tf"])
        .single()
        .lenient()
        .options(&[
            opt("", "chdir").chdir(),
            opt("", "v").info(),
            opt("", "working-dir").chdir(),
            opt("", "terragrunt-working-dir").chdir(),
        ])
        .subcommands(TERRAFORM),
    command(&["pulumi"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .options(&[opt("C", "cwd").chdir(), opt("s", "stack").value()])
        .subcommands(PULUMI),
    command(&["ansible"])
        .classes(&[Network])
        .lenient()
        .remote()
        .values("ilmeutfMcTPBRK")
        .long_values(&[
            "inventory",
            "limit",
            "module-name",
            "extra-vars",
            "user",
            "forks",
            "connection",
            "timeout",
            "become-user",
            "become-method",
            "private-key",
            "vault-password-file",
            "module-path",
            "poll",
            "background",
        ])
        .options(&[
            opt("a", "args").value(),
            opt("C", "check"),
            opt("", "list-hosts"),
            opt("", "version").info(),
            opt("", "playbook-dir").value(),
        ])
        .hatch(ansible),
    command(&[
        "ansible-playbook",
        "ansible-pull",
        "ansible-console",
        "salt",
        "salt-ssh",
        "salt-call",
        "salt-run",
        "puppet",
        "chef-client",
        "chef-solo",
        "chef",
        "knife",
    ])
    .classes(&[Network])
    .opaque(Cause::Configuration)
    .lenient()
    .options(&[
        opt("", "syntax-check").drops(&[Network]),
        opt("", "list-tasks").drops(&[Network]),
        opt("", "list-hosts").drops(&[Network]),
    ])
    .hatch(container::removes),
    command(&["ansible-galaxy"]).classes(&[Network, FileWrite]).lenient().hatch(galaxy),
    command(&["ansible-vault"]).lenient().subcommands(&[
        command(&["view"]).lenient().operands(Role::Read),
        command(&["edit", "create"]).opaque(Cause::Editor).lenient().operands(Role::Modify),
        command(&["encrypt", "decrypt", "rekey"])
            .lenient()
            .operands(Role::Modify)
            .options(&[opt("", "output").role(Role::Write)]),
        command(&["encrypt_string"]).lenient(),
    ]),
    command(&["ansible-inventory", "ansible-config", "ansible-doc"]).lenient(),
    command(&["packer"]).lenient().subcommands(&[
        command(&["build"]).classes(&[Network]).opaque(Cause::Configuration).lenient(),
        command(&["init", "plugins"]).classes(&[Network, FileWrite]).lenient(),
        command(&["fmt", "hcl2_upgrade", "fix"])
            .classes(&[FileModify])
            .lenient()
            .options(&[opt("", "check").drops(&[FileModify])]),
        command(&["validate", "inspect", "version", "console", "help"]).lenient(),
    ]),
    command(&["vault", "consul", "nomad", "boundary", "waypoint"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .hatch(hashicorp),
    command(&["cdktf", "terraform-docs", "infracost", "terrascan", "cdk8s"])
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient()
        .hatch(container::removes),
];

const TERRAFORM: &[Row] = &[
    // Providers and external data sources are programs.
    command(&["plan", "refresh", "console", "test"])
        .single()
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient()
        .options(&[opt("", "out").role(Role::Write)]),
    command(&["apply", "run-all", "stack"])
        .single()
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient()
        .options(&[opt("", "destroy").adds(&[Destructive]), opt("", "replace").value().adds(&[Destructive])])
        .hatch(run_all),
    command(&["destroy"]).single().classes(&[Network, Destructive]).opaque(Cause::Configuration).lenient(),
    command(&["init", "get"]).single().classes(&[Network, FileWrite]).opaque(Cause::Configuration).lenient(),
    command(&["fmt"]).single().classes(&[FileModify]).lenient().options(&[
        opt("", "check").drops(&[FileModify]),
        opt("", "write").value().drops(&[FileModify]).only(&["false"]),
    ]),
    command(&["hclfmt"]).classes(&[FileModify]).lenient(),
    command(&[
        "validate",
        "show",
        "output",
        "version",
        "graph",
        "providers",
        "metadata",
        "help",
        "modules",
        "render-json",
        "graph-dependencies",
        "hclvalidate",
    ])
    .single()
    .classes(&[FileRead])
    .lenient(),
    command(&["state"]).lenient().subcommands(&[
        command(&["list", "show", "pull"]).single().classes(&[FileRead]).lenient(),
        command(&["rm"])
            .single()
            .classes(&[FileModify, Destructive])
            .lenient()
            .options(&[opt("", "dry-run").drops(&[FileModify, Destructive])]),
        command(&["mv", "push", "replace-provider"])
            .single()
            .classes(&[FileModify])
            .lenient()
            .options(&[opt("", "dry-run").drops(&[FileModify])]),
    ]),
    command(&["workspace", "env"]).lenient().subcommands(&[
        command(&["list", "show"]).lenient(),
        command(&["delete"]).single().classes(&[Destructive]).lenient(),
        command(&["new", "select"]).single().classes(&[FileModify]).lenient(),
    ]),
    command(&["import", "taint", "untaint", "force-unlock", "login", "logout"])
        .single()
        .classes(&[Network, FileModify])
        .lenient(),
];

const PULUMI: &[Row] = &[
    command(&["destroy", "down"]).classes(&[Destructive]).opaque(Cause::Configuration).lenient(),
    command(&[
        "up",
        "update",
        "preview",
        "refresh",
        "import",
        "watch",
        "install",
        "new",
        "convert",
        "policy",
        "plugin",
        "deployment",
    ])
    .opaque(Cause::Configuration)
    .lenient(),
    command(&["stack", "state", "config", "org", "env"]).lenient().hatch(container::removes),
    command(&[
        "version",
        "about",
        "help",
        "whoami",
        "logs",
        "history",
        "login",
        "logout",
        "schema",
        "gen-completion",
        "console",
        "cancel",
        "package",
    ])
    .lenient(),
];

/// `ansible all -m shell -a 'rm -rf x'`: the arguments run on the hosts.
fn ansible<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    findings.opaque(Cause::Configuration, call.name.span());
    let module = call.words.windows(2).find_map(|pair| {
        matches!(pair[0].value.literal(), Some("-m" | "--module-name"))
            .then(|| pair[1].value.literal())
            .flatten()
    });
    let is_shell = matches!(
        module,
        None | Some(
            "command"
                | "shell"
                | "raw"
                | "ansible.builtin.shell"
                | "ansible.builtin.command"
                | "script"
                | "ansible.builtin.raw"
        )
    );
    if is_shell && let Some(text) = call.value("args") {
        findings.shell(text);
    }
}

fn galaxy<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match (call.operand(0), call.operand(1)) {
        (Some("remove"), _) | (_, Some("remove" | "delete")) => findings.add(Destructive, call.name.span()),
        (Some("list"), _) | (_, Some("list" | "verify")) => {
            findings.drops(crate::classify::OpSet::of(&[FileWrite]))
        }
        _ => {}
    }
}

/// `terragrunt run-all destroy`.
fn run_all<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operands.iter().take(2).any(|word| word.text() == Some("destroy")) {
        findings.add(Destructive, call.name.span());
    }
}

/// vault, consul, nomad: `exec` and `watch` run programs, `agent` a server.
fn hashicorp<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    container::removes(call, findings);
    let verbs: Vec<&str> = call.operands.iter().take(3).filter_map(|word| word.text()).collect();
    let runs = |verb: &&str| {
        matches!(
            *verb,
            "exec" | "watch" | "agent" | "server" | "lock" | "alloc" | "ssh" | "connect" | "proxy"
        )
    };
    if verbs.iter().any(runs) {
        findings.opaque(Cause::Configuration, call.name.span());
    }
    if matches!(verbs.first(), Some(&("version" | "fmt" | "validate"))) {
        findings.drops(crate::classify::OpSet::of(&[Network]));
    }
    if call.words.iter().any(|arg| arg.value.literal() == Some("-purge")) {
        findings.add(Destructive, call.name.span());
    }
    let output = call.words.iter().any(|arg| arg.value.known_prefix().starts_with("-output="));
    if output {
        findings.unknown_path(FileWrite, call.name.span());
    }
}
