//! Real work inside the `testing` state, without extra flags: what cargo, npm, pytest, make and their servers do on the
//! host they do in the jail, and the tree that they test is the same afterwards.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

#[path = "toolchains/further.rs"]
mod further;
mod project;

use std::fs;
use std::process::Command;

use project::{Project, Ran, has};

/// Runs a line in `testing` and holds that it ends with 0 and leaves the tree as it was.
fn passes(project: &Project, line: &str) -> Ran {
    let before = project.tree();
    let ran = project.line("testing", line);
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    assert_eq!(project.tree(), before, "{line} changed the tree");
    ran
}

/// The same for a test run that must be red.
fn fails(project: &Project, line: &str) {
    let before = project.tree();
    let ran = project.line("testing", line);
    assert!((1..120).contains(&ran.code), "{line}: {ran:?}");
    assert_eq!(project.tree(), before, "{line} changed the tree");
}

/// A change of the agent, as it makes it in `implementing`.
fn edit(project: &Project, line: &str) {
    let ran = project.line("implementing", line);
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
}

/// Programs of the host, run where they must succeed before the test has a point.
fn host(project: &Project, program: &str, args: &[&str]) -> bool {
    project.command_as(program.as_ref(), args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn cargo_test_with_a_path_dependency() {
    if !has("cargo_test_with_a_path_dependency", "cargo") {
        return;
    }
    let project = Project::new();
    let at = |name: &str| project.path().join(name);
    fs::create_dir_all(at("vendor/words/src")).unwrap();
    fs::write(
        at("vendor/words/Cargo.toml"),
        "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    )
    .unwrap();
    fs::write(at("vendor/words/src/lib.rs"), "pub const HELLO: &str = \"Hello\";\n").unwrap();
    fs::write(
        at("Cargo.toml"),
        "[package]\nname = \"greeting\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\nwords = { path = \"vendor/words\" }\n",
    )
    .unwrap();
    fs::write(
        at("build.rs"),
        "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); std::fs::write(format!(\"{out}/made.rs\"), \"42\").unwrap(); }\n",
    )
    .unwrap();
    fs::write(
        at("src/lib.rs"),
        "pub fn greet(name: &str) -> String {\n    format!(\"{}, {name}\", words::HELLO)\n}\n\n#[test]\nfn greets() {\n\
         \x20   assert_eq!(greet(\"x\"), \"Hello, x\");\n    assert_eq!(include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\")), 42);\n\
         \x20   std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap();\n    std::net::TcpListener::bind(\"[::1]:0\").unwrap();\n}\n",
    )
    .unwrap();
    // First build: there is no target directory, and Cargo.lock has yet to learn the new dependency.
    assert!(!at("target").exists());
    let first = passes(&project, "cargo test --offline");
    assert!(first.stdout.contains("1 passed"), "{first:?}");
    assert!(first.stderr.contains("Compiling words"), "{first:?}");
    let second = passes(&project, "cargo test --offline");
    assert!(!second.stderr.contains("Compiling words"), "the second run built anew: {second:?}");

    edit(&project, "sed -i 's/\"Hello\"/\"Bye\"/' vendor/words/src/lib.rs");
    fails(&project, "cargo test --offline");
    edit(&project, "sed -i 's/\"Bye\"/\"Hello\"/' vendor/words/src/lib.rs");
    passes(&project, "cargo test --offline 2>&1 | tail -n 20");
    passes(&project, "cargo build --offline && cargo run --offline --example none || true");
    assert!(!at("target").exists(), "a later unjailed build would find what a jailed one made");
}

#[test]
fn npm_test() {
    if !has("npm_test", "npm") || !has("npm_test", "node") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("servers.test.js"), NODE_TEST).unwrap();
    let ran = passes(&project, "npm test");
    assert!(ran.stdout.contains("pass 4"), "{ran:?}");
    edit(&project, "sed -i 's/Hello/Bye/' greeting.js");
    fails(&project, "npm test");
    edit(&project, "sed -i 's/Bye/Hello/' greeting.js");
    passes(&project, "npm test --silent");
    passes(&project, "node --test greeting.test.js");
    // `npx` runs what the project has; what is missing it could only fetch, and there is no network.
    fs::create_dir_all(project.path().join("node_modules/.bin")).unwrap();
    let tool = project.path().join("node_modules/.bin/greet-tool");
    fs::write(&tool, "#!/usr/bin/env node\nconsole.log('hello ' + process.argv[2]);\n").unwrap();
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(passes(&project, "npx greet-tool you").stdout.contains("hello you"));
    assert!(passes(&project, "npm exec -- greet-tool you").stdout.contains("hello you"));
    assert_eq!(project.line("planning", "npx greet-tool you").code, 126);
    passes(&project, "node --version");
    passes(
        &project,
        "PORT=0 node -e 'require(\"http\").createServer().listen(process.env.PORT, function () { this.close() })'",
    );
}

const NODE_TEST: &str = r"
const test = require('node:test');
const assert = require('node:assert');
const net = require('node:net');
const fs = require('node:fs');
const { Worker } = require('node:worker_threads');

const answer = (options, connect) => new Promise((resolve, reject) => {
  const server = net.createServer((socket) => socket.end('hello'));
  server.on('error', reject);
  server.listen(options, () => {
    const client = net.connect(connect(server.address()));
    client.on('error', reject);
    let text = '';
    client.on('data', (part) => { text += part; });
    client.on('end', () => { server.close(); resolve(text); });
  });
});

test('workers', async () => {
  const worker = new Worker('require(\'worker_threads\').parentPort.postMessage(6 * 7)', { eval: true });
  assert.strictEqual(await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject)), 42);
});
test('loopback', async () => {
  for (const host of ['127.0.0.1', '::1', 'localhost']) {
    assert.strictEqual(await answer({ host, port: 0 }, ({ port }) => ({ host, port })), 'hello', host);
  }
});
test('unix', async () => {
  assert.strictEqual(await answer({ path: '/tmp/made.sock' }, () => ({ path: '/tmp/made.sock' })), 'hello');
  fs.writeFileSync('greeting.js', 'owned');
  assert.strictEqual(fs.readFileSync('greeting.js', 'utf8'), 'owned');
});
";

