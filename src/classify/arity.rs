//! Canonical prefixes: how many words of a command name what it does (`git push`, `docker compose up`).
//!
//! Duty: the arity table and, for each program, the options whose value would else be taken for a word of the prefix
//! (`git -C dir push`). Flags do not count, positionals do. Danger: a prefix that is shorter than what distinguishes the
//! effects lets a rule for one command cover another (`aws s3` for `aws s3 rm`): when in doubt a word more.

/// The most words a prefix has.
const MOST: usize = 4;

/// The number of words in the prefix of a command with these positionals (the program first): the row of the longest
/// beginning, 1 without one.
pub fn words(positionals: &[&str]) -> usize {
    (1..=positionals.len().min(MOST - 1))
        .rev()
        .find_map(|length| {
            let at = ROWS.binary_search_by(|(key, _)| compare(key, &positionals[..length])).ok()?;
            Some(ROWS[at].1)
        })
        .unwrap_or(1)
}

/// The canonical prefix of an unwrapped argv whose program has the base name `program`.
pub fn canonical(program: &str, argv: &[String]) -> Vec<String> {
    let mut positionals: Vec<&str> = Vec::with_capacity(MOST);
    if program.is_empty() {
        return Vec::new();
    }
    positionals.push(program);
    let mut words = argv.iter().skip(1);
    while positionals.len() < MOST
        && let Some(word) = words.next()
    {
        if word == "--" {
            positionals.extend(words.by_ref().take(MOST - positionals.len()).map(String::as_str));
        } else if word.starts_with('+') && program == "cargo" && positionals.len() == 1 {
            // `cargo +nightly build`: the toolchain is no word of the command.
        } else if !word.starts_with('-') || word == "-" {
            positionals.push(word);
        } else if takes_value(&positionals, word) {
            words.next();
        }
    }
    let length = self::words(&positionals).min(positionals.len());
    positionals[..length].iter().map(|word| (*word).to_owned()).collect()
}

/// Whether the option `word`, read behind these positionals, takes the next word as its value.
fn takes_value(positionals: &[&str], word: &str) -> bool {
    (1..=positionals.len()).any(|length| {
        let Ok(at) = VALUES.binary_search_by(|(key, ..)| compare(key, &positionals[..length])) else {
            return false;
        };
        let (_, letters, longs) = VALUES[at];
        match word.strip_prefix("--") {
            Some(long) => longs.contains(&long),
            None => {
                let flags = &word[1..];
                // Some programs spell long options with one dash (`terraform -chdir`).
                let is_last = flags.find(|letter| letters.contains(letter)).map(|at| at + 1 == flags.len());
                is_last.unwrap_or_else(|| longs.contains(&flags))
            }
        }
    })
}

/// Orders a key against words joined by blanks.
fn compare(key: &str, words: &[&str]) -> std::cmp::Ordering {
    let joined = words.iter().enumerate().flat_map(|(index, word)| {
        let gap: &[u8] = if index == 0 { b"" } else { b" " };
        gap.iter().chain(word.as_bytes())
    });
    key.as_bytes().iter().cmp(joined)
}

