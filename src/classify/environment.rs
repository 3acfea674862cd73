//! Variables that turn a harmless program into a launcher.
//!
//! Duty: say whether an assignment (prefix, `env`, `export`, bare) may change what later programs run.
//! Danger: the list can never be whole; families (`LD_*`, `GIT_*`, `*_PAGER`) are judged as a whole and harmless members named.

use crate::shell::{Piece, Value};

/// Whether setting `name` to `value` may make programs run something else.
pub fn is_dangerous(name: &str, value: &Value) -> bool {
    if name == "PATH" {
        return !value.literal().is_some_and(is_system_path);
    }
    if !is_launcher(name) {
        return false;
    }
    // HOME="$HOME", as `env -i` lines write it.
    if name == "HOME" && matches!(value, Value::Partial(pieces) if matches!(pieces[..], [Piece::Home])) {
        return false;
    }
    !value.literal().is_some_and(|text| is_harmless_value(name, text))
}

/// Programs that may stand as pager, editor or helper without effect, and switches.
fn is_harmless_value(name: &str, value: &str) -> bool {
    let program = value.rsplit('/').next().unwrap_or(value);
    let is_plain =
        !value.contains('/') || value == format!("/bin/{program}") || value == format!("/usr/bin/{program}");
    let is_idle = matches!(
        program,
        "" | "cat" | "true" | ":" | "echo" | "false" | "less" | "more" | "0" | "1" | "no" | "yes"
    );
    match name {
        // An `-c`-like prompt runs only with a substitution in it; less runs commands after a plus.
        "PS4" => !value.contains(['$', '`']),
        "LESS" | "SYSTEMD_LESS" => !value.contains('+'),
        // `-` is the history of nobody; else it is a file that is written.
        "LESSHISTFILE" => matches!(value, "-" | "/dev/null"),
        // A toolchain's name; a path is a directory whose programs are run.
        "RUSTUP_TOOLCHAIN" => !value.contains('/'),
        "GOTOOLCHAIN" => value == "local",
        "GOENV" => value == "off",
        "GEM_HOME" | "GEM_PATH" | "GOROOT" | "JAVA_HOME" | "NODE_PATH" | "PYENV_ROOT" | "RUSTUP_HOME" => {
            is_system_place(value)
        }
        "PYTHONWARNINGS" => !value.contains('.'),
        _ => is_plain && is_idle,
    }
}

/// Whether `name` is an everyday name of a script's own variables, which a program takes for another's place only when it
/// is in the environment (`DIFF=./x zdiff a b`): an assignment that is no command's prefix does not put it there.
pub fn is_common_name(name: &str) -> bool {
    matches!(name, "CMP" | "DIFF" | "GREP" | "VIM")
}

/// Whether the assignment `text`, as written, sets PATH to what it was and places of the system, in any order. A place
/// of the workspace or of HOME may hold a program of any name, so what follows would be opaque.
pub fn extends_path(text: &str) -> bool {
    let Some(value) = text.strip_prefix("PATH=") else { return false };
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    quoted
        .unwrap_or(value)
        .split(':')
        .all(|part| matches!(part, "$PATH" | "${PATH}") || is_system_place(part))
}

/// A directory that is read-only in every jail, or below one.
fn is_system_place(part: &str) -> bool {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte));
    let stays = part.split('/').all(|name| name != "..");
    let is_below = |place: &&str| part.strip_prefix(*place).is_some_and(|rest| rest.starts_with('/'));
    SYSTEM_DIRECTORIES.contains(&part) || is_plain && stays && SYSTEM_PLACES.iter().any(is_below)
}

/// Places that hold programs of the system, and that no jail lets anybody write to.
const SYSTEM_PLACES: &[&str] =
    &["/usr", "/opt", "/snap", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"];

fn is_system_path(value: &str) -> bool {
    !value.is_empty() && value.split(':').all(|part| SYSTEM_DIRECTORIES.contains(&part))
}

/// Directories whose programs are those the tables mean.
pub const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/opt/homebrew/bin",
];

