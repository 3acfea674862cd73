//! Kubernetes: kubectl, helm and what stands around them. All of it talks to a cluster.

use crate::classify::findings::Findings;
use crate::classify::hatch::container;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

/// A dry run that changes nothing; `--dry-run=none` is none.
const DRY_RUN: OptionSpec<'static> =
    opt("", "dry-run").attached().drops(&[Destructive]).except(&["none", "false"]);

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["kubectl", "oc", "k3s", "microk8s.kubectl", "kubecolor", "k"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .global()
        .longs(&[
            "insecure-skip-tls-verify",
            "match-server-version",
            "warnings-as-errors",
            "disable-compression",
            "log-flush-frequency",
        ])
        .values("nsv")
        .long_values(&[
            "namespace",
            "context",
            "cluster",
            "user",
            "server",
            "token",
            "as",
            "as-group",
            "as-uid",
            "request-timeout",
            "cache-dir",
            "certificate-authority",
            "client-certificate",
            "client-key",
            "tls-server-name",
            "username",
            "password",
            "profile",
            "kuberc",
        ])
        .options(&[
            // A kubeconfig may name a credential plugin to run.
            opt("", "kubeconfig").value().opaque(Cause::Configuration),
            opt("", "profile-output").role(Role::Write),
        ])
        .subcommands(KUBECTL),
    command(&["helm"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .global()
        .longs(&["debug", "kube-insecure-skip-tls-verify"])
        .values("n")
        .long_values(&[
            "namespace",
            "kube-context",
            "kube-apiserver",
            "kube-as-group",
            "kube-as-user",
            "kube-ca-file",
            "kube-token",
            "kube-tls-server-name",
            "registry-config",
            "repository-cache",
            "repository-config",
            "burst-limit",
            "qps",
        ])
        .options(&[opt("", "kubeconfig").value().opaque(Cause::Configuration)])
        .subcommands(HELM),
    command(&[
        "helmfile",
        "werf",
        "argocd",
        "flux",
        "istioctl",
        "linkerd",
        "cilium",
        "hubble",
        "velero",
        "kubeadm",
        "kops",
        "eksctl",
        "kubeseal",
        "kubens",
        "kubectx",
        "kapp",
        "ytt",
        "stern",
        "k9s",
        "kubescape",
        "telepresence",
        "okteto",
        "kompose",
        "operator-sdk",
        "kubebuilder",
        "clusterctl",
        "talosctl",
        "crossplane",
        "vcluster",
        "virtctl",
        "etcdctl",
        "etcdutl",
    ])
    .classes(&[Network])
    .bare(&[])
    .lenient()
    .options(&[opt("", "kubeconfig").value().opaque(Cause::Configuration), opt("o", "").value(), DRY_RUN])
    .hatch(verbs),
    command(&["minikube", "kind", "k3d", "microk8s", "k0s", "ctlptl"])
        .classes(&[Network])
        .bare(&[])
        .opaque(Cause::ContainerImage)
        .lenient()
        .options(&[opt("h", "").info()])
        .hatch(verbs),
    command(&["kustomize"])
        .lenient()
        .options(&[
            opt("", "enable-exec").opaque(Cause::ExecOption),
            opt("", "enable-alpha-plugins").opaque(Cause::ExecOption),
            opt("", "enable-helm").opaque(Cause::ExecOption),
            opt("", "helm-command").value().opaque(Cause::ExecOption),
            opt("o", "output").role(Role::Write),
        ])
        .hatch(kustomize),
];

const KUBECTL: &[Row] = &[
    command(&[
        "get",
        "describe",
        "logs",
        "top",
        "explain",
        "api-resources",
        "api-versions",
        "version",
        "cluster-info",
        "events",
        "wait",
        "auth",
        "whoami",
        "status",
        "projects",
        "can-i",
        "alpha",
    ])
    .lenient()
    .options(&[
        opt("", "client").drops(&[Network]).adds(&[FileRead]),
        opt("", "output-directory").role(Role::Write),
        opt("f", "filename").value(),
        opt("o", "output").value(),
        opt("l", "selector").value(),
        opt("c", "container").value(),
    ]),
    command(&[
        "apply",
        "create",
        "replace",
        "patch",
        "scale",
        "autoscale",
        "annotate",
        "label",
        "set",
        "rollout",
        "expose",
        "taint",
        "cordon",
        "uncordon",
        "certificate",
        "new-app",
        "new-project",
        "tag",
        "import-image",
        "start-build",
        "adm",
        "policy",
        "process",
        "idle",
    ])
    .lenient()
    .values("lcpo")
    .long_values(&["selector", "output", "field-manager", "type", "patch", "image", "replicas", "overrides"])
    .options(&[
        opt("f", "filename").value(),
        opt("k", "kustomize").value(),
        opt("", "prune").adds(&[Destructive]),
        opt("", "force").only(&["true"]),
        DRY_RUN,
    ])
    .hatch(replaces),
    command(&["delete", "drain"])
        .classes(&[Destructive])
        .lenient()
        .values("lf")
        .long_values(&[
            "selector",
            "filename",
            "grace-period",
            "timeout",
            "cascade",
            "field-selector",
            "output",
            "pod-selector",
        ])
        .options(&[DRY_RUN]),
    command(&["exec", "rsh"])
        .wrapper()
        .permuting()
        .remote()
        .switches("itTq")
        .longs(&["stdin", "tty", "quiet", "no-tty"])
        .values("c")
        .long_values(&["container", "pod-running-timeout", "filename", "shell"])
        .first(&[Role::Text])
        .operands(Role::Command)
        .hatch(stdin_shell),
    command(&["run", "debug"])
        .opaque(Cause::ContainerImage)
        .remote()
        .lenient()
        .options(&[DRY_RUN])
        .hatch(behind_dashes),
    command(&["attach", "proxy", "port-forward", "login", "logout"]).lenient(),
    command(&["edit"]).opaque(Cause::Editor).lenient(),
    // The comparison may be made by a program that the environment names.
    command(&["diff"]).lenient().options(&[opt("f", "filename").value()]),
    command(&["cp"]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["config", "project"]).local().lenient().hatch(config),
    command(&["kustomize", "options", "completion", "help"]).local().lenient(),
    command(&["plugin", "krew"]).opaque(Cause::ExecOption).lenient(),
];

const HELM: &[Row] = &[
    command(&["install", "upgrade", "rollback", "test"]).lenient().options(&[
        opt("", "post-renderer").value().opaque(Cause::ExecOption),
        opt("f", "values").value(),
        opt("", "atomic"),
        DRY_RUN,
    ]),
    command(&["uninstall", "delete", "del", "un"]).classes(&[Destructive]).lenient().options(&[DRY_RUN]),
    command(&[
        "list",
        "ls",
        "status",
        "get",
        "history",
        "hist",
        "search",
        "show",
        "inspect",
        "registry",
        "dependency",
        "dep",
        "dependencies",
        "env",
        "verify",
    ])
    .lenient(),
    command(&["repo"]).lenient().hatch(container::removes),
    command(&["pull", "fetch"]).classes(&[FileWrite]).lenient(),
    command(&["push"]).lenient(),
    command(&["template"]).local().classes(&[FileRead]).lenient().options(&[
        opt("", "post-renderer").value().opaque(Cause::ExecOption),
        opt("", "output-dir").role(Role::Write),
        opt("", "validate").adds(&[Network]),
    ]),
    command(&["lint"]).local().classes(&[FileRead]).lenient(),
    command(&["create", "package"]).local().classes(&[FileWrite]).lenient(),
    command(&["version", "help", "completion"]).local().classes(&[FileRead]).lenient(),
    command(&["plugin"]).opaque(Cause::ExecOption).lenient(),
];

/// `kubectl replace --force` deletes and creates anew; `rollout undo` and the like do not.
fn replaces<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.name.text() == Some("replace") && call.has("force") {
        findings.add(Destructive, call.name.span());
    }
}

/// `kubectl exec -i pod -- sh <<EOF`: the inner shell reads it.
fn stdin_shell<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.fed && findings.inner.is_empty() {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}

/// `kubectl run NAME --image=I -- CMD`.
fn behind_dashes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(at) = call.words.iter().position(|arg| arg.value.literal() == Some("--"))
        && let Some(rest) = call.words.get(at + 1..).filter(|rest| !rest.is_empty())
    {
        findings.run(rest);
    }
}