/// Sorted by key: the beginning of a command and the number of words in its prefix.
#[rustfmt::skip]
pub const ROWS: &[(&str, usize)] = &[
    ("act", 1), ("adb", 2), ("adb shell", 3), ("add-apt-repository", 1), ("airflow", 3), ("alembic", 2),
    ("ansible-galaxy", 3), ("ansible-vault", 2), ("apk", 2), ("apt", 2), ("apt-cache", 2), ("apt-get", 2),
    ("apt-key", 2), ("apt-mark", 2), ("aptitude", 2), ("argocd", 3), ("artisan", 2), ("asdf", 2),
    ("asdf plugin", 3), ("aws", 3), ("aws configure", 3), ("aws s3", 3), ("aws s3api", 3), ("aws sts", 3),
    ("az", 3), ("az account", 3), ("az acr", 3), ("az acr repository", 4), ("az ad", 4), ("az aks", 3),
    ("az functionapp", 3), ("az group", 3), ("az keyvault", 4), ("az login", 2), ("az logout", 2),
    ("az network", 4), ("az rest", 2), ("az role", 4), ("az sql", 4), ("az storage", 4), ("az vm", 3),
    ("az webapp", 3), ("azcopy", 2), ("bazel", 2), ("bazelisk", 2), ("bluetoothctl", 2), ("bootctl", 2),
    ("bq", 2), ("brew", 2), ("brew bundle", 3), ("brew services", 3), ("btrfs", 3), ("buck2", 2),
    ("buildah", 2), ("bun", 2), ("bun pm", 3), ("bun run", 3), ("bun x", 3), ("bundle", 2),
    ("bundle config", 2), ("bundle exec", 3), ("bunx", 2), ("busctl", 2), ("bw", 2), ("cabal", 2),
    ("caddy", 2), ("cargo", 2), ("cargo config", 3), ("cargo login", 2), ("cargo nextest", 3),
    ("cargo registry", 3), ("cdk", 2), ("cdktf", 2), ("celery", 2), ("certbot", 2), ("choco", 2),
    ("circleci", 2), ("cmake", 1), ("codecov", 1), ("colima", 2), ("composer", 2), ("composer global", 3),
    ("composer run", 3), ("conda", 2), ("conda config", 2), ("conda env", 3), ("conda run", 2),
    ("consul", 2), ("consul kv", 3), ("coredumpctl", 2), ("corepack", 2), ("crictl", 2), ("crontab", 1),
    ("cross", 2), ("cryptsetup", 2), ("ctr", 3), ("dagger", 2), ("dart", 2), ("dart pub", 3), ("dbt", 2),
    ("deno", 2), ("deno task", 3), ("devcontainer", 2), ("direnv", 2), ("django-admin", 2), ("dnf", 2),
    ("dnf module", 3), ("docker", 2), ("docker builder", 3), ("docker buildx", 3),
    ("docker buildx imagetools", 4), ("docker compose", 3), ("docker config", 3), ("docker container", 3),
    ("docker context", 3), ("docker image", 3), ("docker manifest", 3), ("docker model", 3),
    ("docker network", 3), ("docker node", 3), ("docker plugin", 3), ("docker scout", 3),
    ("docker secret", 3), ("docker service", 3), ("docker stack", 3), ("docker swarm", 3),
    ("docker system", 3), ("docker trust", 3), ("docker trust key", 4), ("docker volume", 3),
    ("docker-compose", 2), ("doctl", 3), ("doctl compute", 4), ("dotnet", 2), ("dotnet add", 2),
    ("dotnet ef", 4), ("dotnet nuget", 3), ("dotnet sln", 2), ("dotnet tool", 3), ("dotnet workload", 3),
    ("dvc", 2), ("earthly", 2), ("eas", 2), ("eksctl", 3), ("etcdctl", 2), ("expo", 2), ("fastboot", 2),
    ("ffmpeg", 1), ("firebase", 2), ("firewall-cmd", 1), ("flask", 2), ("flask db", 3), ("flatpak", 2),
    ("flutter", 2), ("flutter pub", 3), ("flux", 3), ("fly", 2), ("flyctl", 2), ("fnm", 2), ("fossil", 2),
    ("gcloud", 3), ("gcloud alpha", 4), ("gcloud app", 3), ("gcloud artifacts", 4), ("gcloud auth", 3),
    ("gcloud auth application-default", 4), ("gcloud beta", 4), ("gcloud builds", 3), ("gcloud compute", 4),
    ("gcloud config", 3), ("gcloud config configurations", 4), ("gcloud container", 4), ("gcloud dns", 4),
    ("gcloud functions", 3), ("gcloud iam", 4), ("gcloud kms", 4), ("gcloud logging", 3),
    ("gcloud projects", 3), ("gcloud pubsub", 4), ("gcloud run", 4), ("gcloud run services", 4),
    ("gcloud secrets", 3), ("gcloud secrets versions", 4), ("gcloud services", 3), ("gcloud sql", 4),
    ("gcloud storage", 3), ("gcloud storage buckets", 4), ("gem", 2), ("gh", 3), ("gh alias", 3),
    ("gh api", 2), ("gh auth", 3), ("gh browse", 2), ("gh cache", 3), ("gh co", 2), ("gh codespace", 3),
    ("gh extension", 3), ("gh gist", 3), ("gh issue", 3), ("gh label", 3), ("gh pr", 3), ("gh release", 3),
    ("gh repo", 3), ("gh ruleset", 3), ("gh run", 3), ("gh search", 3), ("gh secret", 3), ("gh status", 2),
    ("gh variable", 3), ("gh workflow", 3), ("ghcup", 2), ("git", 2), ("git bisect", 3), ("git bundle", 3),
    ("git commit-graph", 3), ("git config", 2), ("git flow", 4), ("git lfs", 3), ("git maintenance", 3),
    ("git multi-pack-index", 3), ("git notes", 3), ("git reflog", 3), ("git remote", 3), ("git rerere", 3),
    ("git sparse-checkout", 3), ("git stash", 3), ("git submodule", 3), ("git subtree", 3), ("git svn", 3),
    ("git worktree", 3), ("gitlab-runner", 2), ("glab", 3), ("glab api", 2), ("glab ci", 3),
    ("glab issue", 3), ("glab mr", 3), ("glab repo", 3), ("gmake", 2), ("go", 2), ("go env", 2),
    ("go mod", 3), ("go tool", 3), ("go work", 3), ("gpg", 1), ("gradle", 2), ("gradlew", 2), ("gsutil", 2),
    ("hatch", 2), ("hatch env", 3), ("hatch run", 3), ("hcloud", 3), ("helm", 2), ("helm dependency", 3),
    ("helm get", 3), ("helm plugin", 3), ("helm registry", 3), ("helm repo", 3), ("helm search", 3),
    ("helm show", 3), ("helmfile", 2), ("heroku", 2), ("hg", 2), ("hostnamectl", 2), ("hub", 2),
    ("ibmcloud", 3), ("incus", 2), ("influx", 2), ("ip", 3), ("ip addr", 3), ("ip link", 3),
    ("ip netns", 3), ("ip route", 3), ("istioctl", 2), ("iw", 3), ("jj", 2), ("jj bookmark", 3),
    ("jj git", 3), ("journalctl", 1), ("jupyter", 2), ("jupyter nbconvert", 2), ("just", 2), ("k3d", 3),
    ("k9s", 1), ("kafka-topics", 1), ("keytool", 1), ("kind", 3), ("kops", 3), ("kubectl", 2),
    ("kubectl apply", 2), ("kubectl argo", 4), ("kubectl auth", 3), ("kubectl certificate", 3),
    ("kubectl cluster-info", 2), ("kubectl config", 3), ("kubectl create", 3), ("kubectl krew", 3),
    ("kubectl plugin", 3), ("kubectl rollout", 3), ("kubectl set", 3), ("kubectl top", 3), ("kubectx", 1),
    ("kubens", 1), ("kustomize", 2), ("launchctl", 2), ("lerna", 2), ("limactl", 2), ("linkerd", 2),
    ("linode-cli", 3), ("localectl", 2), ("loginctl", 2), ("lvm", 2), ("lxc", 2), ("lxc config", 3),
    ("lxc image", 3), ("machinectl", 2), ("make", 2), ("mamba", 2), ("mamba env", 3), ("mc", 2),
    ("mdadm", 1), ("meson", 2), ("micromamba", 2), ("micromamba env", 3), ("minikube", 2),
    ("minikube addons", 3), ("mise", 2), ("mise plugins", 3), ("mix", 2), ("multipass", 2), ("mvn", 2),
    ("mvnw", 2), ("nerdctl", 2), ("nerdctl compose", 3), ("nerdctl container", 3), ("nerdctl image", 3),
    ("nerdctl network", 3), ("nerdctl volume", 3), ("netlify", 2), ("networkctl", 2), ("nft", 3), ("ng", 2),
    ("nginx", 1), ("ninja", 2), ("nix", 2), ("nix flake", 3), ("nix profile", 3), ("nix store", 3),
    ("nix-env", 1), ("nmcli", 3), ("nomad", 2), ("nomad job", 3), ("nox", 1), ("npm", 2), ("npm access", 3),
    ("npm cache", 3), ("npm config", 3), ("npm dist-tag", 3), ("npm exec", 3), ("npm init", 2),
    ("npm owner", 3), ("npm pkg", 3), ("npm profile", 3), ("npm run", 3), ("npm run-script", 3),
    ("npm team", 3), ("npm token", 3), ("npm x", 3), ("npx", 2), ("nuget", 2), ("nvm", 2), ("nx", 2),
    ("nx run", 3), ("oc", 2), ("oc adm", 3), ("oc project", 2), ("oc rollout", 3), ("oci", 4),
    ("ollama", 2), ("op", 2), ("op item", 3), ("opam", 2), ("opam switch", 3), ("openssl", 2),
    ("packer", 2), ("pacman", 1), ("pactl", 2), ("pants", 2), ("pass", 2), ("pdm", 2), ("pdm cache", 3),
    ("pdm run", 3), ("pdm venv", 3), ("pip", 2), ("pip cache", 3), ("pip config", 3), ("pip index", 3),
    ("pip3", 2), ("pip3 cache", 3), ("pip3 config", 3), ("pipenv", 2), ("pipenv run", 3), ("pipx", 2),
    ("pipx run", 3), ("pkg", 2), ("pm2", 2), ("pnpm", 2), ("pnpm config", 3), ("pnpm dlx", 3),
    ("pnpm env", 3), ("pnpm exec", 3), ("pnpm run", 3), ("pnpm store", 3), ("pnpx", 2), ("podman", 2),
    ("podman compose", 3), ("podman container", 3), ("podman generate", 3), ("podman image", 3),
    ("podman kube", 3), ("podman machine", 3), ("podman manifest", 3), ("podman network", 3),
    ("podman pod", 3), ("podman secret", 3), ("podman system", 3), ("podman system connection", 4),
    ("podman volume", 3), ("poetry", 2), ("poetry cache", 4), ("poetry config", 2), ("poetry env", 3),
    ("poetry run", 3), ("poetry self", 3), ("poetry source", 3), ("port", 2), ("pre-commit", 2),
    ("prisma", 2), ("prisma db", 3), ("prisma migrate", 3), ("pulumi", 2), ("pulumi config", 3),
    ("pulumi stack", 3), ("pyenv", 2), ("rabbitmqctl", 2), ("rails", 2), ("rails db", 2), ("rake", 2),
    ("rclone", 2), ("rebar3", 2), ("redis-cli", 2), ("repo", 2), ("resolvectl", 2), ("rpm", 1), ("rush", 2),
    ("rustup", 2), ("rustup component", 3), ("rustup default", 2), ("rustup override", 3),
    ("rustup run", 2), ("rustup self", 3), ("rustup target", 3), ("rustup toolchain", 3), ("rye", 2),
    ("rye run", 3), ("rye tools", 3), ("s3cmd", 2), ("sam", 2), ("sbt", 2), ("scoop", 2), ("screen", 1),
    ("sentry-cli", 2), ("serverless", 2), ("service", 3), ("skaffold", 2), ("skopeo", 2), ("sls", 2),
    ("snap", 2), ("ssh-keygen", 1), ("stack", 2), ("stern", 1), ("stripe", 2), ("supabase", 2),
    ("supabase db", 3), ("supabase functions", 3), ("supervisorctl", 2), ("svn", 2), ("swbox", 2),
    ("swbox session", 3), ("swbox workflow", 3), ("swift", 2), ("swift package", 3), ("systemctl", 2),
    ("task", 2), ("tc", 3), ("tea", 2), ("terraform", 2), ("terraform providers", 3),
    ("terraform state", 3), ("terraform workspace", 3), ("terragrunt", 2), ("tilt", 2), ("timedatectl", 2),
    ("tmux", 2), ("tofu", 2), ("tofu state", 3), ("tofu workspace", 3), ("tox", 1), ("turbo", 2),
    ("turbo run", 3), ("turso", 2), ("turso db", 3), ("twine", 2), ("udevadm", 2), ("ufw", 2), ("uv", 2),
    ("uv cache", 3), ("uv pip", 3), ("uv python", 3), ("uv run", 3), ("uv self", 3), ("uv tool", 3),
    ("uv tool run", 4), ("uvx", 2), ("vagrant", 2), ("vagrant box", 3), ("vagrant plugin", 3), ("vault", 2),
    ("vault auth", 3), ("vault kv", 3), ("vault policy", 3), ("vault secrets", 3), ("vault token", 3),
    ("velero", 3), ("vercel", 2), ("virsh", 2), ("volta", 2), ("vue", 2), ("winget", 2), ("wpctl", 2),
    ("wrangler", 2), ("wrangler d1", 3), ("wrangler kv", 4), ("wrangler r2", 4), ("xbps-install", 1),
    ("yarn", 2), ("yarn cache", 3), ("yarn config", 3), ("yarn dlx", 3), ("yarn global", 3),
    ("yarn npm", 3), ("yarn plugin", 3), ("yarn run", 3), ("yarn set", 3), ("yarn workspace", 4),
    ("yarn workspaces", 3), ("yum", 2), ("zfs", 2), ("zig", 2), ("zpool", 2), ("zypper", 2),
];

