//! The place of a trial: a workspace with a git directory, a visible tree, a hidden one, sockets, a lock. Made anew for
//! each act, removed with the value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::io::FdFlags;

use crate::diagnostic::Diagnostic;
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::profile::{Aliases, Bind, Limits, SandboxSpec};

/// A variable of the caller that must not come in.
pub(super) const VARIABLE: &str = "SWBOX_DOCTOR_SECRET";

/// The place and what lives in it.
#[derive(Debug)]
pub(super) struct Scene {
    root: PathBuf,
    own_program: PathBuf,
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
    _sockets: Vec<UnixListener>,
    inheritable: File,
}

impl Scene {
    /// Makes it below the directory for temporary files.
    pub(super) fn new() -> Result<Self, Diagnostic> {
        let root = std::env::temp_dir().join(format!("swbox-doctor-{}", std::process::id()));
        Self::make(&root).map_err(|error| {
            Diagnostic::new("doctor_scene", format!("a place for the trials could not be made: {error}"))
                .file(root)
                .help("set TMPDIR to a directory that can be written to")
        })
    }

    fn make(root: &Path) -> std::io::Result<Self> {
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::DirBuilder::new().mode(0o700).create(root)?;
        for directory in ["workspace/.git/hooks", "workspace/deep", "visible", "hidden"] {
            fs::create_dir_all(root.join(directory))?;
        }
        for file in [
            "workspace/file",
            "workspace/.git/config",
            "workspace/.git/HEAD",
            "visible/file",
            "visible/secret",
            "hidden/file",
        ] {
            fs::write(root.join(file), "original\n")?;
        }
        let inheritable = File::open(root.join("hidden/file"))?;
        rustix::io::fcntl_setfd(&inheritable, FdFlags::empty())?;
        let mut sockets = Vec::new();
        for socket in ["hidden/socket", "workspace/deep/socket"] {
            sockets.push(UnixListener::bind(root.join(socket))?);
        }
        use std::os::linux::net::SocketAddrExt;
        let name = std::os::unix::net::SocketAddr::from_abstract_name(abstract_name())?;
        sockets.push(UnixListener::bind_addr(&name)?);
        Ok(Self {
            root: root.to_owned(),
            own_program: std::env::current_exe()?,
            tcp: TcpListener::bind("127.0.0.1:0").ok(),
            udp: UdpSocket::bind("127.0.0.1:0").ok(),
            _sockets: sockets,
            inheritable,
        })
    }

    /// A path below it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// swbox's own program, which performs the acts.
    pub(super) fn program(&self) -> &Path {
        &self.own_program
    }

    /// The word `text` of an act with its placeholders filled in.
    pub(super) fn word(&self, text: &str) -> OsString {
        use std::os::fd::AsRawFd;
        let address = |address: Option<std::net::SocketAddr>| {
            address.map_or_else(|| "127.0.0.1:9".to_owned(), |address| address.to_string())
        };
        match text {
            "{tcp}" => address(self.tcp.as_ref().and_then(|server| server.local_addr().ok())).into(),
            "{udp}" => address(self.udp.as_ref().and_then(|server| server.local_addr().ok())).into(),
            "{pid}" => std::process::id().to_string().into(),
            "{own}" => std::env::args().next().unwrap_or_default().into(),
            "{abstract}" => abstract_name().into(),
            "{variable}" => VARIABLE.into(),
            "{descriptor}" => self.inheritable.as_raw_fd().to_string().into(),
            _ => match text.strip_prefix("/") {
                Some(below) => self.path(below).into(),
                None => text.into(),
            },
        }
    }

    /// A spec of the least that an act needs: its program, the visible tree, the workspace.
    pub(super) fn spec(
        root: &Path,
        own_program: &Path,
        workspace: WorkspaceRight,
        network: NetworkRight,
    ) -> SandboxSpec {
        let bind = |path: &Path, exec| Bind { path: path.to_owned(), writable: false, exec, optional: true };
        SandboxSpec {
            workspace: root.join("workspace"),
            cwd: root.join("workspace"),
            rights: Rights { workspace, git_write: false, network, narrowed: Vec::new() },
            binds: vec![
                bind(Path::new("/usr"), true),
                bind(Path::new("/lib"), true),
                bind(Path::new("/lib64"), true),
                bind(own_program, true),
                bind(&root.join("visible"), false),
            ],
            home: root.join("home"),
            secrets: vec![root.join("visible/secret")],
            protected: Vec::new(),
            files: Vec::new(),
            script: None,
            env: BTreeMap::new(),
            limits: Limits { timeout: Some(std::time::Duration::from_secs(20)), ..Limits::default() },
            outputs: Vec::new(),
            repositories: None,
            aliases: Aliases::default(),
            protections: super::protection::ALL
                .into_iter()
                .map(|protection| (protection, crate::profile::Requirement::Degradable))
                .collect(),
        }
    }

    /// The spec for this place.
    pub(super) fn own_spec(&self, workspace: WorkspaceRight, network: NetworkRight) -> SandboxSpec {
        Self::spec(&self.root, &self.own_program, workspace, network)
    }

    /// Where it is.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What cannot be removed is replaced by the next run.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn abstract_name() -> String {
    format!("swbox-doctor-{}", std::process::id())
}