fn is_launcher(name: &str) -> bool {
    if EXACT.binary_search(&name).is_ok() {
        return true;
    }
    if let Some(rest) = name.strip_prefix("GIT_") {
        return !HARMLESS_GIT.contains(&rest)
            && !rest.starts_with("AUTHOR_")
            && !rest.starts_with("COMMITTER_");
    }
    if let Some(rest) = name.strip_prefix("LESS") {
        return !HARMLESS_LESS.contains(&rest);
    }
    if let Some(rest) = name.strip_prefix("PYTHON") {
        return !HARMLESS_PYTHON.contains(&rest);
    }
    if let Some(rest) = strip_npm(name) {
        return !matches!(
            rest.to_ascii_lowercase().as_str(),
            "registry" | "cache" | "loglevel" | "fund" | "audit" | "progress" | "yes"
        );
    }
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

fn strip_npm(name: &str) -> Option<&str> {
    name.strip_prefix("npm_config_").or_else(|| name.strip_prefix("NPM_CONFIG_"))
}

/// Sorted.
const EXACT: &[&str] = &[
    "ACKRC",
    "ACK_OPTIONS",
    "APT_CONFIG",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BAT_CONFIG_DIR",
    "BAT_CONFIG_PATH",
    "BAT_OPTS",
    "BROWSER",
    "CARGO_HOME",
    "CC",
    "CCACHE_COMPILER",
    "CCACHE_PREFIX",
    "CCACHE_PREFIX_CPP",
    "CLASSPATH",
    "CLOUDSDK_PYTHON",
    "CMP",
    "COMPILER_PATH",
    "COWPATH",
    "CURL_HOME",
    "CVS_RSH",
    "CXX",
    "DEPENDENCIES_OUTPUT",
    "DIFF",
    "DOCKER_CONFIG",
    "EDITOR",
    "ELECTRON_RUN_AS_NODE",
    "ENV",
    "EXINIT",
    "FCEDIT",
    "FFREPORT",
    "FPATH",
    "FZF_DEFAULT_COMMAND",
    "FZF_DEFAULT_OPTS",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GH_CONFIG_DIR",
    "GLIBC_TUNABLES",
    "GNUPGHOME",
    "GOAUTH",
    "GOCACHEPROG",
    "GOENV",
    "GOFLAGS",
    "GOROOT",
    "GOTOOLCHAIN",
    "GREP",
    "GREP_OPTIONS",
    "GTK_MODULES",
    "HGEDITOR",
    "HGRCPATH",
    "HOME",
    "JAVACMD",
    "JAVA_HOME",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECONFIG",
    "KUBECTL_EXTERNAL_DIFF",
    "LOCPATH",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANOPT",
    "MANPAGER",
    "MANROFFOPT",
    "MAVEN_OPTS",
    "MLRRC",
    "MORE",
    "MTR_PACKET",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REDIRECT_WARNINGS",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_V8_COVERAGE",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PIP_PYTHON",
    "PKG_CONFIG_LOG",
    "PROMPT_COMMAND",
    "PS4",
    "PSQLRC",
    "PYENV_ROOT",
    "QT_PLUGIN_PATH",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "SHELLOPTS",
    "SSH_SK_PROVIDER",
    "STRIPPROG",
    "SUNPRO_DEPENDENCIES",
    "SVN_SSH",
    "SYSTEMD_LESS",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "TF_CLI_CONFIG_FILE",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "VISUAL",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "ZIPOPT",
    "_JAVA_OPTIONS",
];

const PREFIXES: &[&str] = &[
    "ANSIBLE_",
    "BASH_FUNC_",
    "COR_",
    "CORECLR_",
    "DOTNET_STARTUP_HOOKS",
    "DYLD_",
    "GROFF_",
    "JULIA_",
    "LD_",
    "LUA_PATH",
    "LUA_CPATH",
    "MAGICK_",
    "R_ENVIRON",
    "R_PROFILE",
    "TF_CLI_ARGS",
];

const SUFFIXES: &[&str] =
    &["_ASKPASS", "_BROWSER", "_EDITOR", "_PAGER", "_RUNNER", "_LINKER", "_RUSTC_WRAPPER"];

const HARMLESS_GIT: &[&str] = &[
    "ADVICE",
    "CEILING_DIRECTORIES",
    "COMMITTER_DATE",
    "DEFAULT_HASH",
    "DISCOVERY_ACROSS_FILESYSTEM",
    "FLUSH",
    "GLOB_PATHSPECS",
    "ICASE_PATHSPECS",
    "LFS_SKIP_SMUDGE",
    "LITERAL_PATHSPECS",
    "MERGE_AUTOEDIT",
    "NOGLOB_PATHSPECS",
    "NO_LAZY_FETCH",
    "NO_REPLACE_OBJECTS",
    "OPTIONAL_LOCKS",
    "PROTOCOL_FROM_USER",
    "REDACT_COOKIES",
    "REFLOG_ACTION",
    "SSL_NO_VERIFY",
    "TERMINAL_PROMPT",
];

const HARMLESS_LESS: &[&str] =
    &["ANSIENDCHARS", "ANSIMIDCHARS", "BINFMT", "CHARDEF", "CHARSET", "SECURE", "UTFBINFMT"];

const HARMLESS_PYTHON: &[&str] = &[
    "DEVMODE",
    "DONTWRITEBYTECODE",
    "FAULTHANDLER",
    "HASHSEED",
    "IOENCODING",
    "LEGACYWINDOWSSTDIO",
    "NOUSERSITE",
    "NODEBUGRANGES",
    "OPTIMIZE",
    "PROFILEIMPORTTIME",
    "SAFEPATH",
    "TRACEMALLOC",
    "UNBUFFERED",
    "UTF8",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_list_is_sorted() {
        assert!(EXACT.is_sorted());
    }

    #[test]
    fn launchers_and_harmless_values() {
        let value = |text: &str| Value::Literal(text.to_owned());
        for (name, text) in [
            ("PATH", "/tmp/x:/usr/bin"),
            ("LD_PRELOAD", "./x.so"),
            ("GIT_SSH_COMMAND", "./x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("DELTA_PAGER", "./x"),
            ("LESS", "+!x"),
            ("EDITOR", "vim"),
            ("npm_config_script_shell", "./x"),
            ("LESSECHO", "./x"),
            ("LESSHISTFILE", "./x"),
            ("GOTOOLCHAIN", "path"),
            ("RUSTUP_TOOLCHAIN", "./x"),
            ("JAVA_HOME", "./x"),
            ("JAVA_HOME", "/usr/../tmp/x"),
            ("MAGICK_CONFIGURE_PATH", "."),
        ] {
            let counts = name == "GIT_CONFIG_COUNT" || is_dangerous(name, &value(text));
            assert!(counts, "{name}={text}");
        }
        for (name, text) in [
            ("PATH", "/usr/bin:/bin"),
            ("GIT_PAGER", "cat"),
            ("PAGER", ""),
            ("GIT_EDITOR", "/bin/true"),
            ("GIT_AUTHOR_NAME", "x"),
            ("LESS", "-R"),
            ("PYTHONUNBUFFERED", "1"),
            ("RUST_LOG", "debug"),
            ("TZ", "UTC"),
            ("LESSCHARSET", "utf-8"),
            ("LESSHISTFILE", "-"),
            ("GOTOOLCHAIN", "local"),
            ("RUSTUP_TOOLCHAIN", "nightly"),
            ("JAVA_HOME", "/usr/lib/jvm/default-java"),
        ] {
            assert!(!is_dangerous(name, &value(text)), "{name}={text}");
        }
        assert!(is_dangerous("PAGER", &Value::Unknown { splits: false }));
    }

    #[test]
    fn path_may_be_extended_by_the_system_only() {
        for text in [
            "PATH=$PATH:/usr/local/go/bin",
            "PATH=\"/opt/x/bin:${PATH}\"",
            "PATH=$PATH",
            "PATH=/usr/lib/go-1.22/bin:$PATH:/sbin",
        ] {
            assert!(extends_path(text), "{text}");
        }
        for text in [
            "PATH=$PATH:",
            "PATH=:$PATH",
            "PATH=.:$PATH",
            "PATH=$PATH:/tmp/x",
            "PATH=/usr/../tmp:$PATH",
            "PATH=$HOME/bin:$PATH",
            "PATH=~/bin:$PATH",
            "PATH=$PATH$x",
            "PATH=\"$PATH:/usr/bin\"x",
            "PATH=$(x):/usr/bin",
            "PATH+=:/usr/bin",
            "PATHS=$PATH",
            "PATH=",
            "PATH=/usr",
            "PATH='$PATH:/usr/bin'",
        ] {
            assert!(!extends_path(text), "{text}");
        }
    }
}
