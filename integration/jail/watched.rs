//! What notifications tell of a command: the files it touched, what the jail refused, and nothing else.

use std::path::{Path, PathBuf};

use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Act, Cause, Seen, Target, Verdict as Judgement};

use crate::check;
use crate::kit::{Case, Done, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case { name: "watched: each kind of change is seen", needs: "namespaces", run: changes },
    Case {
        name: "watched: what is tried and stays the same is not touched",
        needs: "namespaces",
        run: unchanged,
    },
    Case { name: "watched: changes of a layer that vanishes", needs: "namespaces", run: layer },
    Case { name: "watched: each kind of refusal, with its cause", needs: "namespaces", run: refusals },
    Case { name: "watched: ordinary failures are silent", needs: "namespaces", run: silent },
    Case { name: "watched: a program that ran once is refused elsewhere", needs: "namespaces", run: led },
];

/// Acts and names below the workspace, sorted.
fn touched(place: &Place, seen: &Seen) -> Vec<String> {
    let workspace = place.workspace();
    let below = |path: &Path| path.strip_prefix(&workspace).unwrap().display().to_string();
    let mut lines: Vec<_> = seen
        .touched
        .iter()
        .map(|touch| {
            let to = touch.to.as_deref().map(|to| format!(" {}", below(to))).unwrap_or_default();
            format!("{:?} {}{to}", touch.act, below(&touch.path))
        })
        .collect();
    lines.sort();
    lines
}

/// Acts, targets and causes in the order of first sight.
fn denied(seen: &Seen) -> Vec<(Act, String, Cause)> {
    let target = |target: &Target| match target {
        Target::Path(path) => path.display().to_string(),
        Target::Address(address) => address.clone(),
        Target::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    };
    seen.denials
        .iter()
        .map(|counted| (counted.what.act, target(&counted.what.target), counted.what.cause))
        .collect()
}

fn python(jail: &Jail, script: &str) -> (Done, Seen) {
    jail.watch(Settings::default(), &["python3", "-c", script], |_| Judgement::Go).unwrap()
}

const CHANGES: &[(&str, &[&str])] = &[
    ("echo x > new", &["Create new"]),
    ("echo x >> old", &["Write old"]),
    (": > old", &["Write old"]),
    ("sed -i s/one/two/ old", &["Write old"]),
    ("truncate -s 1 old", &["Write old"]),
    ("mkdir -p a/b; touch a/b/c", &["Create a", "Create a/b", "Create a/b/c"]),
    ("rm old; rmdir empty", &["Remove empty", "Remove old"]),
    ("mv old moved", &["Rename old moved"]),
    ("mv old moved; mv moved again; echo y > moved", &["Create moved", "Rename old again"]),
    ("mv d e", &["Rename d e", "Rename d/f e/f", "Rename d/s e/s", "Rename d/s/g e/s/g"]),
    ("mv d e; rm e/f; echo 1 > e/s/g", &["Remove d/f", "Rename d e", "Rename d/s e/s", "Rename d/s/g e/s/g"]),
    ("rm -r d", &["Remove d", "Remove d/f", "Remove d/s", "Remove d/s/g"]),
    ("chmod 700 old", &["Metadata old"]),
    // It opens the file for writing first: what it did not write is not known.
    ("touch -d 2001-01-01 old", &["Write old"]),
    ("ln old second", &["Create second"]),
    ("ln -s old link; echo x > link", &["Create link", "Write old"]),
    ("cd d/s && echo x > ../../new", &["Create new"]),
    ("cd d && echo x > \"$PWD/h\" && cp h s/i", &["Create d/h", "Create d/s/i"]),
    ("cp -a d e", &["Create e", "Create e/f", "Create e/s", "Create e/s/g"]),
    ("mkfifo p", &["Create p"]),
    ("exec 3> new; rm new; echo x >&3", &[]),
    ("echo x > /dev/stderr; echo y > /proc/self/cwd/new", &["Create new"]),
    ("exec 3>> old; echo x > /dev/fd/3", &["Write old"]),
];

