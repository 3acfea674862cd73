//! Generated scripts of file operations, and real builds: what is predicted is what the kernel answered, and what was
//! touched is what changed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::{BOTH, denials, differences, inventory, run, touched_names};
use crate::check;
use crate::kit::{Case, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case { name: "truth: 12 generated scripts, both ways", needs: "namespaces", run: some_scripts },
    Case {
        name: "truth: changes by descriptors and in new directories",
        needs: "python3",
        run: by_descriptors,
    },
];

pub(crate) const LONG: &[Case] = &[
    Case { name: "truth: 200 generated scripts, both ways", needs: "namespaces", run: all_scripts },
    Case { name: "truth: three builds, both ways", needs: "namespaces", run: builds },
];

/// A small generator of pseudo-random numbers: the same script for the same seed, everywhere.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Names in the workspace, some of them taken.
const FILES: &[&str] = &[
    "a", "b", "c", "d/e", "d/f", "d/g/h", "new", "d/new", "d/g/new", "link", "full", "n/deep/x", "fifo",
    "ro", "d/ro", "run.sh",
];
const DIRECTORIES: &[&str] = &["d", "d/g", "n", "n/deep", "empty", "d/dlink", "made"];
/// Names that the jail holds whatever the state: protected, outside, of the system, its own.
const OTHERS: &[&str] = &[
    ".git/config",
    ".git/new",
    ".git/hooks/post-commit",
    "sub/.git/HEAD",
    ".envrc",
    "$OUT/x",
    "$OUT/d/new",
    "/etc/hostname",
    "/etc/new",
    "/usr/new",
    "/usr/bin/env",
    "/new",
    "/tmp/scratch",
    "$HOME/dot",
    "/nowhere/at/all",
    "/dev/null",
    "/proc/self/comm",
];

/// One operation in bash.
fn bash(random: &mut Random, one: &str, two: &str, directory: &str, other: &str) -> String {
    match random.below(30) {
        0 => format!("echo x{} > {one}", random.next()),
        1 => format!("echo more >> {one}"),
        2 => format!("truncate -s {} {one}", random.below(9)),
        3 => format!("mkdir {directory}"),
        4 => format!("mkdir -p {directory}/p/q"),
        5 => format!("mv {one} {two}"),
        6 => format!("mv -T {directory} {other}"),
        7 => format!("mv {directory} moved{}", random.below(3)),
        8 => format!("ln {one} {two}"),
        9 => format!("ln -sf {two} {one}"),
        10 => format!("rm {one}"),
        11 => format!("rm -rf {directory}"),
        12 => format!("chmod {} {one}", random.of(&["600", "644", "755", "u+x", "a-w"])),
        13 => format!("touch {one}"),
        14 => format!("cp {one} {two}"),
        15 => format!("cp -r {directory} copy{}", random.below(3)),
        16 => format!("sed -i s/x/yy/ {one}"),
        17 => format!("rmdir {directory}"),
        18 => format!("install -m 600 {one} {two}"),
        19 => format!("dd if=/dev/zero of={one} bs=3 count=1 conv=notrunc status=none"),
        20 => format!("mkfifo pipe{}", random.below(3)),
        21 => format!("cat {one} {two} > {other}"),
        22 => format!("tee {one} {other} < a > /dev/null"),
        23 => format!("(cd {directory} && echo y > ./z && mv z ../z{})", random.below(3)),
        24 => format!("mv {one} {directory}"),
        25 => format!("cp a {other}"),
        26 => format!("rm -f {other}"),
        27 => format!("mv -f {one} {other}"),
        28 => format!(": > {other}"),
        _ => format!("chmod 600 {other}"),
    }
}

/// One operation in python.
fn python(random: &mut Random, one: &str, two: &str, directory: &str, other: &str) -> String {
    let p = |name: &str| format!("os.path.expandvars({name:?})");
    let (one, two, directory, other) = (p(one), p(two), p(directory), p(other));
    match random.below(22) {
        0 => format!("open({one}, 'w').write('p')"),
        1 => format!("open({one}, 'a').write('p')"),
        2 => format!("open({one}, 'r+').close()"),
        3 => format!("os.rename({one}, {two})"),
        4 => format!("os.rename({directory}, 'renamed{}')", random.below(3)),
        5 => format!("os.replace({one}, {other})"),
        6 => format!("os.link({one}, {two})"),
        7 => format!("os.symlink({one}, {two})"),
        8 => format!("os.truncate({one}, {})", random.below(9)),
        9 => format!("os.chmod({one}, 0o640)"),
        10 => format!("os.utime({one}, (1, {}))", random.below(9)),
        11 => format!("shutil.rmtree({directory})"),
        12 => format!("shutil.move({one}, {two})"),
        13 => format!("shutil.copytree({directory}, 'tree{}')", random.below(3)),
        14 => format!("unnamed({directory}, {two})"),
        15 => format!("mapped({one})"),
        16 => format!("relative({directory}, 'rel')"),
        17 => format!("os.makedirs({directory} + '/m/n')"),
        18 => format!("os.remove({one})"),
        19 => format!("os.setxattr({one}, 'user.x', b'y')"),
        20 => format!("bound({one})"),
        _ => format!("open({other}, 'w').write('p')"),
    }
}

