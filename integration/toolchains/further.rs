//! The toolchains that CI does not have: go, CMake, autotools, Maven, a browser, `npm ci`, cleaning and first builds.
//!
//! They run by name: `cargo test --test toolchains -- --ignored`. Each says SKIP where its program is missing.

use std::fs;
use std::path::Path;

use super::{edit, fails, host, passes};
use crate::project::{Project, has};

/// Replaces the project's files by these; what they are committed as is what the tests must leave.
fn files(project: &Project, files: &[(&str, &str)]) {
    project.git(&["rm", "-r", "-q", "-f", "."]);
    for (name, text) in files {
        let path = project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let _ = fs::remove_dir_all(project.path().join("build"));
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "Another project"]);
}

const GO_TEST: &str = r#"package greeting

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGreet(t *testing.T) {
	if Greet("x") != "Hello, x" {
		t.Fatal(Greet("x"))
	}
}

func TestLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			connection, _ := listener.Accept()
			connection.Write([]byte("hello"))
			connection.Close()
		}()
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 5)
		if _, err := connection.Read(answer); err != nil || string(answer) != "hello" {
			t.Fatal(err, answer)
		}
	}
	if _, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAndChildren(t *testing.T) {
	if err := os.WriteFile("made", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("sh", "-c", "echo $((6 * 7))").Output()
	if err != nil || string(output) != "42\n" {
		t.Fatal(err, output)
	}
}
"#;

#[test]
#[ignore = "needs go: cargo test --test toolchains -- --ignored"]
fn go_test_with_a_module_from_the_cache() {
    if !has("go_test_with_a_module_from_the_cache", "go")
        || !has("go_test_with_a_module_from_the_cache", "zip")
    {
        return;
    }
    let project = Project::new();
    files(
        &project,
        &[
            ("go.mod", "module example.org/greeting\n\ngo 1.19\n\nrequire example.org/words v1.0.0\n"),
            (
                "greeting.go",
                "package greeting\n\nimport \"example.org/words\"\n\nfunc Greet(name string) string { return words.Hello + \", \" + name }\n",
            ),
            ("greeting_test.go", GO_TEST),
        ],
    );
    // A module proxy of files stands in for the network that fetched the module before.
    let proxy = project.outside().join("proxy");
    let versions = proxy.join("example.org/words/@v");
    let sources = project.outside().join("example.org/words@v1.0.0");
    fs::create_dir_all(&versions).unwrap();
    fs::create_dir_all(&sources).unwrap();
    let module = "module example.org/words\n";
    for (path, text) in [
        (versions.join("list"), "v1.0.0\n"),
        (versions.join("v1.0.0.info"), "{\"Version\":\"v1.0.0\"}"),
        (versions.join("v1.0.0.mod"), module),
        (sources.join("go.mod"), module),
        (sources.join("words.go"), "package words\n\nconst Hello = \"Hello\"\n"),
    ] {
        fs::write(path, text).unwrap();
    }
    let zip = format!(
        "cd {} && zip -q -D -r {} example.org",
        project.outside().display(),
        versions.join("v1.0.0.zip").display()
    );
    assert_eq!(project.bare(&zip).code, 0);
    let fetch = format!(
        "GOPROXY=file://{} GOSUMDB=off GOFLAGS='-mod=mod -modcacherw' go mod download all",
        proxy.display()
    );
    let fetched = project.bare(&fetch);
    assert_eq!(fetched.code, 0, "{fetched:?}");

    let first = passes(&project, "go test ./...");
    assert!(first.stdout.contains("ok"), "{first:?}");
    passes(&project, "go vet ./... && go build ./... && go test -count=1 -v ./... | tail -3");
    edit(&project, "sed -i 's/\", \"/\"; \"/' greeting.go");
    fails(&project, "go test ./...");
    edit(&project, "sed -i 's/\"; \"/\", \"/' greeting.go && gofmt -l .");
    passes(&project, "go test ./... > /tmp/log && cat /tmp/log");
    passes(&project, "go mod verify && go list -m all && go list ./...");
    assert_eq!(project.line("planning", "go list -m all && go env GOPATH && go version").code, 0);
}

#[test]
#[ignore = "needs cmake: cargo test --test toolchains -- --ignored"]
fn ctest_of_a_cmake_project() {
    if !has("ctest_of_a_cmake_project", "cmake") || !has("ctest_of_a_cmake_project", "c++") {
        return;
    }
    let project = Project::new();
    files(
        &project,
        &[
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.16)\nproject(greeting C CXX)\nenable_testing()\nadd_library(words STATIC words.c)\n\
                 add_executable(greeting main.cpp)\ntarget_link_libraries(greeting words)\nadd_test(NAME greets COMMAND greeting)\n\
                 set_tests_properties(greets PROPERTIES PASS_REGULAR_EXPRESSION Hello)\n",
            ),
            ("words.c", "const char *hello(void) { return \"Hello\"; }\n"),
            (
                "main.cpp",
                "#include <cstdio>\nextern \"C\" const char *hello(void);\nint main() { std::puts(hello()); }\n",
            ),
        ],
    );
    let all = "cmake -S . -B build && cmake --build build -j2 && ctest --test-dir build --output-on-failure";
    let ran = passes(&project, all);
    assert!(ran.stdout.contains("100% tests passed"), "{ran:?}");
    passes(
        &project,
        "cmake -S . -B /tmp/out && make -C /tmp/out && make -C /tmp/out test && make -C /tmp/out clean",
    );
    edit(&project, "sed -i s/Hello/Bye/ words.c");
    fails(&project, all);
    edit(&project, "sed -i s/Bye/Hello/ words.c");
    passes(&project, all);
}