const BY_PYTHON: &[(&str, &[&str])] = &[
    ("open('new', 'w').write('x')", &["Create new"]),
    ("import os; os.rename('old', 'n'); os.replace('n', 'old')", &[]),
    (
        "import mmap, os; f = open('old', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'X'; m.flush(); m.close()",
        &["Write old"],
    ),
    (
        "import os; f = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(f, b'x'); os.link(f'/proc/self/fd/{f}', 'new', src_dir_fd=f)",
        &["Create new"],
    ),
    ("import os; os.chmod(os.open('old', os.O_RDONLY), 0o600)", &["Metadata old"]),
    (
        "import os; d = os.open('d', os.O_RDONLY); os.unlink('f', dir_fd=d); os.mkdir('n', dir_fd=d)",
        &["Create d/n", "Remove d/f"],
    ),
    ("import os; os.truncate('old', 0)", &["Write old"]),
    ("import socket; socket.socket(socket.AF_UNIX).bind('s')", &["Create s"]),
    ("import os; os.symlink('x', b'\\xff\\n')", &["Create \u{fffd}\n"]),
    (
        "import threading; t = threading.Thread(target=lambda: open('new', 'w').write('x')); t.start(); t.join()",
        &["Create new"],
    ),
    (
        "import os, shutil; shutil.move('d', 'e')",
        &["Rename d e", "Rename d/f e/f", "Rename d/s e/s", "Rename d/s/g e/s/g"],
    ),
];

fn fill(place: &Place) {
    place.write("w/old", "one\n");
    place.write("w/d/f", "f");
    place.write("w/d/s/g", "g");
    std::fs::create_dir(place.workspace().join("empty")).unwrap();
}

fn changes() -> Verdict {
    let shell = CHANGES.iter().map(|(script, wanted)| (["sh", "-c", script], wanted));
    let python = BY_PYTHON.iter().map(|(script, wanted)| (["python3", "-c", script], wanted));
    for (argv, wanted) in shell.chain(python) {
        let place = Place::new();
        fill(&place);
        let jail = Jail::write(&place.workspace());
        let (done, seen) = jail.watch(Settings::default(), &argv, |_| Judgement::Go).unwrap();
        check!(done.ok(), "{argv:?}: {}", done.all());
        let touched = touched(&place, &seen);
        check!(touched == *wanted, "{argv:?}: {touched:?} instead of {wanted:?}");
        check!(
            seen.denials.is_empty() && seen.unseen.is_empty() && seen.dropped == 0,
            "{argv:?}: {:?} {:?}",
            seen.denials,
            seen.unseen
        );
    }
    Verdict::Passed
}

