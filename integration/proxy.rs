//! The host list end to end: real clients in the jail, real servers on the host's loopback, names by a hosts file or a name
//! server in namespaces of the tests' own. Each refusal has its twin that works.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

#[path = "../src/proxy/tests/origin.rs"]
mod origin;
mod project;

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use origin::{Origin, Says, name_server_at};
use project::{Project, Ran, has, ran};
use serde_json::Value;

/// Names that lead to the host's loopback, beside those of the host.
const NAMES: &str = "127.0.0.1 origin.test other.test\n";

/// A project with a workflow whose one state reaches these hosts.
fn project(hosts: &[String]) -> Project {
    let project = Project::new();
    let workflow = serde_json::json!({
        "id": "net", "initial": "working",
        "states": {
            "working": {
                "allowed_tools": ["Read", "Write", "Edit", "Bash", "WebFetch", "__GIT_WRITE__", "__DESTRUCTIVE__"],
                "jail": { "network": hosts },
                "on": { "DONE": "done" }
            },
            "done": { "type": "final" },
            "failed": { "type": "final" }
        }
    });
    fs::write(workflow_of(&project), workflow.to_string()).unwrap();
    fs::write(hosts_of(&project), fs::read_to_string("/etc/hosts").unwrap_or_default() + "\n" + NAMES)
        .unwrap();
    project
}

fn workflow_of(project: &Project) -> PathBuf {
    project.outside().join("net.json")
}

fn hosts_of(project: &Project) -> PathBuf {
    project.outside().join("hosts")
}

/// The listed name with its port, and the address that it may lead to.
fn listed(origin: &Origin) -> Vec<String> {
    vec![format!("origin.test:{}", origin.port()), format!("127.0.0.1:{}", origin.port())]
}

/// `swbox exec`, where the names are known: in a mount namespace of its own with another `/etc/hosts`.
fn swbox(project: &Project, json: bool, line: &str) -> Command {
    let mut args: Vec<OsString> = vec!["--mount".into()];
    if !rustix::process::geteuid().is_root() {
        args.push("--map-root-user".into());
    }
    let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    args.extend(["--", "sh", "-c", script, "sh"].map(OsString::from));
    args.push(hosts_of(project).into());
    args.push(env!("CARGO_BIN_EXE_swbox").into());
    args.extend(["exec", "--state", "working", "--workflow"].map(OsString::from));
    args.push(workflow_of(project).into());
    args.extend(json.then(|| "--json".into()));
    args.extend(["-c", line].map(OsString::from));
    project.command_as(Path::new("unshare"), &args)
}

fn run(project: &Project, line: &str) -> Ran {
    ran(swbox(project, false, line).output().unwrap())
}

fn run_json(project: &Project, line: &str) -> Value {
    let ran = ran(swbox(project, true, line).output().unwrap());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {ran:?}"))
}

fn stdout_of(answer: &Value) -> &str {
    answer["output"]["stdout"]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Whether this host lets the test have its own names.
fn can(test: &str) -> bool {
    let possible = Command::new("unshare")
        .args(["--mount", "--map-root-user", "--", "mount", "--bind", "/etc/hosts", "/etc/hosts"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !possible {
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "userns"), "user and mount namespaces are required");
        println!("SKIP {test}: no user and mount namespaces here");
    }
    possible
}

#[test]
fn a_listed_name_is_reached_and_another_is_refused_and_named() {
    if !can("a_listed_name") || !has("a_listed_name", "curl") {
        return;
    }
    let origin = Origin::start();
    let project = project(&listed(&origin));
    let port = origin.port();
    let line = format!(
        "curl -sS http://origin.test:{port}/ && ! curl -sSf http://other.test:{port}/ && ! curl -sS https://refused.test/; \
         curl -s http://refused.test/; exit 7"
    );
    let answer = run_json(&project, &line);
    assert_eq!(answer["exit"]["code"], 7, "{answer}");
    let stdout = stdout_of(&answer);
    assert!(stdout.starts_with(&format!("reached 127.0.0.1:{port}")), "{answer}");
    assert!(
        stdout.contains("in state \"working\"") && stdout.contains("add hosts = [\"refused.test\"]"),
        "{answer}"
    );
    let refused: Vec<(&str, u64, u64)> = answer["refused_hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| {
            (host["host"].as_str().unwrap(), host["port"].as_u64().unwrap(), host["count"].as_u64().unwrap())
        })
        .collect();
    let expected = [("other.test", u64::from(port), 1), ("refused.test", 443, 1), ("refused.test", 80, 1)];
    assert_eq!(refused, expected, "{answer}");
    assert_eq!(origin.seen().len(), 1);

    let told = run(
        &project,
        "curl -s -o /dev/null https://refused.test/; curl -s -o /dev/null https://refused.test/",
    );
    assert!(
        told.stderr.contains("refused.test") && told.stderr.contains("hosts = [\"refused.test\"]"),
        "{told:?}"
    );
}