#[test]
#[ignore = "needs autotools: cargo test --test toolchains -- --ignored"]
fn make_check_of_an_autotools_project() {
    const NAME: &str = "make_check_of_an_autotools_project";
    if !has(NAME, "autoreconf") || !has(NAME, "automake") || !has(NAME, "cc") {
        return;
    }
    let project = Project::new();
    files(
        &project,
        &[
            (
                "configure.ac",
                "AC_INIT([greeting],[1.0])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CHECK_HEADERS([stdlib.h unistd.h])\n\
                 AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
            ),
            (
                "Makefile.am",
                "bin_PROGRAMS = greeting\ngreeting_SOURCES = main.c\nTESTS = check.sh\nEXTRA_DIST = check.sh\n",
            ),
            ("main.c", "#include <stdio.h>\nint main(void) { puts(\"Hello\"); return 0; }\n"),
            ("check.sh", "#!/bin/sh\n./greeting | grep -q Hello\n"),
        ],
    );
    passes(&project, "autoreconf -i && ./configure && make check && make distcheck && make distclean");
    edit(&project, "sed -i s/Hello/Bye/ main.c");
    fails(&project, "autoreconf -i && ./configure && make check");
    edit(&project, "sed -i s/Bye/Hello/ main.c");
    // What was configured and built on the host is there.
    assert_eq!(project.bare("autoreconf -i && ./configure && make").code, 0);
    passes(&project, "make check");
    passes(&project, "make clean && make check && make distclean");
}

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>greeting</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>
  </dependencies>
</project>
"#;

const JAVA_TEST: &str = r#"import static org.junit.Assert.assertEquals;
import org.junit.Test;

public class GreetingTest {
    @Test public void greets() { assertEquals("Hello, x", Greeting.greet("x")); }
    @Test public void loopback() throws Exception {
        try (var server = new java.net.ServerSocket(0, 1, java.net.InetAddress.getByName("127.0.0.1"));
                var client = new java.net.Socket("127.0.0.1", server.getLocalPort())) {
            server.accept().close();
        }
    }
}
"#;

