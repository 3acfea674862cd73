//! Keys, certificates, encryption.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

/// What nearly every openssl command takes. An engine or provider is a library that is loaded.
const OPENSSL_OPTIONS: &[OptionSpec<'static>] = &[
    opt("", "out").role(Role::Write),
    opt("", "keyout").role(Role::Write),
    opt("", "writerand").role(Role::Write),
    opt("", "CAserial").role(Role::Write),
    opt("", "CAcreateserial").adds(&[FileWrite]),
    opt("", "outdir").role(Role::Write),
    opt("", "certsout").role(Role::Write),
    opt("", "sigout").role(Role::Write),
    opt("", "sess_out").role(Role::Write),
    opt("", "keylogfile").role(Role::Write),
    opt("", "msgfile").role(Role::Write),
    opt("", "resout").role(Role::Write),
    opt("", "respout").role(Role::Write),
    opt("", "reqout").role(Role::Write),
    opt("", "in").role(Role::Read),
    opt("", "inkey").role(Role::Read),
    opt("", "key").value(),
    opt("", "CA").value(),
    opt("", "CAfile").value(),
    opt("", "CAkey").value(),
    opt("", "cert").value(),
    opt("", "config").value(),
    opt("", "extfile").role(Role::Read),
    opt("", "signature").role(Role::Read),
    opt("", "verify").value(),
    opt("", "sign").value(),
    opt("", "pass").value(),
    opt("", "passin").value(),
    opt("", "passout").value(),
    opt("", "subj").value(),
    opt("", "days").value(),
    opt("", "newkey").value(),
    opt("", "nodes"),
    opt("", "iv").value(),
    opt("", "K").value(),
    opt("", "k").value(),
    opt("", "S").value(),
    opt("", "md").value(),
    opt("", "iter").value(),
    opt("", "inform").value(),
    opt("", "outform").value(),
    opt("", "addext").value(),
    opt("", "extensions").value(),
    opt("", "name").value(),
    opt("", "certfile").value(),
    opt("", "hmac").value(),
    opt("", "macopt").value(),
    opt("", "mac").value(),
    opt("", "algorithm").value(),
    opt("", "pkeyopt").value(),
    opt("", "recip").value(),
    opt("", "signer").value(),
    opt("", "kfile").role(Role::Read),
    opt("", "rand").value(),
    opt("", "checkend").value(),
    opt("", "nameopt").value(),
    opt("", "engine").value().opaque(Cause::ExecOption),
    opt("", "provider").value().opaque(Cause::ExecOption).except(&["default", "legacy", "base", "fips"]),
    opt("", "provider-path").value().opaque(Cause::ExecOption),
];

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["openssl", "libressl"])
        .lenient()
        .single()
        .options(OPENSSL_OPTIONS)
        .subcommands(OPENSSL)
        .hatch(openssl_stdin),
    command(&["gpg", "gpg2", "gpgsm", "gpgv"])
        .lenient()
        .values("ruN")
        .long_values(&[
            "recipient",
            "local-user",
            "homedir",
            "default-key",
            "passphrase",
            "passphrase-fd",
            "pinentry-mode",
            "cipher-algo",
            "digest-algo",
            "compress-algo",
            "keyring",
            "trust-model",
            "status-fd",
            "command-fd",
            "hidden-recipient",
            "keyid-format",
            "list-options",
        ])
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("", "passphrase-file").role(Role::Read),
            opt("e", "encrypt"),
            opt("c", "symmetric"),
            opt("s", "sign"),
            opt("b", "detach-sign"),
            opt("", "clear-sign"),
            opt("", "clearsign"),
            opt("d", "decrypt").adds(&[FileRead]),
            opt("", "verify").adds(&[FileRead]),
            opt("", "import").adds(&[FileModify]),
            opt("", "fast-import").adds(&[FileModify]),
            opt("", "edit-key").value().adds(&[FileModify]),
            opt("", "gen-key").adds(&[FileWrite]),
            opt("", "generate-key").adds(&[FileWrite]),
            opt("", "full-generate-key").adds(&[FileWrite]),
            opt("", "full-gen-key").adds(&[FileWrite]),
            opt("", "quick-generate-key").adds(&[FileWrite]),
            opt("", "quick-gen-key").adds(&[FileWrite]),
            opt("", "gen-revoke").adds(&[FileWrite]),
            opt("", "sign-key").adds(&[FileModify]),
            opt("", "lsign-key").adds(&[FileModify]),
            opt("", "import-ownertrust").adds(&[FileModify]),
            opt("", "update-trustdb").adds(&[FileModify]),
            opt("", "delete-key").adds(&[Destructive]),
            opt("", "delete-keys").adds(&[Destructive]),
            opt("", "delete-secret-keys").adds(&[Destructive]),
            opt("", "delete-secret-key").adds(&[Destructive]),
            opt("", "delete-secret-and-public-key").adds(&[Destructive]),
            opt("", "delete-secret-and-public-keys").adds(&[Destructive]),
            opt("", "keyserver").value().adds(&[Network]),
            opt("", "recv-keys").adds(&[Network, FileModify]),
            opt("", "receive-keys").adds(&[Network, FileModify]),
            opt("", "refresh-keys").adds(&[Network, FileModify]),
            opt("", "send-keys").adds(&[Network]),
            opt("", "search-keys").adds(&[Network]),
            opt("", "fetch-keys").adds(&[Network, FileModify]),
            opt("", "locate-keys").adds(&[Network]),
            opt("", "auto-key-locate").value().adds(&[Network]),
            opt("", "photo-viewer").value().opaque(Cause::ExecOption),
            opt("", "show-photos").opaque(Cause::ExecOption),
            opt("", "exec-path").value().opaque(Cause::ExecOption),
            opt("", "agent-program").value().opaque(Cause::ExecOption),
            opt("", "dirmngr-program").value().opaque(Cause::ExecOption),
            opt("", "keyboxd-program").value().opaque(Cause::ExecOption),
            opt("", "options").value().opaque(Cause::Configuration),
            opt("", "gpgconf-list"),
            opt("kK", "list-keys").adds(&[FileRead]),
            opt("", "list-secret-keys").adds(&[FileRead]),
            opt("", "list-public-keys").adds(&[FileRead]),
            opt("", "list-sigs").adds(&[FileRead]),
            opt("", "list-packets").adds(&[FileRead]),
            opt("", "fingerprint").adds(&[FileRead]),
            opt("", "show-keys").adds(&[FileRead]),
        ])
        .hatch(gpg),
    command(&[
        "gpgconf",
        "gpg-connect-agent",
        "gpg-agent",
        "dirmngr",
        "pinentry",
        "dirmngr-client",
        "gpgtar",
    ])
    .opaque(Cause::ExecOption)
    .lenient()
    .options(&[
        opt("", "list-dirs").transparent(),
        opt("", "kill").value().transparent(),
        opt("", "list-components").transparent(),
    ]),
    command(&["age", "rage"])
        .stdin_filter()
        .lenient()
        .values("rRij")
        .options(&[opt("o", "output").role(Role::Write), opt("j", "").value().opaque(Cause::ExecOption)])
        .operands(Role::Read),
    command(&["age-keygen", "rage-keygen", "minisign", "signify", "ots"]).lenient().options(&[
        opt("o", "output").role(Role::Write),
        opt("s", "").value(),
        opt("G", "").adds(&[FileWrite]),
        opt("S", "").adds(&[FileWrite]),
        opt("m", "").role(Role::Read),
    ]),
    command(&["ssh-keygen"])
        .classes(&[FileWrite])
        .switches("AcghHikKlLopqTUvuQy")
        .values("aBbCEGIjmMnNOPrsStVWwzZJ")
        .options(&[
            opt("f", "").value(),
            opt("l", "").drops(&[FileWrite]).adds(&[FileRead]),
            opt("y", "").drops(&[FileWrite]).adds(&[FileRead]),
            opt("L", "").drops(&[FileWrite]).adds(&[FileRead]),
            opt("F", "").value().drops(&[FileWrite]).adds(&[FileRead]),
            opt("e", "").drops(&[FileWrite]).adds(&[FileRead]),
            opt("B", "").drops(&[FileWrite]).adds(&[FileRead]),
            opt("R", "").value().drops(&[FileWrite]).adds(&[FileModify]),
            opt("p", "").drops(&[FileWrite]).adds(&[FileModify]),
            opt("c", "").drops(&[FileWrite]).adds(&[FileModify]),
            opt("k", "").adds(&[FileWrite]),
            opt("Y", "").value(),
            // A PKCS#11 or FIDO library is loaded.
            opt("D", "").value().opaque(Cause::ExecOption),
            opt("w", "").value().opaque(Cause::ExecOption),
        ]),
    command(&["ssh-add"])
        .lenient()
        .options(&[
            opt("sSe", "").value().opaque(Cause::ExecOption),
            opt("dD", "").unbounded(),
            opt("lL", ""),
        ])
        .operands(Role::Read),
    command(&["keytool", "certutil", "pk12util", "p11tool", "pkcs11-tool", "pkcs15-tool", "ykman"])
        .classes(&[FileModify])
        .lenient()
        .single()
        .options(&[
            opt("", "list").drops(&[FileModify]).adds(&[FileRead]),
            opt("", "printcert").drops(&[FileModify]).adds(&[FileRead]),
            opt("", "L").drops(&[FileModify]).adds(&[FileRead]),
            opt("", "providerpath").value().opaque(Cause::ExecOption),
            opt("", "module").value().opaque(Cause::ExecOption),
            opt("", "delete").adds(&[Destructive]),
            opt("", "D").adds(&[Destructive]),
            opt("", "file").value(),
        ]),
    command(&[
        "certbot",
        "acme.sh",
        "lego",
        "dehydrated",
        "step",
        "step-cli",
        "cfssl",
        "cfssljson",
        "mkcert",
        "easyrsa",
    ])
    .classes(&[FileWrite])
    .lenient()
    .options(&[
        opt("", "pre-hook").role(Role::Shell),
        opt("", "post-hook").role(Role::Shell),
        opt("", "deploy-hook").role(Role::Shell),
        opt("", "renew-hook").role(Role::Shell),
        opt("", "manual-auth-hook").role(Role::Shell),
        opt("", "manual-cleanup-hook").role(Role::Shell),
        opt("", "reloadcmd").role(Role::Shell),
    ])
    .hatch(acme),
    command(&["sops", "git-crypt", "git-secret"]).opaque(Cause::Editor).lenient().hatch(sops),
    command(&[
        "encfs",
        "gocryptfs",
        "cryfs",
        "fscrypt",
        "steghide",
        "john",
        "hashcat",
        "aircrack-ng",
        "binwalk",
        "yara",
        "clamscan",
        "freshclam",
        "rkhunter",
        "chkrootkit",
        "lynis",
        "aide",
    ])
    .classes(&[FileRead, FileWrite])
    .lenient()
    .options(&[
        opt("", "remove").adds(&[Destructive]),
        opt("", "external-pipe").opaque(Cause::ExecOption),
        opt("", "external").value().opaque(Cause::ExecOption),
    ]),
    command(&["uuidgen", "pwgen", "oathtool", "mcookie", "units"]).pure().lenient(),
];