#[test]
fn a_listed_name_that_leads_inside_is_refused() {
    if !can("leads_inside") || !has("leads_inside", "curl") {
        return;
    }
    let origin = Origin::start();
    let line = format!("curl -sS http://origin.test:{}/", origin.port());
    let alone = run_json(&project(&listed(&origin)[..1]), &line);
    assert_eq!(alone["refused_hosts"][0]["reason"], "resolves_inside", "{alone}");
    assert_eq!(origin.seen().len(), 0);
    let with_address = run(&project(&listed(&origin)), &line);
    assert!(with_address.stdout.starts_with("reached"), "{with_address:?}");
}

#[test]
fn nothing_else_leads_out() {
    if !can("nothing_else") || !has("nothing_else", "python3") {
        return;
    }
    let origin = Origin::start();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    udp.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (tcp_port, udp_port) = (origin.port(), udp.local_addr().unwrap().port());
    let script = format!(
        r#"
import errno, socket
def tried(name, act):
    try:
        act(); print(name, "worked")
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, "failed"))
tried("tcp", lambda: socket.create_connection(("127.0.0.1", {tcp_port}), 2))
tried("udp", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp_port})))
tried("route", lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 53)))
tried("route6", lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 53)))
tried("dns", lambda: socket.getaddrinfo("nowhere.test", 80))
server = socket.create_server(("127.0.0.1", 0))
tried("own", lambda: socket.create_connection(server.getsockname(), 2))
"#
    );
    let project = project(&listed(&origin));
    fs::write(project.path().join("try.py"), &script).unwrap();
    let inside = run(&project, "python3 try.py");
    // A datagram into the own loopback is sent, and arrives nowhere.
    let expected = [
        "tcp ECONNREFUSED",
        "udp worked",
        "route ENETUNREACH",
        "route6 ENETUNREACH",
        "dns failed",
        "own worked",
    ];
    let said: Vec<&str> = inside.stdout.lines().collect();
    assert_eq!(said.len(), expected.len(), "{inside:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said == &expected || said.starts_with("dns") && !said.ends_with("worked"), "{inside:?}");
    }
    assert!(udp.recv(&mut [0; 8]).is_err(), "a datagram came out");
    assert_eq!(origin.seen().len(), 0);
    // The twin: the same script on the host.
    let bare = project.bare("python3 try.py");
    assert!(bare.stdout.contains("tcp worked"), "{bare:?}");
    assert!(udp.recv(&mut [0; 8]).is_ok());
}