#[test]
#[ignore = "needs Maven and its plugins: cargo test --test toolchains -- --ignored"]
fn maven_offline() {
    const NAME: &str = "maven_offline";
    if !has(NAME, "mvn") || !has(NAME, "javac") {
        return;
    }
    let project = Project::new();
    files(
        &project,
        &[
            ("pom.xml", POM),
            (".gitignore", "target/\n"),
            (
                "src/main/java/Greeting.java",
                "public class Greeting {\n    public static String greet(String name) { return \"Hello, \" + name; }\n}\n",
            ),
            ("src/test/java/GreetingTest.java", JAVA_TEST),
        ],
    );
    // Debian's packages as a repository, by a mirror of the user's settings: those are hidden inside.
    let debian = Path::new("/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin");
    fs::create_dir_all(project.home().join(".m2")).unwrap();
    if debian.is_dir() {
        fs::write(
            project.home().join(".m2/settings.xml"),
            "<settings><mirrors><mirror><id>debian</id><mirrorOf>*</mirrorOf><url>file:///usr/share/maven-repo</url>\
             </mirror></mirrors></settings>\n",
        )
        .unwrap();
    }
    // Java's home is that of the account, whatever HOME says.
    let home = format!("-Duser.home={}", project.home().display());
    let fetched = project
        .command_as("timeout".as_ref(), &["200", "mvn", "-q", "-B", "test"])
        .env("MAVEN_OPTS", &home)
        .output()
        .unwrap();
    if !fetched.status.success() {
        println!(
            "SKIP {NAME}: Maven's plugins cannot be fetched here: {}",
            String::from_utf8_lossy(&fetched.stdout)
        );
        return;
    }
    fs::remove_dir_all(project.path().join("target")).unwrap();
    let target = project.path().join("target");
    let sources = || {
        let tree = project.tree().into_iter();
        tree.filter(|(path, _)| !path.starts_with(&target)).collect::<Vec<_>>()
    };
    let test = || {
        let before = sources();
        let args = ["exec", "--state", "testing", "-c", "mvn -o -q -B test"];
        let ran = crate::project::ran(project.command(&args).env("MAVEN_OPTS", &home).output().unwrap());
        assert_eq!(sources(), before);
        // Of what is built only the profile's outputs are kept.
        let kept = fs::read_dir(&target).into_iter().flatten().flatten().map(|entry| entry.file_name());
        assert!(kept.into_iter().all(|name| name == "surefire-reports"));
        ran
    };
    let first = test();
    assert_eq!(first.code, 0, "{first:?}");
    assert!(target.join("surefire-reports/GreetingTest.txt").exists());
    edit(&project, "sed -i s/Hello/Bye/ src/main/java/Greeting.java");
    let red = test();
    assert_eq!(red.code, 1, "{red:?}");
    edit(&project, "sed -i s/Bye/Hello/ src/main/java/Greeting.java");
    assert_eq!(test().code, 0);
}

const PAGE: &str = r#"
import http.server, subprocess, sys, threading

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<html><body><script>document.write('made ' + 'by script')</script></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://localhost:{server.server_port}/"
common = [sys.argv[1], "--headless", "--disable-gpu"]
shown = subprocess.run(common + ["--dump-dom", address], capture_output=True, text=True, timeout=120)
print(shown.stdout, shown.stderr)
assert shown.returncode == 0 and "made by script" in shown.stdout, shown.returncode
picture = subprocess.run(common + ["--screenshot=/tmp/page.png", address], capture_output=True, text=True, timeout=120)
assert open("/tmp/page.png", "rb").read(4) == b"\x89PNG", picture.stderr
"#;

#[test]
#[ignore = "needs chromium: cargo test --test toolchains -- --ignored"]
fn a_headless_browser_renders_a_page_of_localhost() {
    const NAME: &str = "a_headless_browser_renders_a_page_of_localhost";
    if !has(NAME, "chromium") || !has(NAME, "python3") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("page.py"), PAGE).unwrap();
    let ran = passes(&project, "python3 page.py chromium");
    assert!(ran.stdout.contains("made by script"), "{ran:?}");
}