#[test]
fn pytest_in_a_virtual_environment() {
    const NAME: &str = "pytest_in_a_virtual_environment";
    if !has(NAME, "python3") {
        return;
    }
    let project = Project::new();
    if !host(&project, "python3", &["-m", "venv", ".venv"]) {
        println!("SKIP {NAME}: this python3 makes no virtual environment");
        return;
    }
    fs::write(project.path().join("test_host.py"), PYTHON_TEST).unwrap();
    // A registry is not a condition of the tests: unittest shows the same of the jail.
    let pytest = host(
        &project,
        "timeout",
        &["90", ".venv/bin/pip", "install", "-q", "--retries", "0", "--timeout", "10", "pytest"],
    );
    let runs: &[&str] = if pytest {
        &[
            ".venv/bin/pytest -q",
            ". .venv/bin/activate && pytest -q",
            ".venv/bin/python -m pytest -q -p no:cacheprovider",
        ]
    } else {
        println!("SKIP {NAME}: pytest could not be installed, unittest stands in");
        &[".venv/bin/python -m unittest -q", ". .venv/bin/activate && python -m unittest -q"]
    };
    for line in runs {
        passes(&project, line);
    }
    edit(&project, "sed -i 's/Hello/Bye/' greeting.py");
    fails(&project, runs[0]);
    edit(&project, "sed -i 's/Bye/Hello/' greeting.py");
    passes(&project, runs[0]);
    let prefix = passes(&project, ".venv/bin/python -c 'import sys; print(sys.prefix)'");
    assert_eq!(prefix.stdout.trim(), project.path().join(".venv").to_str().unwrap());
}