const OPENSSL: &[Row] = &[
    command(&["s_client", "s_server", "s_time", "ocsp", "cmp", "tsget"])
        .single()
        .lenient()
        .classes(&[Network])
        .options(OPENSSL_OPTIONS),
    command(&[
        "dgst",
        "md5",
        "sha1",
        "sha224",
        "sha256",
        "sha384",
        "sha512",
        "sha512-256",
        "ripemd160",
        "blake2b512",
        "verify",
        "crl2pkcs7",
        "asn1parse",
        "storeutl",
        "rehash",
        "ts",
    ])
    .single()
    .lenient()
    .options(OPENSSL_OPTIONS)
    .operands(Role::Read),
    command(&["version", "ciphers", "list", "speed", "prime", "errstr", "help", "info", "list-*"])
        .classes(&[FileRead])
        .single()
        .lenient()
        .options(OPENSSL_OPTIONS),
    command(&[
        "genrsa",
        "genpkey",
        "gendsa",
        "req",
        "x509",
        "rsa",
        "dsa",
        "ec",
        "pkey",
        "pkcs12",
        "pkcs7",
        "pkcs8",
        "enc",
        "rand",
        "passwd",
        "ecparam",
        "dhparam",
        "dsaparam",
        "pkeyparam",
        "pkeyutl",
        "rsautl",
        "smime",
        "cms",
        "crl",
        "ca",
        "nseq",
        "spkac",
        "sess_id",
        "srp",
        "kdf",
        "mac",
        "fipsinstall",
        "engine",
        "base64",
        "zlib",
        "aes*",
        "des*",
        "aria*",
        "camellia*",
        "chacha20*",
        "bf*",
        "cast*",
        "rc2*",
        "rc4*",
        "seed*",
        "sm4*",
    ])
    .single()
    .lenient()
    .options(OPENSSL_OPTIONS)
    .hatch(openssl_verb),
];