fn unchanged() -> Verdict {
    let place = Place::new();
    fill(&place);
    let jail = Jail::write(&place.workspace());
    let script = "exec 3>> old; chmod 644 d/s/g; echo x > t; rm t; mkdir n; rmdir n; mv d e; mv e d; \
                  : >> d/f; echo x > /tmp/y; echo z > $HOME/q";
    std::fs::set_permissions(place.path("w/old"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    let (done, seen) = jail.watch_sh(script);
    check!(done.ok(), "{}", done.all());
    check!(seen.touched.is_empty() && seen.denials.is_empty(), "{:?} {:?}", seen.touched, seen.denials);
    Verdict::Passed
}

fn layer() -> Verdict {
    let place = Place::new();
    fill(&place);
    let (done, seen) = Jail::throw_away(&place.workspace()).watch_sh("echo x > new; rm old; echo y >> d/f");
    check!(done.ok(), "{}", done.all());
    if done.outcome.degraded.iter().any(|why| why.starts_with("no-throwaway")) {
        return Verdict::Skipped("no layer on this host".to_owned());
    }
    let touched = touched(&place, &seen);
    check!(touched == ["Create new", "Remove old", "Write d/f"], "{touched:?}");
    check!(
        place.workspace().join("old").exists() && !place.workspace().join("new").exists(),
        "the layer leaked"
    );
    Verdict::Passed
}

fn refusals() -> Verdict {
    let place = Place::new();
    fill(&place);
    let outside = place.write("outside/f", "x");
    let workspace = place.workspace();
    let inside = |name: &str| workspace.join(name).display().to_string();
    let own: PathBuf = outside.clone();
    let jail = Jail::read(&workspace).with(|spec| {
        spec.binds.push(swbox::profile::Bind {
            path: own.parent().unwrap().to_owned(),
            writable: false,
            exec: false,
            optional: false,
        });
    });
    let outside = outside.display().to_string();
    let script = format!(
        "echo x > old; rm old; mkdir n; mv old m; ln old l; chmod 600 old; truncate -s 0 old; touch old; \
         echo x > {outside}; {outside}; cp old {outside}; true"
    );
    let (done, seen) = jail.watch_sh(&script);
    check!(done.ok(), "{}", done.all());
    let denied = denied(&seen);
    for (act, path, cause) in [
        (Act::Write, inside("old"), Cause::Rights),
        (Act::Remove, inside("old"), Cause::Rights),
        (Act::Create, inside("n"), Cause::Rights),
        (Act::Rename, inside("old"), Cause::Rights),
        (Act::Metadata, inside("old"), Cause::Rights),
        (Act::Write, outside.clone(), Cause::Outside),
    ] {
        check!(denied.contains(&(act, path.clone(), cause)), "{act:?} {path} {cause:?} not in {denied:?}");
    }
    check!(seen.touched.is_empty(), "{:?}", seen.touched);
    let (done, seen) = python(
        &Jail::write(&workspace),
        "import socket\nfor f, a in [(socket.AF_INET, ('10.1.2.3', 80)), (socket.AF_INET6, ('2001:db8::1', 443)), (socket.AF_INET, ('127.0.0.1', 9))]:\n  try: socket.socket(f).connect(a)\n  except OSError as e: print(e.errno)",
    );
    check!(done.out == "101\n101\n111\n", "{}", done.all());
    let denied = self::denied(&seen);
    let network = |to: &str| (Act::Connect, to.to_owned(), Cause::Network);
    check!(denied == [network("10.1.2.3:80"), network("[2001:db8::1]:443")], "{denied:?}");
    let (_, seen) = python(&Jail::read(&workspace), "import socket; socket.socket(socket.AF_INET)");
    check!(seen.denials.len() == 1 && seen.denials[0].what.cause == Cause::Network, "{:?}", seen.denials);
    Verdict::Passed
}

/// What a name of a program led to is remembered: not beyond a change of what it leads through.
fn led() -> Verdict {
    let place = Place::new();
    let closed = place.write("outside/true", "#!/bin/sh\n");
    crate::kit::executable(&closed);
    place.write("w/file", "x");
    let outside = closed.parent().unwrap().to_owned();
    let bind = swbox::profile::Bind { path: outside.clone(), writable: false, exec: false, optional: false };
    let jail = Jail::write(&place.workspace()).with(|spec| spec.binds.push(bind));
    let (there, closed) = (outside.display(), closed.display().to_string());
    for change in [
        format!("rm led; ln -s {there} led"),
        format!("ln -s {there} other; mv -T other led"),
        format!("ln -sfn {there} led"),
        format!("mv led former; ln -s {there} led"),
        format!(
            "ln -s {there} other; python3 -c 'import ctypes; print(ctypes.CDLL(None).renameat2(-100, b\"led\", -100, b\"other\", 2))'"
        ),
    ] {
        let (done, seen) = jail.watch_sh(&format!(
            "ln -s /usr/bin led; $PWD/led/true && $PWD/led/true && echo ran; {change}; $PWD/led/true; $PWD/led/true; \
             echo $?; rm -f led other former"
        ));
        check!(done.out.contains("ran\n") && done.out.ends_with("126\n"), "{change}: {}", done.all());
        let denied: Vec<_> =
            seen.denials.iter().map(|counted| (&counted.what.target, counted.times)).collect();
        check!(denied == [(&Target::Path(closed.clone().into()), 2)], "{change}: {denied:?}");
    }
    Verdict::Passed
}

fn silent() -> Verdict {
    let place = Place::new();
    fill(&place);
    place.write("w/closed", "x");
    place.write("w/program", "#!/bin/sh\n");
    let jail = Jail::write(&place.workspace());
    let script = "chmod 000 closed; chmod 500 empty; exec 2>/dev/null; echo x > closed; cat closed; echo > empty/x; rm none; \
                  rmdir d; mkdir d; mv none other; ./program; ./none; none; cat none/x; ln old d/f; echo > d; \
                  echo > none/x; echo x > old/y; rm -f none; chmod 755 empty; chmod 644 closed; true";
    let (done, seen) = jail.watch_sh(script);
    check!(done.ok(), "{}", done.all());
    check!(seen.denials.is_empty() && seen.unseen.is_empty(), "{:?} {:?}", seen.denials, seen.unseen);
    Verdict::Passed
}
