//! Compiles `profiles/*.toml` into the binary: as text (for people) and as MessagePack, which the start of every jailed
//! command reads many times faster than TOML, and which says of each list how long it is.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let directory = Path::new(&root).join("profiles");
    let mut names: Vec<_> = fs::read_dir(&directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    names.sort();

    let mut source = String::from(
        "/// Every profile of `profiles/`, by name.\npub(super) const BUILTIN: &[Builtin] = &[\n",
    );
    for path in &names {
        let text = fs::read_to_string(path)?;
        let value: toml::Value =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let list = |table: &str, key: &str| -> Vec<String> {
            let items = value.get(table).and_then(|table| table.get(key)).and_then(toml::Value::as_array);
            items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        // What is the same wherever HOME and the workspace are: a jail can begin with it.
        let fixed = |key: &str, exec: bool| -> String {
            let places = list("binds", key).into_iter().filter(|place| place.starts_with('/'));
            places.map(|place| format!("({place:?}, {exec}), ")).collect()
        };
        // What is secret wherever HOME is.
        let paths = list("secrets", "paths").into_iter();
        let hidden: Vec<String> = paths.filter(|path| path.starts_with('/') && !path.contains('*')).collect();
        let limit =
            value.get("limits").and_then(|limits| limits.get("scratch")).and_then(toml::Value::as_str);
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a profile's name is not UTF-8")?;
        writeln!(
            source,
            "    Builtin {{ name: {name:?}, files: &{:?}, variables: &{:?}, toolchains: &{:?}, fixed: &[{}{}], hidden: &{:?}, scratch: {:?}, packed: &{:?}, text: include_str!({:?}) }},",
            list("detect", "files"),
            list("detect", "variables"),
            list("binds", "toolchains"),
            fixed("system", true),
            fixed("data", false),
            hidden,
            limit,
            rmp_serde::to_vec(&value)?,
            path,
        )?;
    }
    source.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("profiles.rs"), source)?;
    let mut out = std::io::stdout().lock();
    std::io::Write::write_all(
        &mut out,
        b"cargo::rerun-if-changed=profiles\ncargo::rerun-if-changed=build.rs\ncargo::rerun-if-changed=src/launch.ld\n",
    )?;
    // The functions of a launch side by side: a fifth of its time. A debug build has other functions.
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" && variable("PROFILE") == "release" && takes_scripts() {
        let script = Path::new(&root).join("src/launch.ld");
        // As two arguments of the compiler that links: `-Wl,` would end at a comma of the path.
        let argument = format!("cargo::rustc-link-arg-bin=swbox={}\n", script.display());
        std::io::Write::write_all(&mut out, b"cargo::rustc-link-arg-bin=swbox=-T\n")?;
        std::io::Write::write_all(&mut out, argument.as_bytes())?;
    }
    // See `sys::start`: only a static program relocates itself.
    let has = |feature: &str| variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|one| one == feature);
    if variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("CARGO_CFG_TARGET_ARCH") == "x86_64"
        && has("crt-static")
    {
        std::io::Write::write_all(&mut out, b"cargo::rustc-link-arg-bin=swbox=-Wl,-e,swbox_entry\n")?;
    }
    if packs_relocations() {
        std::io::Write::write_all(&mut out, b"cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs\n")?;
    }
    Ok(())
}

/// Whether the linker knows `INSERT` in a script: rustc's own and the system's do.
fn takes_scripts() -> bool {
    let chosen = ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_LINKER"].map(|name| env::var(name).unwrap_or_default());
    !chosen.iter().any(|text| ["mold", "gold", "wild"].iter().any(|linker| text.contains(linker)))
}

/// Whether the program may have the addresses that are relocated at its start packed; else half a megabyte is read for
/// them. A static program relocates itself, which the C library it is linked with can do since glibc 2.36.
fn packs_relocations() -> bool {
    let native = env::var("HOST").is_ok() && env::var("HOST") == env::var("TARGET");
    let answer = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok();
    let text = answer.and_then(|answer| String::from_utf8(answer.stdout).ok()).unwrap_or_default();
    let mut numbers = text.trim().trim_start_matches("glibc ").split('.').map(str::parse::<u32>);
    native && matches!((numbers.next(), numbers.next()), (Some(Ok(2)), Some(Ok(minor))) if minor >= 36)
}