const PRELUDE: &str = r"import mmap, os, shutil, socket
def unnamed(directory, name):
    fd = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(fd, b'unnamed')
    os.link(f'/proc/self/fd/{fd}', name, follow_symlinks=True)
def mapped(name):
    with open(name, 'r+b') as file:
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[0:1] = b'M'
def relative(directory, name):
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd))
    os.rename(name, name + '2', src_dir_fd=fd, dst_dir_fd=fd)
    os.unlink(name + '2', dir_fd=fd)
def bound(name):
    socket.socket(socket.AF_UNIX).bind(name)
";

/// The script of a seed: its program and its text.
fn script(seed: u64) -> (&'static str, String) {
    let mut random = Random::new(seed);
    random.next();
    let in_python = random.below(3) == 0;
    let mut text = String::new();
    if in_python {
        text.push_str(PRELUDE);
    }
    for _ in 0..14 {
        let (one, two) = (random.of(FILES), random.of(FILES));
        let (directory, other) = (random.of(DIRECTORIES), random.of(OTHERS));
        if in_python {
            let line = python(&mut random, one, two, directory, other);
            writeln!(text, "try:\n    {line}\nexcept (OSError, ValueError, shutil.Error): pass").unwrap();
        } else {
            writeln!(text, "{{ {}; }} 2>/dev/null", bash(&mut random, one, two, directory, other)).unwrap();
        }
    }
    text.push_str(if in_python { "pass\n" } else { ":\n" });
    (if in_python { "python3" } else { "bash" }, text)
}

/// A workspace with something of each kind, and a place outside.
fn prepare() -> Place {
    let place = Place::new();
    place.repository();
    for name in ["a", "b", "c", "d/e", "d/f", "d/g/h", "ro", "d/ro", "out/x", "out/d/y"] {
        let under = if name.starts_with("out/") { name.to_owned() } else { format!("w/{name}") };
        place.write(&under, &format!("{name} xxxx\n"));
    }
    place.write("w/.envrc", "export A=1\n");
    place.write("w/sub/.git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir_all(place.path("w/sub/.git/objects")).unwrap();
    std::fs::create_dir_all(place.path("w/sub/.git/refs")).unwrap();
    std::fs::create_dir(place.path("w/empty")).unwrap();
    std::os::unix::fs::symlink("c", place.path("w/link")).unwrap();
    std::os::unix::fs::symlink("nothing", place.path("w/full")).unwrap();
    std::os::unix::fs::symlink("g", place.path("w/d/dlink")).unwrap();
    for name in ["w/ro", "w/d/ro"] {
        let mut mode = std::fs::metadata(place.path(name)).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o400);
        std::fs::set_permissions(place.path(name), mode).unwrap();
    }
    place
}

/// The jail of a seed.
fn jail(seed: u64, workspace: &Path) -> Jail {
    let jail = match seed % 5 {
        0 => Jail::read(workspace),
        1 => Jail::throw_away(workspace),
        2 => Jail::write(workspace).git_write(),
        _ => Jail::write(workspace),
    };
    let out = workspace.parent().unwrap().join("out");
    jail.with(|spec| {
        spec.limits.timeout = None;
        spec.env.insert("OUT".into(), out.into());
        spec.protected.push(".envrc".into());
        spec.secrets.push("/etc/hostname".into());
    })
}