/// A directory served over HTTP.
fn serve(directory: PathBuf) -> Origin {
    Origin::answering((Ipv4Addr::LOCALHOST, 0).into(), move |stream, request| {
        let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
        let mut file = directory.join(path.trim_start_matches('/'));
        if file.is_dir() {
            file.push("index.html");
        }
        let (status, body) = match fs::read(&file) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        };
        let kind = if file.extension().is_some_and(|extension| extension == "html") {
            "text/html"
        } else {
            "application/octet-stream"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        // A client that has seen enough goes away.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    })
}

#[test]
fn git_clones_over_http() {
    if !can("git_clones") {
        return;
    }
    let source = Project::new();
    let bare = source.outside().join("served/r.git");
    source.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    source.git(&["--git-dir", bare.to_str().unwrap(), "update-server-info"]);
    let origin = serve(source.outside().join("served"));
    let project = project(&listed(&origin));
    let port = origin.port();
    let cloned =
        run(&project, &format!("git clone -q http://origin.test:{port}/r.git copy && cat copy/CHANGES"));
    assert_eq!((cloned.code, cloned.stdout.as_str()), (0, "change 3\n"), "{cloned:?}");
    let refused = run(&project, &format!("git clone -q http://other.test:{port}/r.git copy2"));
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("other.test"), "{refused:?}");
}

#[test]
fn python_follows_the_variables() {
    if !can("python_follows") || !has("python_follows", "python3") {
        return;
    }
    let origin = Origin::start();
    let project = project(&listed(&origin));
    let port = origin.port();
    let urllib = run(
        &project,
        &format!(
            "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://origin.test:{port}/\").read().decode())'"
        ),
    );
    assert!(urllib.stdout.starts_with("reached"), "{urllib:?}");
    let refused =
        run(&project, "python3 -c 'import urllib.request as u; u.urlopen(\"https://refused.test/\")'");
    assert!(refused.stderr.contains("403"), "{refused:?}");
    if project.bare("python3 -c 'import requests'").code != 0 {
        println!("SKIP python_follows: no requests here");
        return;
    }
    let line =
        format!("python3 -c 'import requests; print(requests.get(\"http://origin.test:{port}/\").text)'");
    let requests = run(&project, &line);
    assert!(requests.stdout.starts_with("reached"), "{requests:?}");
}

#[test]
fn pip_installs_from_a_listed_index() {
    if !can("pip_installs") || !has("pip_installs", "python3") {
        return;
    }
    let served = Project::new();
    let index = served.outside().join("simple/tinypkg");
    fs::create_dir_all(&index).unwrap();
    let wheel = "tinypkg-1.0-py3-none-any.whl";
    let make = format!(
        "import zipfile\nwith zipfile.ZipFile({:?}, 'w') as z:\n  z.writestr('tinypkg.py', 'X = 1\\n')\n  \
         z.writestr('tinypkg-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tinypkg\\nVersion: 1.0\\n')\n  \
         z.writestr('tinypkg-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n  \
         z.writestr('tinypkg-1.0.dist-info/RECORD', '')\n",
        index.join(wheel)
    );
    fs::write(served.outside().join("make.py"), make).unwrap();
    let made = served.bare("python3 ../outside/make.py && python3 -m pip --version");
    if made.code != 0 {
        println!("SKIP pip_installs: no pip here");
        return;
    }
    fs::write(index.join("index.html"), format!("<a href=\"{wheel}\">{wheel}</a>")).unwrap();
    let origin = serve(served.outside());
    let project = project(&listed(&origin));
    // The interpreter itself: a version manager's shim would want to write down what was installed.
    let python = project.bare("python3 -c 'import sys; print(sys.executable)'").stdout.trim().to_owned();
    let install = |host: &str| {
        format!(
            "PIP_CONFIG_FILE=/dev/null {python} -m pip install -q --disable-pip-version-check --retries 0 --no-cache-dir --target site \
             --index-url http://{host}:{}/simple --trusted-host {host} tinypkg && PYTHONPATH=site python3 -c 'import tinypkg; print(tinypkg.X)'",
            origin.port()
        )
    };
    let installed = run(&project, &install("origin.test"));
    assert!(installed.code == 0 && installed.stdout.ends_with("1\n"), "{installed:?}");
    let refused = run(&project, &install("other.test"));
    assert!(refused.code != 0 && refused.stderr.contains("hosts = ["), "{refused:?}");
}

#[test]
fn node_follows_the_variables_where_it_can() {
    if !can("node_follows") || !has("node_follows", "node") {
        return;
    }
    let origin = Origin::start();
    let project = project(&listed(&origin));
    let version = project.bare("node -p 'const [a, b] = process.versions.node.split(\".\").map(Number); a > 24 || (a == 24 && b >= 5) || (a == 22 && b >= 21)'");
    if version.stdout.trim() != "true" {
        println!("SKIP node_follows: this Node.js knows no NODE_USE_ENV_PROXY");
        return;
    }
    let line = format!(
        "node -e 'fetch(\"http://origin.test:{}/\").then(r => r.text()).then(t => console.log(t))'",
        origin.port()
    );
    let fetched = run(&project, &line);
    assert!(fetched.stdout.starts_with("reached"), "{fetched:?}");
}

/// A server that greets as sshd does sees the client's own greeting: the ProxyCommand carries both ways.
#[test]
fn gits_ssh_goes_through_the_proxy() {
    if !can("gits_ssh") || !has("gits_ssh", "ssh") {
        return;
    }
    let origin = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = origin.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in origin.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(b"SSH-2.0-test\r\n").unwrap();
            let mut greeting = [0; 8];
            stream.read_exact(&mut greeting).unwrap();
            tell.send(greeting).unwrap();
        }
    });
    let project = project(&[format!("origin.test:{port}"), format!("127.0.0.1:{port}")]);
    run(&project, &format!("git ls-remote ssh://x@origin.test:{port}/r.git"));
    assert_eq!(told.recv_timeout(Duration::from_secs(5)).unwrap(), *b"SSH-2.0-");
    let refused = run(&project, &format!("git ls-remote ssh://x@other.test:{port}/r.git"));
    assert!(refused.stderr.contains("host \"other.test\" port"), "{refused:?}");
    assert!(told.recv_timeout(Duration::from_millis(200)).is_err());
}