/// Sorted by key: from this beginning on, the letters and long names of options that take the next word as value.
#[rustfmt::skip]
const VALUES: &[(&str, &str, &[&str])] = &[
    ("adb", "sHPLt", &[]),
    ("ansible-vault", "", &["vault-id", "vault-password-file"]),
    ("apk", "pX", &["root", "repository", "repositories-file"]),
    ("apt", "oct", &["option", "config-file", "target-release", "default-release"]),
    ("apt-cache", "oc", &["option", "config-file"]),
    ("apt-get", "oct", &["option", "config-file", "target-release", "default-release"]),
    ("argocd", "", &["server", "auth-token", "grpc-web-root-path"]),
    ("aws", "", &[
        "profile", "region", "output", "endpoint-url", "query", "ca-bundle", "cli-read-timeout",
        "cli-connect-timeout", "color", "cli-binary-format",
    ]),
    ("az", "", &["subscription", "output", "query"]),
    ("bazel", "", &["output_base", "output_user_root", "bazelrc", "host_jvm_args"]),
    ("bq", "", &["project_id", "location", "dataset_id", "format", "job_id", "api", "bigqueryrc"]),
    ("bun", "", &["cwd", "config"]),
    ("bundle", "", &["gemfile"]),
    ("cargo", "CZ", &["config", "color"]),
    ("cargo nextest", "EPjp", &["profile", "manifest-path", "config-file"]),
    ("cdk", "acio", &["app", "build", "context", "plugin", "output", "profile", "toolkit-stack-name", "role-arn"]),
    ("composer", "d", &["working-dir"]),
    ("conda run", "npe", &["name", "prefix", "cwd"]),
    ("consul", "", &["http-addr", "token"]),
    ("crictl", "rict", &["runtime-endpoint", "image-endpoint", "config", "timeout"]),
    ("ctr", "an", &["address", "namespace"]),
    ("dnf", "cdex", &[
        "config", "installroot", "releasever", "setopt", "enablerepo", "disablerepo", "exclude", "repo",
    ]),
    ("docker", "Hcl", &["host", "context", "config", "log-level", "tlscacert", "tlscert", "tlskey"]),
    ("docker compose", "fp", &[
        "file", "project-name", "project-directory", "profile", "env-file", "ansi", "parallel", "progress",
    ]),
    ("docker-compose", "fp", &[
        "file", "project-name", "project-directory", "profile", "env-file", "ansi", "parallel", "progress",
    ]),
    ("doctl", "tc", &["access-token", "config", "context", "output"]),
    ("eksctl", "rpv", &["region", "profile"]),
    ("etcdctl", "", &["endpoints", "cacert", "cert", "key", "user"]),
    ("firebase", "P", &["project", "account"]),
    ("flatpak", "", &["installation"]),
    ("flux", "n", &["namespace", "context", "kubeconfig"]),
    ("fly", "act", &["app", "config", "access-token"]),
    ("flyctl", "act", &["app", "config", "access-token"]),
    ("gcloud", "", &[
        "project", "account", "configuration", "verbosity", "format", "region", "zone",
        "impersonate-service-account", "billing-project", "flags-file", "log-http",
    ]),
    ("gh", "R", &["repo", "hostname"]),
    ("gh api", "HFXfpqt", &[
        "header", "field", "method", "raw-field", "jq", "template", "cache", "hostname", "input", "preview",
    ]),
    ("git", "Cc", &[
        "git-dir", "work-tree", "namespace", "super-prefix", "exec-path", "config-env", "attr-source",
    ]),
    ("glab", "R", &["repo"]),
    ("gmake", "CfIjloW", &[
        "directory", "file", "makefile", "include-dir", "jobs", "load-average", "old-file", "what-if",
        "eval",
    ]),
    ("go", "C", &[]),
    ("gradle", "bcpgIPDx", &[
        "project-dir", "build-file", "settings-file", "gradle-user-home", "init-script", "exclude-task",
    ]),
    ("gradlew", "bcpgIPDx", &[
        "project-dir", "build-file", "settings-file", "gradle-user-home", "init-script", "exclude-task",
    ]),
    ("gsutil", "ohu", &[]),
    ("hcloud", "", &["context", "config"]),
    ("helm", "n", &[
        "namespace", "kube-context", "kubeconfig", "kube-apiserver", "kube-as-group", "kube-as-user",
        "kube-ca-file", "kube-token", "registry-config", "repository-cache", "repository-config",
    ]),
    ("helmfile", "fenl", &["file", "environment", "namespace", "selector", "kube-context"]),
    ("heroku", "ar", &["app", "remote"]),
    ("heroku pg", "a", &["app"]),
    ("hg", "R", &["repository", "cwd", "config", "color", "encoding", "pager"]),
    ("incus", "", &["project"]),
    ("ip", "nfbl", &["netns", "family", "batch", "loops"]),
    ("istioctl", "ni", &["namespace", "istioNamespace", "context", "kubeconfig"]),
    ("jj", "R", &["repository", "at-operation", "color", "config", "config-file"]),
    ("journalctl", "unpSU", &[]),
    ("just", "fdE", &[
        "justfile", "working-directory", "dotenv-path", "dotenv-filename", "shell", "shell-arg", "color",
    ]),
    ("kubectl", "ns", &[
        "namespace", "context", "cluster", "kubeconfig", "user", "server", "token", "as", "as-group",
        "request-timeout", "cache-dir", "certificate-authority", "client-certificate", "client-key",
        "tls-server-name", "profile", "profile-output", "v",
    ]),
    ("lerna", "", &["scope", "ignore", "concurrency", "loglevel"]),
    ("lxc", "", &["project"]),
    ("machinectl", "HMpno", &["host", "machine"]),
    ("make", "CfIjloW", &[
        "directory", "file", "makefile", "include-dir", "jobs", "load-average", "old-file", "what-if",
        "eval",
    ]),
    ("meson", "C", &[]),
    ("minikube", "p", &["profile"]),
    ("mvn", "fPplsgtTD", &[
        "file", "activate-profiles", "projects", "settings", "global-settings", "toolchains", "threads",
    ]),
    ("nerdctl", "nHa", &["namespace", "host", "address", "data-root", "snapshotter"]),
    ("ninja", "Cfjkldt", &[]),
    ("nmcli", "fmget", &["fields", "mode", "escape", "get-values"]),
    ("nomad", "", &["address", "region", "namespace"]),
    ("npm", "w", &[
        "prefix", "workspace", "registry", "loglevel", "userconfig", "cache", "globalconfig",
        "script-shell", "tag", "otp",
    ]),
    ("npx", "pcw", &["package", "call", "workspace"]),
    ("oc", "ns", &[
        "namespace", "context", "cluster", "kubeconfig", "user", "server", "token", "as", "as-group",
        "request-timeout",
    ]),
    ("op", "", &["account", "config", "session", "vault"]),
    ("pdm", "pc", &["project", "config"]),
    ("pip", "", &[
        "python", "log", "proxy", "timeout", "cert", "retries", "cache-dir", "exists-action",
        "trusted-host", "client-cert",
    ]),
    ("pip3", "", &[
        "python", "log", "proxy", "timeout", "cert", "retries", "cache-dir", "exists-action",
        "trusted-host", "client-cert",
    ]),
    ("pipenv", "", &["python", "pypi-mirror"]),
    ("pnpm", "CF", &["dir", "filter", "workspace-concurrency", "reporter", "loglevel"]),
    ("podman", "rc", &[
        "root", "runroot", "connection", "url", "log-level", "identity", "storage-driver", "storage-opt",
        "cgroup-manager",
    ]),
    ("poetry", "CP", &["directory", "project"]),
    ("pre-commit", "c", &["config"]),
    ("pulumi", "Cs", &["cwd", "stack", "color"]),
    ("rclone", "", &["config", "log-file", "log-level", "transfers", "checkers", "bwlimit"]),
    ("redis-cli", "hpsanruD", &["user", "pass"]),
    ("s3cmd", "c", &["config"]),
    ("sqlx", "", &["database-url"]),
    ("ssh", "BbcDEeFIiJLlmOopQRSWw", &[]),
    ("supervisorctl", "csup", &["configuration", "serverurl", "username", "password"]),
    ("svn", "", &["username", "password", "config-dir", "config-option"]),
    ("swbox", "", &["session", "state", "workflow", "workspace", "profile", "timeout", "events"]),
    ("systemctl", "HMtpno", &["host", "machine", "type", "property", "lines", "output", "root", "state"]),
    ("task", "dtC", &["dir", "taskfile", "concurrency"]),
    ("terraform", "", &["chdir"]),
    ("terragrunt", "", &["terragrunt-working-dir", "terragrunt-config", "working-dir"]),
    ("tmux", "LSfcT", &[]),
    ("tofu", "", &["chdir"]),
    ("turbo", "F", &["filter", "concurrency", "cwd"]),
    ("uv", "p", &["directory", "project", "python", "config-file", "cache-dir", "color"]),
    ("uv run", "pw", &[
        "with", "with-requirements", "extra", "group", "env-file", "python", "package", "index",
    ]),
    ("uvx", "p", &["from", "with", "python", "index"]),
    ("vault", "", &["address", "namespace", "format"]),
    ("vercel", "SAt", &["scope", "local-config", "token", "cwd"]),
    ("virsh", "cd", &["connect", "debug"]),
    ("wrangler", "ce", &["config", "env"]),
    ("yarn", "", &["cwd", "cache-folder", "registry", "network-timeout", "modules-folder"]),
    ("yum", "cdex", &[
        "config", "installroot", "releasever", "setopt", "enablerepo", "disablerepo", "exclude",
    ]),
    ("zypper", "cR", &["config", "root", "reposd-dir", "cache-dir"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(line: &str) -> String {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let program = argv[0].rsplit('/').next().unwrap().to_owned();
        canonical(&program, &argv).join(" ")
    }

    #[test]
    fn the_tables_are_sorted_and_large_enough() {
        assert!(ROWS.len() >= 189, "{} rows", ROWS.len());
        assert!(ROWS.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted, without repetition");
        assert!(VALUES.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted, without repetition");
        for (key, words) in ROWS {
            let length = key.split(' ').count();
            assert!(length < MOST && *words <= MOST && *words >= length, "{key}");
        }
    }

    #[test]
    fn flags_do_not_count_and_values_are_no_words() {
        for (line, expected) in [
            ("git status -s", "git status"),
            ("git push", "git push"),
            ("git -C status push", "git push"),
            ("git -c a.b=c -C x log --oneline", "git log"),
            ("git --git-dir x --work-tree=y status", "git status"),
            ("git remote add origin u", "git remote add"),
            ("git commit -m status", "git commit"),
            ("git", "git"),
            ("/usr/bin/git log", "git log"),
            ("docker -H tcp://x ps -a", "docker ps"),
            ("docker --context prod compose -f a.yml up -d", "docker compose up"),
            ("docker compose --file a.yml -p x down -v", "docker compose down"),
            ("docker system prune -af", "docker system prune"),
            ("kubectl -n ns get pods", "kubectl get"),
            ("kubectl rollout -n x restart deploy/a", "kubectl rollout restart"),
            ("kubectl --context c -n x delete pod p", "kubectl delete"),
            ("aws --profile p s3 rm s3://b/k", "aws s3 rm"),
            ("aws ec2 terminate-instances --instance-ids i", "aws ec2 terminate-instances"),
            ("gcloud --project p compute instances delete x", "gcloud compute instances delete"),
            ("az group delete -n x", "az group delete"),
            ("npm --prefix web run build", "npm run build"),
            ("npm install left-pad", "npm install"),
            ("npm test", "npm test"),
            ("cargo +nightly test --workspace", "cargo test"),
            ("cargo build --release", "cargo build"),
            ("terraform -chdir=infra destroy", "terraform destroy"),
            ("terraform -chdir infra state rm x", "terraform state rm"),
            ("make -C sub clean", "make clean"),
            ("systemctl --user restart x", "systemctl restart"),
            ("gh pr -R a/b create", "gh pr create"),
            ("uv pip install x", "uv pip install"),
            ("poetry run pytest -q", "poetry run pytest"),
            ("pytest -q tests", "pytest"),
            ("ls -la src", "ls"),
            ("", ""),
        ] {
            assert_eq!(prefix(line), expected, "{line}");
        }
    }
}