const PYTHON_TEST: &str = r#"
import multiprocessing, os, socket, subprocess, sys, tempfile, threading, unittest
from multiprocessing import shared_memory


def double(number):
    return 2 * number


def answer(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen()
        def serve():
            connection, _ = server.accept()
            connection.sendall(b"hello")
            connection.close()
        thread = threading.Thread(target=serve)
        thread.start()
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.connect(server.getsockname())
            got = client.recv(5)
        thread.join()
        return got


class Host(unittest.TestCase):
    def test_loopback(self):
        self.assertEqual(answer(socket.AF_INET, ("127.0.0.1", 0)), b"hello")
        self.assertEqual(answer(socket.AF_INET6, ("::1", 0)), b"hello")
        self.assertTrue(socket.getaddrinfo("localhost", 80))

    def test_unix(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(answer(socket.AF_UNIX, directory + "/s"), b"hello")
        self.assertEqual(answer(socket.AF_UNIX, "/tmp/made.sock"), b"hello")

    def test_multiprocessing(self):
        with multiprocessing.Pool(3) as pool:
            self.assertEqual(pool.map(double, range(20)), [2 * n for n in range(20)])
        queue, lock = multiprocessing.Queue(), multiprocessing.Lock()
        with lock:
            queue.put(7)
        self.assertEqual(queue.get(timeout=10), 7)
        semaphore = multiprocessing.BoundedSemaphore(2)
        self.assertTrue(semaphore.acquire(timeout=1))
        memory = shared_memory.SharedMemory(create=True, size=1 << 20)
        memory.buf[:5] = b"hello"
        other = shared_memory.SharedMemory(name=memory.name)
        self.assertEqual(bytes(other.buf[:5]), b"hello")
        other.close()
        memory.close()
        memory.unlink()

    def test_children(self):
        self.assertEqual(subprocess.check_output(["sh", "-c", "echo $((6 * 7))"]), b"42\n")
        self.assertEqual(subprocess.run([sys.executable, "-c", "import sys; sys.exit(3)"]).returncode, 3)
        self.assertGreaterEqual(os.cpu_count(), 1)

    def test_byte_code_is_not_beside_the_source(self):
        import greeting
        self.assertFalse(greeting.__cached__.startswith(os.getcwd()), greeting.__cached__)


if __name__ == "__main__":
    unittest.main()
"#;

#[test]
fn byte_code_of_a_test_run_never_reaches_a_later_run_outside() {
    if !has("byte_code_of_a_test_run_never_reaches_a_later_run_outside", "python3") {
        return;
    }
    let project = Project::new();
    // A .pyc with the source's time and size would be run in place of the source by the next unjailed python3.
    let attack = "python3 - <<'E'\nimport importlib._bootstrap_external as b, importlib.util as u, os\n\
        s = os.stat('greeting.py')\n\
        code = compile('def greet(name): return \"owned\"', 'greeting.py', 'exec')\n\
        data = b._code_to_timestamp_pyc(code, int(s.st_mtime), s.st_size)\n\
        for target in {u.cache_from_source('greeting.py'), '__pycache__/greeting.' + __import__('sys').implementation.cache_tag + '.pyc'}:\n\
        \x20   os.makedirs(os.path.dirname(target), exist_ok=True)\n\
        \x20   open(target, 'wb').write(data)\nE";
    passes(&project, attack);
    let bare = project.bare("python3 -c 'import greeting; print(greeting.greet(\"x\"))'");
    assert_eq!(bare.stdout, "Hello, x\n", "{bare:?}");
}

#[test]
fn make_check_of_a_c_project() {
    if !has("make_check_of_a_c_project", "make") || !has("make_check_of_a_c_project", "cc") {
        return;
    }
    let project = Project::new();
    fs::write(
        project.path().join("Makefile"),
        "OBJECTS = greeting.o words.o\n\ngreeting: $(OBJECTS)\n\tcc -o $@ $(OBJECTS)\n\n%.o: %.c\n\tcc -O1 -g -c -o $@ $<\n\n\
         check: greeting\n\t./greeting | grep -q Hello\n\nclean:\n\trm -f greeting $(OBJECTS)\n\trm -rf build\n",
    )
    .unwrap();
    fs::write(
        project.path().join("greeting.c"),
        "#include <stdio.h>\nconst char *hello(void);\nint main(void) { puts(hello()); return 0; }\n",
    )
    .unwrap();
    fs::write(project.path().join("words.c"), "const char *hello(void) { return \"Hello\"; }\n").unwrap();
    passes(&project, "make check");
    passes(&project, "make -j2 check && make clean && ! test -e greeting && ! test -e build");
    edit(&project, "sed -i s/Hello/Bye/ words.c");
    fails(&project, "make check");
    edit(&project, "sed -i s/Bye/Hello/ words.c");
    passes(&project, "make check");

    // What was built on the host before is there, and can be cleaned away inside alone.
    assert!(host(&project, "make", &["check"]));
    passes(&project, "make clean && ! test -e greeting && make check");
    assert!(project.path().join("greeting").exists());
}

/// `bugfix` lets no state delete; this one tests and may.
const CLEANING: &str = r#"{ "id": "cleaning", "initial": "testing", "states": {
    "testing": { "allowed_tools": ["read_file", "run_test", "__DESTRUCTIVE__"], "on": { "DONE": "done" } },
    "done": { "type": "final" } } }"#;

