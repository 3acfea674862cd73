//! Clients of clouds and hosted services. All of it is Network; verbs of removal are Destructive.

use crate::classify::findings::Findings;
use crate::classify::hatch::{cloud, container};
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, GitWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["aws", "aws2", "awslocal"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .global()
        .exact()
        .longs(&[
            "debug",
            "no-verify-ssl",
            "no-paginate",
            "no-sign-request",
            "no-cli-pager",
            "no-cli-auto-prompt",
            "cli-auto-prompt",
        ])
        .long_values(&[
            "profile",
            "region",
            "output",
            "endpoint-url",
            "query",
            "ca-bundle",
            "cli-read-timeout",
            "cli-connect-timeout",
            "color",
            "cli-binary-format",
        ])
        .subcommands(AWS),
    command(&["gcloud"]).classes(&[Network]).bare(&[]).lenient().hatch(cloud::gcloud),
    command(&["gsutil"]).classes(&[Network]).lenient().values("oh").subcommands(OBJECTS).lenient_sub(),
    command(&["s3cmd", "s5cmd", "mc", "azcopy"])
        .classes(&[Network])
        .lenient()
        .values("c")
        .subcommands(OBJECTS)
        .lenient_sub(),
    command(&["bq"]).classes(&[Network]).lenient().hatch(cloud::big_query),
    command(&["az"]).classes(&[Network]).bare(&[]).lenient().hatch(cloud::azure),
    command(&[
        "doctl",
        "hcloud",
        "linode-cli",
        "vultr-cli",
        "scw",
        "oci",
        "ibmcloud",
        "aliyun",
        "openstack",
        "cf",
        "eb",
        "copilot",
        "sam",
        "cdk",
        "aws-vault",
        "saml2aws",
        "steampipe",
        "cloudquery",
        "fastly",
        "flarectl",
        "dnscontrol",
        "snowsql",
        "databricks",
        "confluent",
        "datadog-ci",
        "pagerduty",
        "auth0",
        "hasura",
        "planetscale",
        "pscale",
        "neonctl",
        "turso",
        "appwrite",
    ])
    .classes(&[Network])
    .bare(&[])
    .lenient()
    .hatch(container::removes),
    command(&["gh"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .global()
        .values("R")
        .long_values(&["repo", "hostname"])
        .subcommands(GH),
    command(&["glab", "hub", "tea", "git-review"])
        .classes(&[Network])
        .bare(&[])
        .lenient()
        .values("R")
        .long_values(&["repo"])
        .hatch(cloud::forge),
];

const AWS: &[Row] = &[
    command(&["s3"]).lenient().subcommands(OBJECTS),
    command(&["configure"]).local().lenient().hatch(configure),
    command(&["help"]).local().lenient(),
    command(&["ssm", "ecs"]).lenient().subcommands(&[
        command(&["start-session", "send-command", "execute-command", "run-task"])
            .opaque(Cause::ContainerImage)
            .remote()
            .lenient(),
        DELETES,
        command(&["*"]).lenient(),
    ]),
    command(&["s3api"]).lenient().subcommands(&[
        command(&["get-object"]).classes(&[FileWrite]).lenient(),
        DELETES,
        command(&["*"]).lenient(),
    ]),
    command(&["lambda"]).lenient().subcommands(&[
        command(&["invoke"]).classes(&[FileWrite]).lenient(),
        DELETES,
        command(&["*"]).lenient(),
    ]),
    command(&["eks"]).lenient().subcommands(&[
        command(&["update-kubeconfig"])
            .classes(&[FileModify])
            .lenient()
            .options(&[opt("", "dry-run").drops(&[FileModify])]),
        DELETES,
        command(&["*"]).lenient(),
    ]),
    command(&["*"]).lenient().subcommands(&[DELETES, command(&["*"]).lenient()]),
];

/// Operations of every service that take something away.
const DELETES: Row = command(&[
    "delete*",
    "terminate-*",
    "remove-*",
    "deregister-*",
    "purge-*",
    "destroy*",
    "batch-delete-*",
    "batch-remove-*",
    "schedule-key-deletion",
    "empty-*",
    "reset-*",
    "revoke-*",
    "release-*",
    "detach-and-delete*",
    "abort-*",
])
.classes(&[Destructive])
.lenient()
.options(&[opt("", "dry-run").drops(&[Destructive]), opt("", "generate-cli-skeleton").drops(&[Destructive])]);

/// Object stores: copies between here and there.
const OBJECTS: &[Row] = &[
    command(&[
        "ls", "du", "stat", "la", "info", "hash", "acl", "presign", "website", "mb", "signurl", "help",
        "version", "tree", "find", "head", "list", "tag", "share",
    ])
    .lenient(),
    command(&["cat", "pipe"]).lenient(),
    command(&["cp", "put", "get", "rsync", "copy", "mirror", "download", "upload"])
        .lenient()
        .switches("rmnpvR")
        .options(&[
            opt("d", "delete").adds(&[Destructive]),
            opt("", "remove").adds(&[Destructive]),
            opt("", "delete-removed").adds(&[Destructive]),
            opt("", "delete-destination").value().adds(&[Destructive]).except(&["false"]),
            opt("", "dryrun"),
            opt("", "exclude").value(),
            opt("", "include").value(),
            opt("", "acl").value(),
            opt("", "storage-class").value(),
            opt("", "content-type").value(),
            opt("", "cache-control").value(),
            opt("", "sse").value(),
            opt("", "metadata").value(),
        ])
        .operands(Role::RemoteSource)
        .last(Role::RemoteTarget),
    command(&["sync"])
        .lenient()
        .options(&[
            opt("", "delete").adds(&[Destructive]),
            opt("", "delete-removed").adds(&[Destructive]),
            opt("", "delete-destination").value().adds(&[Destructive]).except(&["false"]),
            opt("", "exclude").value(),
            opt("", "include").value(),
            opt("", "acl").value(),
            opt("", "storage-class").value(),
            opt("", "cache-control").value(),
        ])
        .operands(Role::RemoteSource)
        .last(Role::RemoteTarget)
        .hatch(cloud::dry_sync),
    command(&["mv", "move"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("", "dryrun").drops(&[Destructive])])
        .operands(Role::RemoteSource)
        .last(Role::RemoteTarget),
    command(&["rm", "rb", "del", "delete", "remove", "abortmp", "expire", "setlifecycle"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("", "dryrun").drops(&[Destructive]), opt("", "dry-run").drops(&[Destructive])]),
    command(&["config", "configure", "init"]).classes(&[FileModify]).lenient(),
];

const GH: &[Row] = &[
    command(&["pr"]).lenient().subcommands(&[
        command(&["checkout", "co"]).classes(&[GitWrite]).lenient(),
        command(&["merge"]).lenient().options(&[opt("d", "delete-branch").adds(&[GitWrite])]),
        command(&["create", "new"]).lenient().options(&[opt("F", "body-file").role(Role::Read)]),
        command(&["*"]).lenient().options(&[opt("F", "body-file").role(Role::Read)]),
    ]),
    command(&["issue", "label", "milestone", "project", "discussion"]).lenient().subcommands(&[
        command(&["delete", "item-delete", "field-delete"]).classes(&[Destructive]).lenient(),
        command(&["develop"]).classes(&[GitWrite]).lenient(),
        command(&["*"]).lenient().options(&[opt("F", "body-file").role(Role::Read)]),
    ]),
    command(&["repo"]).lenient().subcommands(&[
        command(&["delete"]).classes(&[Destructive]).lenient(),
        command(&["clone"]).classes(&[FileWrite, GitWrite]).lenient(),
        command(&["sync", "fork", "create", "new", "set-default", "rename"]).classes(&[GitWrite]).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&["release"]).lenient().subcommands(&[
        command(&["download"]).classes(&[FileWrite]).lenient(),
        command(&["delete", "delete-asset"]).classes(&[Destructive]).lenient(),
        command(&["create", "upload"]).classes(&[FileRead]).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&[
        "run",
        "workflow",
        "cache",
        "secret",
        "variable",
        "gist",
        "ssh-key",
        "gpg-key",
        "ruleset",
        "org",
        "attestation",
        "agent-task",
    ])
    .lenient()
    .subcommands(&[
        command(&["download"]).classes(&[FileWrite]).lenient(),
        command(&["clone"]).classes(&[FileWrite, GitWrite]).lenient(),
        command(&["delete", "remove"]).classes(&[Destructive]).lenient(),
        command(&["edit"]).opaque(Cause::Editor).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&["codespace", "cs"]).lenient().subcommands(&[
        command(&["delete"]).classes(&[Destructive]).lenient(),
        command(&["ssh"])
            .wrapper()
            .permuting()
            .remote()
            .lenient()
            .values("c")
            .long_values(&["codespace", "profile", "server-port"])
            .operands(Role::Line),
        command(&["cp"]).classes(&[FileWrite]).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&["api"])
        .lenient()
        .values("HqtpF")
        .long_values(&["header", "jq", "template", "preview", "cache", "field", "raw-field"])
        .options(&[
            opt("X", "method").value().adds(&[Destructive]).only(&["delete"]),
            opt("f", "").value(),
            opt("", "input").role(Role::Read),
        ]),
    command(&["auth"]).lenient().subcommands(&[
        command(&["login", "logout", "refresh", "setup-git", "switch"]).classes(&[FileModify]).lenient(),
        command(&["*"]).lenient(),
    ]),
    command(&["search", "status", "browse", "preview", "org"]).lenient(),
    command(&["co"]).classes(&[GitWrite]).lenient(),
    command(&["config", "alias"]).local().lenient().hatch(gh_settings),
    command(&["version", "help", "completion"]).local().lenient(),
    command(&["extension", "ext", "extensions", "copilot"]).opaque(Cause::ExecOption).lenient(),
];

/// `aws configure`: `list` and `get` read.
fn configure<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("list" | "list-profiles" | "get" | "export-credentials") => {
            findings.add(FileRead, call.name.span())
        }
        Some("sso" | "sso-session") => {
            findings.add(Network, call.name.span());
            findings.add(FileModify, call.name.span());
        }
        _ => findings.add(FileModify, call.name.span()),
    }
}

/// A gh alias may be a shell command, a setting an editor or pager.
fn gh_settings<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if !matches!(call.operand(0), None | Some("list" | "get" | "ls")) {
        findings.add(FileModify, call.name.span());
    }
}