/// The proxy of a running swbox: its child that is not the jail.
fn proxy_of(swbox: &Child) -> Option<u32> {
    // `unshare` executes `sh`, which executes swbox: one process.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", swbox.id())).ok()?;
    let named = |pid: &&str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "swbox-proxy\n")
    };
    children.split_whitespace().find(named).and_then(|pid| pid.parse().ok())
}

fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        match look() {
            None if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
            found => return found,
        }
    }
}

#[test]
fn the_proxy_is_confined_and_dies_with_swbox() {
    // A transparent `sleep` would be narrowed to no network at all.
    if !can("the_proxy_is_confined") || !has("the_proxy_is_confined", "python3") {
        return;
    }
    let project = project(&["registry.example.org".into()]);
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM] {
        let mut child = swbox(&project, false, "exec python3 -c 'import time; time.sleep(60)'")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let proxy = within(Duration::from_secs(5), || proxy_of(&child)).unwrap();
        let status = within(Duration::from_secs(5), || {
            let status = fs::read_to_string(format!("/proc/{proxy}/status")).unwrap();
            status.contains("Seccomp:\t2").then_some(status)
        });
        let status = status.unwrap();
        for line in [
            "NoNewPrivs:\t1",
            "CapEff:\t0000000000000000",
            "CapPrm:\t0000000000000000",
            "SigBlk:\t0000000000000000",
            "Threads:\t1",
        ] {
            assert!(status.contains(line), "{line} in {status}");
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait().unwrap();
        let gone =
            within(Duration::from_secs(5), || (!Path::new(&format!("/proc/{proxy}")).exists()).then_some(()));
        assert!(gone.is_some(), "the proxy outlives swbox after {signal:?}");
    }
}