/// Runs the script of a seed both ways; says what is not equal.
fn compare(seed: u64) -> Result<usize, String> {
    let (program, text) = script(seed);
    let mut told = Vec::new();
    for how in BOTH {
        let place = prepare();
        let jail = jail(seed, &place.workspace());
        let before = inventory::take(&place.workspace());
        let (done, seen) = run(&jail, how, &[program, "-c", &text]);
        let problem =
            |what: String| Err(format!("seed {seed}, {how:?}, {program}: {what}\n{text}\n{}", done.err));
        if !done.ok() {
            return problem(done.all());
        }
        if !seen.unseen.is_empty() || seen.dropped > 0 {
            return problem(format!("unseen {:?}, dropped {}", seen.unseen, seen.dropped));
        }
        let changed = inventory::changed(&before, &inventory::take(&place.workspace()));
        let names = touched_names(&seen);
        // What was thrown away cannot be looked at any more.
        if seed % 5 != 1 && changed != names {
            return problem(format!("touched:\n{}", differences(&changed, &names)));
        }
        if seed % 5 == 1 && !changed.is_empty() {
            return problem(format!("changed: {changed:?}"));
        }
        let root = place.path("");
        let names: BTreeSet<_> =
            names.iter().map(|name| name.strip_prefix(&root).unwrap().to_owned()).collect();
        told.push((denials(&place.path(""), &seen), names));
    }
    let [predicted, real] = &told[..] else { return Err("two runs".to_owned()) };
    if real.0 != predicted.0 {
        return Err(format!(
            "seed {seed}, {program}: denials (- really, + predicted)\n{}\n{text}",
            differences(&real.0, &predicted.0)
        ));
    }
    // Elsewhere each equals its own inventory, and whether a removed file's number is used again is chance.
    if seed % 5 == 1 && real.1 != predicted.1 {
        return Err(format!(
            "seed {seed}, {program}: touches\n{}\n{text}",
            differences(&real.1, &predicted.1)
        ));
    }
    Ok(real.0.len())
}