#[test]
fn cleaning_works_and_the_tree_stays() {
    const NAME: &str = "cleaning_works_and_the_tree_stays";
    let project = Project::new();
    let workflow = project.outside().join("cleaning.json");
    fs::write(&workflow, CLEANING).unwrap();
    let mut lines = vec!["git clean -fdx -q && ! test -e build/artefact"];
    if has(NAME, "cargo") {
        lines.push("cargo test -q --offline && cargo clean && cargo test -q --offline");
        lines.push("cargo clean");
        lines.push("cargo test -q --offline");
    }
    if has(NAME, "make") && has(NAME, "cc") {
        lines.push("make check && rm -rf build && make check");
    }
    if has(NAME, "npm") {
        lines.push("npm test && npm pkg get name");
    }
    for line in lines {
        let before = project.tree();
        let ran = project.swbox(&["exec", "--workflow", workflow.to_str().unwrap(), "-c", line]);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        assert_eq!(project.tree(), before, "{line} changed the tree");
        // A lone `cargo clean` finds the cache that the builds before it filled.
        assert!(!ran.stderr.contains("Removed 0 files"), "{line}: {ran:?}");
    }
}

#[test]
fn who_may_test_may_clean_what_was_built() {
    const NAME: &str = "who_may_test_may_clean_what_was_built";
    let project = Project::new();
    if has(NAME, "cargo") {
        passes(&project, "cargo test -q --offline");
        passes(&project, "cargo clean --offline && cargo test -q --offline");
        let ran = project.swbox(&["exec", "--state", "testing", "--", "cargo", "clean"]);
        assert!(ran.code == 0 && !ran.stderr.contains("Removed 0 files"), "{ran:?}");
        passes(&project, "cargo test -q --offline");
        // Not by who only edits.
        assert_eq!(project.swbox(&["exec", "--state", "implementing", "--", "cargo", "clean"]).code, 126);
    }
}

#[test]
fn the_shims_of_a_version_manager_work() {
    const NAME: &str = "the_shims_of_a_version_manager_work";
    let project = Project::new();
    let shims = Command::new("sh").args(["-c", "command -v python3"]).output().unwrap();
    if !String::from_utf8_lossy(&shims.stdout).contains("/shims/") {
        println!("SKIP {NAME}: python3 is not a version manager's here");
        return;
    }
    for line in ["python3 --version", "python3 -m pip --version", "pip --version", "python3 -m unittest -q"] {
        let inside = passes(&project, line);
        let bare = project.bare(line);
        assert_eq!((bare.code, bare.stdout), (0, inside.stdout), "{line}");
    }
}