fn config<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        None | Some("view" | "get-contexts" | "current-context" | "get-clusters" | "get-users") => {
            findings.add(FileRead, call.name.span())
        }
        Some(verb) if verb.starts_with("delete-") || verb == "unset" => {
            findings.add(FileModify, call.name.span())
        }
        Some(_) => findings.add(FileModify, call.name.span()),
    }
}

/// Verbs of the tools around kubernetes; `exec`, `ssh` run something inside.
fn verbs<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_dry = call.given.iter().any(|given| given.option.long == "dry-run");
    if !is_dry {
        container::removes(call, findings);
    }
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match call.operands.iter().take(2).find_map(|word| word.text()) {
        Some("exec" | "ssh" | "kubectl" | "plugin" | "apply" | "sync" | "destroy") => {
            findings.opaque(Cause::Configuration, call.name.span());
        }
        Some("version" | "help" | "completion") => findings.drops(crate::classify::OpSet::of(&[Network])),
        _ => {}
    }
    if name == "etcdctl" && matches!(call.operand(0), Some("snapshot")) {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

fn kustomize<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("build") => {
            findings.add(FileRead, call.name.span());
            if call.operands.iter().any(|word| {
                word.known_prefix().contains("://") || word.known_prefix().starts_with("github.com")
            }) {
                findings.add(Network, call.name.span());
            }
        }
        Some("edit" | "create" | "localize" | "fn") => findings.add(FileModify, call.name.span()),
        _ => {}
    }
}