fn scripts(seeds: std::ops::Range<u64>) -> Verdict {
    let only = std::env::var("SWBOX_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(seeds, |seed| seed..seed + 1);
    let total = seeds.clone().count();
    let (mut failures, mut refused) = (Vec::new(), 0);
    for seed in seeds {
        match compare(seed) {
            Ok(count) => refused += count,
            Err(why) => failures.push(why),
        }
    }
    check!(
        failures.is_empty(),
        "{} of {total} scripts\n{}",
        failures.len(),
        failures.iter().take(12).cloned().collect::<Vec<_>>().join("\n----\n")
    );
    check!(only.is_some() || refused > total, "only {refused} refusals: the scripts try too little");
    Verdict::Passed
}

fn some_scripts() -> Verdict {
    scripts(1000..1012)
}

fn all_scripts() -> Verdict {
    scripts(0..200)
}

/// Changes that show in no name that is opened, and names whose state is not looked at: in directories that the command
/// made itself.
const DESCRIPTORS: &str = r"import ctypes, os
def descriptor(name, flags): return os.open(name, flags, 0o600)
fd = descriptor('a', os.O_RDONLY); os.fchmod(fd, 0o640); os.close(fd)
fd = descriptor('b', os.O_RDWR); old = os.fstat(fd)
os.write(fd, b'B'); os.utime(fd, ns=(old.st_atime_ns, old.st_mtime_ns)); os.close(fd)
os.close(descriptor('c', os.O_RDWR)); os.link('c', 'cc'); os.remove('cc'); os.close(descriptor('c', os.O_RDWR))
fd = descriptor('d/f', os.O_RDWR); old = os.fstat(fd); os.link('d/f', 'same')
os.write(fd, b'F'); os.utime(fd, ns=(old.st_atime_ns, old.st_mtime_ns)); os.close(fd)
fd = descriptor('d/e', os.O_RDWR); os.fchmod(fd, 0o604); os.close(fd)
writing = descriptor('d/f', os.O_RDWR); os.close(writing)
fd = descriptor('d/g/h', os.O_RDONLY); assert fd == writing; os.fchmod(fd, 0o604); os.close(fd)
fd = descriptor('.git/HEAD', os.O_RDONLY)
try: os.fchmod(fd, 0o604)
except OSError as error: print(error)
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
os.mkdir('made'); os.close(descriptor('made/x', NEW)); os.remove('made/x')
os.close(descriptor('made/y', NEW))
try: os.close(descriptor('made/y', NEW))
except FileExistsError: pass
os.rename('d', 'made/d')
try: os.close(descriptor('made/d/e', NEW))
except FileExistsError: pass
os.rename('made/d', 'd')
os.mkdir('empty/one'); os.close(descriptor('empty/one/same', NEW))
os.mkdir('other'); os.close(descriptor('other/same', NEW))
at = -100
exchanged = ctypes.CDLL(None).syscall(316 if os.uname().machine == 'x86_64' else 276, at, b'd', at, b'other', 2)
assert exchanged == 0
";

fn by_descriptors() -> Verdict {
    for how in BOTH {
        let place = prepare();
        let before = inventory::take(&place.workspace());
        // So that what is written now has another time than what was made before.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (done, seen) = run(&Jail::write(&place.workspace()), how, &["python3", "-c", DESCRIPTORS]);
        check!(done.ok() && done.out.contains("Read-only"), "{how:?}: {}", done.all());
        check!(seen.unseen.is_empty() && seen.dropped == 0, "{how:?}: {:?}", seen.unseen);
        let changed = inventory::changed(&before, &inventory::take(&place.workspace()));
        let names = touched_names(&seen);
        check!(changed == names, "{how:?}: touched\n{}", differences(&changed, &names));
        let refused = denials(&place.path(""), &seen);
        check!(refused.iter().any(|line| line.contains(".git/HEAD")), "{how:?}: {refused:?}");
    }
    Verdict::Passed
}

/// What is built, in a fresh workspace each time.
const BUILDS: [(&str, &str); 3] = [
    (
        "make",
        "for i in 1 2 3 4 5 6; do echo \"int f$i(void){return $i;}\" > f$i.c; done; \
         echo 'int main(void){return 0;}' > main.c; \
         printf 'OBJ=f1.o f2.o f3.o f4.o f5.o f6.o main.o\\nprog: $(OBJ)\\n\\tcc -o $@ $(OBJ)\\nclean:\\n\\trm -f $(OBJ)\\n' > Makefile; \
         make -s && ./prog && make -s clean",
    ),
    (
        "cargo",
        "mkdir -p src && echo 'fn main(){println!(\"{}\", lib());} fn lib()->u8{3}' > src/main.rs && \
         printf '[package]\\nname=\"b\"\\nversion=\"0.1.0\"\\nedition=\"2021\"\\n' > Cargo.toml && \
         cargo build --offline -q && ./target/debug/b && touch src/main.rs && cargo build --offline -q",
    ),
    (
        "npm",
        "mkdir -p node_modules/dep src && echo '{\"name\":\"dep\",\"main\":\"i.js\"}' > node_modules/dep/package.json && \
         echo 'module.exports=1' > node_modules/dep/i.js && \
         echo '{\"name\":\"x\",\"version\":\"1.0.0\",\"scripts\":{\"build\":\"node build.js\"}}' > package.json && \
         echo 'const f=require(\"fs\");f.mkdirSync(\"dist\",{recursive:true});f.writeFileSync(\"dist/t\",\"x\");f.renameSync(\"dist/t\",\"dist/o\");require(\"dep\")' > build.js && \
         npm run -s build && test -f dist/o",
    ),
];

fn builds() -> Verdict {
    for (name, script) in BUILDS {
        let mut told = Vec::new();
        for how in BOTH {
            let place = Place::new();
            let patient = Jail::write(&place.workspace()).with(|spec| spec.limits.timeout = None);
            let Some(jail) = toolchain(name, patient) else {
                println!("SKIP {name}: not here");
                break;
            };
            let before = inventory::take(&place.workspace());
            let (done, seen) = run(&jail, how, &["bash", "-c", script]);
            check!(done.ok(), "{name} {how:?}: {}", done.all());
            check!(seen.unseen.is_empty() && seen.dropped == 0, "{name} {how:?}: {:?}", seen.unseen);
            let changed = inventory::changed(&before, &inventory::take(&place.workspace()));
            let names = touched_names(&seen);
            check!(changed == names, "{name} {how:?}: touched\n{}", differences(&changed, &names));
            println!(
                "{name} {how:?}: {} calls, {} touched, {} refused",
                seen.calls,
                names.len(),
                seen.denials.len()
            );
            told.push(denials(&place.path(""), &seen));
        }
        if let [predicted, real] = &told[..] {
            check!(real == predicted, "{name}: denials\n{}", differences(real, predicted));
        }
    }
    Verdict::Passed
}

/// `jail` with what a build needs, where the host has it.
pub(super) fn toolchain(name: &str, jail: Jail) -> Option<Jail> {
    let found = |program: &str| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.exists())
    };
    let program = found(if name == "make" { "cc" } else { name })?;
    if name != "cargo" || program.starts_with("/usr") {
        return Some(jail);
    }
    // rustup's: its directories, found beside the program.
    let home = program.parent()?.parent()?.to_owned();
    let rustup =
        std::env::var_os("RUSTUP_HOME").map_or_else(|| home.parent().unwrap().join(".rustup"), Into::into);
    if !std::fs::metadata(&home).is_ok_and(|stat| {
        use std::os::unix::fs::MetadataExt;
        crate::kit::is_root() || stat.uid() == rustix::process::getuid().as_raw()
    }) {
        return None;
    }
    Some(jail.with(|spec| {
        for path in [program.parent().unwrap().to_owned(), rustup.clone()] {
            spec.binds.push(swbox::profile::Bind { path, writable: false, exec: true, optional: true });
        }
        spec.env.insert("RUSTUP_HOME".into(), rustup.into());
        spec.env.insert(
            "PATH".into(),
            format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().unwrap().display()).into(),
        );
    }))
}