/// `openssl` alone reads commands from its standard input.
fn openssl_stdin<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.words.is_empty() {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}

fn openssl_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.name.text() {
        // The database of a CA is changed.
        Some("ca") => findings.add(FileModify, call.name.span()),
        Some("engine") if !call.words.is_empty() => findings.opaque(Cause::ExecOption, call.name.span()),
        _ => {}
    }
    // A configuration may name engines to load.
    if call.value("config").is_some_and(|value| value.is_dynamic()) {
        findings.opaque(Cause::Configuration, call.name.span());
    }
}

/// gpg without `-o` writes beside its operand when it encrypts or signs.
fn gpg<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let on_files = !call
        .given
        .iter()
        .any(|given| given.option.long.ends_with("-keys") || given.option.long.ends_with("-key"));
    for word in call.operands.iter().filter(|_| on_files) {
        findings.role(Role::Read, *word);
    }
    let makes = ["encrypt", "symmetric", "sign", "detach-sign", "clear-sign", "clearsign"]
        .iter()
        .any(|verb| call.has(verb));
    if makes && !call.has("output") && !call.operands.is_empty() {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

fn acme<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(
        name,
        "certbot" | "acme.sh" | "lego" | "dehydrated" | "getssl" | "simp_le" | "step" | "step-cli"
    ) {
        findings.add(Network, call.name.span());
    }
    match call.operand(0) {
        Some("certificates" | "show_account" | "inspect" | "certinfo") => {
            findings.drops(crate::classify::OpSet::of(&[FileWrite]));
            findings.add(FileRead, call.name.span());
        }
        Some("delete" | "revoke") => findings.add(Destructive, call.name.span()),
        _ => {}
    }
    if name == "dehydrated" || name == "acme.sh" {
        findings.opaque(Cause::Configuration, call.name.span());
    }
}

/// `sops -d F` prints, `sops exec-env F CMD` runs.
fn sops<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in call.operands.iter().skip(usize::from(call.operands.len() > 1)) {
        if word.known_prefix().contains(['.', '/']) {
            findings.role(Role::Read, *word);
        }
    }
    if call.words.iter().any(|arg| {
        matches!(arg.value.literal(), Some("-i" | "--in-place" | "updatekeys" | "rotate" | "encrypt" | "set"))
    }) {
        findings.add(FileModify, call.name.span());
    }
}