/// What the work between the tests needs and `bugfix` gives to no state: fetching, and removing.
const INSTALLING: &str = r#"{ "id": "installing", "initial": "testing", "states": {
    "testing": { "allowed_tools": ["Read", "run_test", "WebFetch", "__DESTRUCTIVE__"], "on": { "DONE": "done" } },
    "writing": { "allowed_tools": ["Read", "Write", "Bash", "WebFetch", "__DESTRUCTIVE__"], "on": { "DONE": "done" } },
    "done": { "type": "final" } } }"#;

#[test]
#[ignore = "needs npm: cargo test --test toolchains -- --ignored"]
fn npm_ci_and_what_it_installed() {
    if !has("npm_ci_and_what_it_installed", "npm") {
        return;
    }
    let project = Project::new();
    files(
        &project,
        &[
            (".gitignore", "node_modules/\n"),
            (
                "package.json",
                "{ \"name\": \"greeting\", \"version\": \"0.1.0\", \"private\": true, \"scripts\": { \"test\": \"words && node --test\" },\n\
                 \x20 \"dependencies\": { \"words\": \"file:vendor/words-1.0.0.tgz\" } }\n",
            ),
            (
                "vendor/words/package.json",
                "{ \"name\": \"words\", \"version\": \"1.0.0\", \"bin\": \"words.js\", \"main\": \"words.js\" }\n",
            ),
            ("vendor/words/words.js", "#!/usr/bin/env node\nexports.hello = 'Hello';\n"),
            (
                "greeting.test.js",
                "require('node:test')('hello', () => require('node:assert').strictEqual(require('words').hello, 'Hello'));\n",
            ),
        ],
    );
    let made = project.bare("cd vendor && npm pack --silent ./words && cd .. && npm install --silent --package-lock-only --offline");
    assert_eq!(made.code, 0, "{made:?}");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "Lock"]);

    // The layer takes node_modules, and one line may use it.
    passes(&project, "npm ci --offline && npm test && npm ls");
    let workflow = project.outside().join("installing.json");
    fs::write(&workflow, INSTALLING).unwrap();
    let run = |state: &str, line: &str| {
        let ran =
            project.swbox(&["exec", "--workflow", workflow.to_str().unwrap(), "--state", state, "-c", line]);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    };
    run("testing", "npm ci && npm test");
    assert!(!project.path().join("node_modules").exists());
    run("writing", "npm ci");
    assert!(project.path().join("node_modules/words/words.js").exists());
    passes(&project, "npm test");
    // A second time, over what is there; with nothing there; and by hand.
    run("testing", "npm ci && npm test");
    run("writing", "npm ci && rm -rf node_modules && npm ci && npm test");
    assert!(project.path().join("node_modules/.bin/words").exists());
}

#[test]
#[ignore = "needs cargo and make: cargo test --test toolchains -- --ignored"]
fn first_builds_and_cleaning_in_a_state_that_writes() {
    const NAME: &str = "first_builds_and_cleaning_in_a_state_that_writes";
    let project = Project::new();
    let workflow = project.outside().join("installing.json");
    fs::write(&workflow, INSTALLING).unwrap();
    let run = |line: &str| {
        let ran = project.swbox(&[
            "exec",
            "--workflow",
            workflow.to_str().unwrap(),
            "--state",
            "writing",
            "-c",
            line,
        ]);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        ran
    };
    if has(NAME, "cargo") {
        assert!(run("cargo build --offline 2>&1").stdout.contains("Compiling"));
        assert!(!run("cargo clean --offline 2>&1").stdout.contains("Removed 0 files"));
        assert!(run("cargo test --offline 2>&1").stdout.contains("Compiling"));
        run(
            "cargo new --lib --vcs none sub && cd sub && cargo test --offline && cargo clean && cd .. && rm -r sub",
        );
    }
    if has(NAME, "make") && has(NAME, "cc") {
        run("rm -rf build && make check && test -x build/greeting && make -B check");
        assert!(project.path().join("build/greeting").exists(), "a state that writes keeps what it builds");
    }
    assert!(host(&project, "git", &["diff", "--quiet"]));
}