#[test]
fn a_dead_proxy_is_a_refused_connection_and_is_said() {
    if !can("a_dead_proxy") || !has("a_dead_proxy", "curl") {
        return;
    }
    let origin = Origin::start();
    let project = project(&listed(&origin));
    let line = format!(
        "until test -e go; do sleep 0.05; done; curl -s -m 5 http://origin.test:{}/; echo \"curl: $?\"",
        origin.port()
    );
    let child = swbox(&project, true, &line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let proxy = within(Duration::from_secs(5), || proxy_of(&child)).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(proxy).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    fs::write(project.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Refused at once, not left waiting: 7 is "could not connect".
    assert_eq!(stdout_of(&answer), "curl: 7\n", "{answer}");
    let degraded = answer["jail"]["degraded"].to_string();
    assert!(degraded.contains("the proxy ended early"), "{answer}");
}

/// Names by a name server: this test again, in a network namespace where it is the one server of port 53.
#[test]
fn names_by_a_name_server_that_rebinds() {
    const AGAIN: &str = "SWBOX_TEST_OWN_NETWORK";
    let name = "names_by_a_name_server_that_rebinds";
    if std::env::var_os(AGAIN).is_some() {
        return with_own_name_server();
    }
    if !can(name) || !has(name, "curl") {
        return;
    }
    let again = Command::new("unshare")
        .args(["--map-root-user", "--mount", "--net", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(AGAIN, "1")
        .output()
        .unwrap();
    assert!(
        again.status.success(),
        "{}{}",
        String::from_utf8_lossy(&again.stdout),
        String::from_utf8_lossy(&again.stderr)
    );
}

fn with_own_name_server() {
    swbox::sys::net::loopback_up().unwrap();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let (good, secret) = Origin::pair([127, 0, 0, 2], [127, 0, 0, 1]);
    let port = good.port();
    let seen = std::sync::atomic::AtomicUsize::new(0);
    name_server_at("127.0.0.53:53".parse().unwrap(), move |name, _| match name {
        "a.test" => Says::Addresses(vec![ip("127.0.0.2")]),
        "alias.test" => Says::Alias("a.test", vec![ip("127.0.0.2")]),
        "long.test" => Says::TooLong(vec![ip("127.0.0.2")]),
        "broken.test" => Says::Failure,
        "silent.test" => Says::Nothing,
        // The admitted address for the first question, the host's own for those that follow.
        "rebind.test" if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 => {
            Says::Addresses(vec![ip("127.0.0.2")])
        }
        "rebind.test" => Says::Addresses(vec![ip("127.0.0.1")]),
        _ => Says::NoSuchName,
    });
    let project = project(&[format!("*.test:{port}"), format!("127.0.0.2:{port}")]);
    let conf = project.outside().join("resolv.conf");
    fs::write(&conf, "nameserver 127.0.0.53\n").unwrap();
    let status = Command::new("mount").arg("--bind").arg(&conf).arg("/etc/resolv.conf").status().unwrap();
    assert!(status.success());
    let get =
        |name: &str| format!("curl -s -m 5 -w ' %{{http_code}}\\n' http://{name}.test:{port}/ | tail -n 1");
    let names = ["a", "alias", "long", "broken", "nowhere", "rebind", "rebind", "rebind"];
    let asked: Vec<String> = names.iter().map(|name| get(name)).collect();
    let answer = run_json(&project, &asked.join("; "));
    let codes: Vec<&str> = stdout_of(&answer).lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(codes, ["200", "200", "200", "502", "502", "200", "403", "403"], "{answer}");
    assert_eq!((good.seen().len(), secret.seen().len()), (4, 0));
    assert_eq!(answer["refused_hosts"][0]["reason"], "resolves_inside", "{answer}");
    assert_eq!(answer["refused_hosts"][0]["count"], 2, "{answer}");
    // A name server that says nothing holds nobody else up.
    let together =
        run_json(&project, &format!("curl -s -m 3 http://silent.test:{port}/ & {}; wait", get("a")));
    assert!(stdout_of(&together).ends_with("200\n"), "{together}");
}
