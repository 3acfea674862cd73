//! Names of tools: what a workflow file writes, what a harness calls, and the one capability both mean.
//!
//! Danger: an alias too many lets a tool through under another's name. Names that are not here mean themselves only,
//! and the tools of foreign MCP servers never stand for one of these, whatever they are called.

/// Position in [`TOOLS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId(u8);

/// What kind of thing a tool does; decides what satisfies a call of it and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Reads files.
    Read,
    /// Searches content.
    Search,
    /// Lists or finds names.
    List,
    /// Creates, overwrites or changes files.
    Write,
    /// Deletes named files.
    Delete,
    /// The sentinel for irreversible acts.
    Destructive,
    /// Runs commands.
    Execute,
    /// Reads a repository.
    GitRead,
    /// Changes a repository: refs and index.
    GitIndex,
    /// Changes a repository and files of the worktree.
    GitTree,
    /// Changes a repository and talks to a remote.
    GitRemote,
    /// Talks to a network.
    Network,
    /// Acts on the world outside in its own way.
    External,
    /// Bookkeeping of the harness: needs nothing.
    Session,
}

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The snake-case name.
    pub name: &'static str,
    /// What it does.
    pub family: Family,
    /// Other names, lower case without separators.
    pub aliases: &'static [&'static str],
}

const fn tool(name: &'static str, family: Family, aliases: &'static [&'static str]) -> Tool {
    Tool { name, family, aliases }
}

/// Every tool that swbox knows.
pub const TOOLS: &[Tool] = &[
    tool(
        "read_file",
        Family::Read,
        &["read", "readfiles", "readmanyfiles", "view", "viewfile", "viewimage", "notebookread", "lsp"],
    ),
    tool("grep", Family::Search, &["grepsearch", "searchfilecontent", "searchcode", "searchcontent", "rg"]),
    tool("glob", Family::List, &["find", "findfiles", "filesearch", "globfiles"]),
    tool("search_files", Family::List, &[]),
    tool("list_directory", Family::List, &["ls", "list", "listdir", "listfiles"]),
    tool("write_file", Family::Write, &["write", "createfile", "create", "writetofile", "savefile"]),
    tool(
        "edit_file",
        Family::Write,
        &[
            "edit",
            "multiedit",
            "notebookedit",
            "applypatch",
            "patch",
            "replace",
            "replaceinfile",
            "strreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "searchreplace",
        ],
    ),
    tool("delete_file", Family::Delete, &["delete", "removefile"]),
    tool("__DESTRUCTIVE__", Family::Destructive, &[]),
    tool("__GIT_WRITE__", Family::GitTree, &[]),
    tool(
        "run_command",
        Family::Execute,
        &[
            "bash",
            "shell",
            "sh",
            "exec",
            "execcommand",
            "executecommand",
            "localshell",
            "monitor",
            "powershell",
            "runshellcommand",
            "runterminalcmd",
            "terminal",
            "writestdin",
        ],
    ),
    tool("run_test", Family::Execute, &["runtests"]),
    tool("run_build", Family::Execute, &["build"]),
    tool("git_status", Family::GitRead, &[]),
    tool("git_log", Family::GitRead, &[]),
    tool("git_diff", Family::GitRead, &[]),
    tool("git_show", Family::GitRead, &[]),
    tool("git_blame", Family::GitRead, &[]),
    tool("git_add", Family::GitIndex, &[]),
    tool("git_commit", Family::GitIndex, &[]),
    tool("git_branch", Family::GitIndex, &[]),
    tool("git_tag", Family::GitIndex, &[]),
    tool("git_config", Family::GitIndex, &[]),
    tool("git_remote", Family::GitIndex, &[]),
    tool("git_init", Family::GitIndex, &[]),
    tool("git_checkout", Family::GitTree, &[]),
    tool("git_switch", Family::GitTree, &[]),
    tool("git_restore", Family::GitTree, &[]),
    tool("git_reset", Family::GitTree, &[]),
    tool("git_stash", Family::GitTree, &[]),
    tool("git_merge", Family::GitTree, &[]),
    tool("git_rebase", Family::GitTree, &[]),
    tool("git_cherry_pick", Family::GitTree, &[]),
    tool("git_revert", Family::GitTree, &[]),
    tool("git_apply", Family::GitTree, &[]),
    tool("git_rm", Family::GitTree, &[]),
    tool("git_mv", Family::GitTree, &[]),
    tool("git_clean", Family::GitTree, &[]),
    tool("git_worktree", Family::GitTree, &[]),
    tool("git_submodule", Family::GitTree, &[]),
    tool("git_push", Family::GitRemote, &[]),
    tool("git_fetch", Family::GitRemote, &[]),
    tool("git_pull", Family::GitRemote, &[]),
    tool("git_clone", Family::GitRemote, &[]),
    tool("web_fetch", Family::Network, &["fetch", "fetchurl", "urlfetch"]),
    tool("web_search", Family::Network, &["googlewebsearch", "searchweb"]),
    tool("http_request", Family::Network, &["httpget"]),
    tool("deploy", Family::External, &[]),
    tool("database_query", Family::External, &["dbquery"]),
    tool("database_mutate", Family::External, &["dbmutate"]),
    tool(
        "session",
        Family::Session,
        &[
            "agent",
            "askuserquestion",
            "bashoutput",
            "closeagent",
            "enterplanmode",
            "exitplanmode",
            "killbash",
            "killshell",
            "listagents",
            "listmcpresources",
            "listmcpresourcetemplates",
            "listmcpresourcestool",
            "question",
            "requestuserinput",
            "resumeagent",
            "sendinput",
            "skill",
            "slashcommand",
            "spawnagent",
            "subagent",
            "task",
            "taskcreate",
            "taskget",
            "tasklist",
            "taskoutput",
            "taskstop",
            "taskupdate",
            "todoread",
            "todowrite",
            "toolsearch",
            "updateplan",
            "updatetodos",
            "waitagent",
        ],
    ),
];

/// The agent's own commands of swbox over MCP: allowed everywhere, a final state included.
const OWN: [&str; 8] = ["state", "getstate", "transition", "jobs", "output", "kill", "session", "help"];

/// Longest name that is looked up; a longer one is unknown.
const LONGEST: usize = 32;

const _: () = assert!(TOOLS.len() <= 64, "a ToolSet is one word");

/// Slots of the name table: a power of two, so sparse that a look-up ends after one or two slots.
const SLOTS: usize = 512;

/// Every name by its hash, with open addressing, filled while compiling. A name that two tools share does not compile.
const TABLE: [(&str, u8); SLOTS] = {
    let mut table = [("", 0); SLOTS];
    let mut at = 0;
    while at < TOOLS.len() {
        let mut alias = 0;
        while alias <= TOOLS[at].aliases.len() {
            let name = if alias == 0 { TOOLS[at].name } else { TOOLS[at].aliases[alias - 1] };
            assert!(!name.is_empty() && name.len() <= LONGEST);
            let mut slot = hash(name.as_bytes()) as usize % SLOTS;
            while !table[slot].0.is_empty() {
                assert!(!same(table[slot].0.as_bytes(), name.as_bytes()), "one name for two tools");
                slot = (slot + 1) % SLOTS;
            }
            table[slot] = (name, ToolId::at(at).0);
            alias += 1;
        }
        at += 1;
    }
    table
};

/// FNV-1a over what counts of a name.
const fn hash(name: &[u8]) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < name.len() {
        if !is_separator(name[at]) {
            hash = (hash ^ name[at].to_ascii_lowercase() as u32).wrapping_mul(0x0100_0193);
        }
        at += 1;
    }
    hash ^ hash >> 15
}

/// Whether two names are one but for separators and case.
const fn same(left: &[u8], right: &[u8]) -> bool {
    let (mut i, mut j) = (0, 0);
    loop {
        while i < left.len() && is_separator(left[i]) {
            i += 1;
        }
        while j < right.len() && is_separator(right[j]) {
            j += 1;
        }
        match (i < left.len(), j < right.len()) {
            (false, false) => return true,
            (true, true) if left[i].eq_ignore_ascii_case(&right[j]) => {}
            _ => return false,
        }
        i += 1;
        j += 1;
    }
}

const fn is_separator(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b' ')
}

/// What a tool's name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A tool of the table.
    Known(ToolId),
    /// One of the agent's own commands of swbox.
    Own,
    /// Only itself.
    Unknown,
}

/// Looks a name up: harness spelling, snake case, alias, or one of swbox's own MCP tools.
pub fn meaning(name: &str) -> Meaning {
    if let Some((server, base)) = qualified(name) {
        if !matches!(server, "swbox" | "plugin_swbox_swbox") {
            return Meaning::Unknown;
        }
        let own = OWN.iter().any(|own| same(own.as_bytes(), base.as_bytes()));
        return if own { Meaning::Own } else { known(base).map_or(Meaning::Unknown, Meaning::Known) };
    }
    known(name).map_or(Meaning::Unknown, Meaning::Known)
}

fn known(name: &str) -> Option<ToolId> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let mut slot = hash(name.as_bytes()) as usize % SLOTS;
    let id = loop {
        let (known, id) = TABLE[slot];
        if known.is_empty() {
            return None;
        }
        if same(known.as_bytes(), name.as_bytes()) {
            break ToolId(id);
        }
        slot = (slot + 1) % SLOTS;
    };
    // A sentinel is spelt as it is, but for case: a tool called `destructive` is not the sentinel.
    let sentinel = id.tool().name.starts_with("__");
    (!sentinel || name.eq_ignore_ascii_case(id.tool().name)).then_some(id)
}

/// Server and tool of an MCP-qualified name (`mcp__server__tool`, Cursor's `MCP:tool`).
pub fn qualified(name: &str) -> Option<(&str, &str)> {
    if let Some(rest) = name.strip_prefix("mcp__") {
        return Some(rest.split_once("__").unwrap_or((rest, "")));
    }
    name.strip_prefix("MCP:").map(|base| ("", base))
}

impl ToolId {
    /// The tool at this position of [`TOOLS`]; a position beyond it is a panic, at compile time where it is a constant.
    pub(crate) const fn at(position: usize) -> Self {
        assert!(position < TOOLS.len());
        #[allow(clippy::cast_possible_truncation, reason = "less than 64")]
        Self(position as u8)
    }

    /// Its position in [`TOOLS`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its row.
    pub const fn tool(self) -> &'static Tool {
        &TOOLS[self.0 as usize]
    }

    /// The tool with this snake-case name.
    pub fn named(name: &str) -> Option<Self> {
        known(name)
    }

    /// The level of privilege: read 0, write 1, execute 2, git-mutate 3, external 4.
    pub const fn level(self) -> u8 {
        self.tool().family.level()
    }
}

impl Family {
    /// The level of privilege: read 0, write 1, execute 2, git-mutate 3, external 4.
    pub const fn level(self) -> u8 {
        match self {
            Self::Read | Self::Search | Self::List | Self::GitRead | Self::Session => 0,
            Self::Write | Self::Delete | Self::Destructive => 1,
            Self::Execute => 2,
            Self::GitIndex | Self::GitTree | Self::GitRemote => 3,
            Self::Network | Self::External => 4,
        }
    }
}

/// A set of known tools in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ToolSet(u64);

impl ToolSet {
    /// No tool.
    pub const EMPTY: Self = Self(0);

    /// All tools of the given families.
    pub const fn of(families: &[Family]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < TOOLS.len() {
            let mut family = 0;
            while family < families.len() {
                if families[family] as u8 == TOOLS[at].family as u8 {
                    bits |= 1 << at;
                }
                family += 1;
            }
            at += 1;
        }
        Self(bits)
    }

    /// The one tool.
    pub const fn one(tool: ToolId) -> Self {
        Self(1 << tool.0)
    }

    /// The tools with these snake-case names; unknown names are left out.
    pub fn named(names: &[&str]) -> Self {
        names.iter().filter_map(|name| known(name)).fold(Self::EMPTY, |set, id| set.union(Self::one(id)))
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the tools of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether some tool is in both.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether `tool` is in it.
    pub const fn contains(self, tool: ToolId) -> bool {
        self.0 & (1 << tool.0) != 0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its tools in table order.
    pub fn iter(self) -> impl Iterator<Item = ToolId> {
        (0..64).filter(move |bit| self.0 & (1 << bit) != 0).map(ToolId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(name: &str) -> Option<&'static str> {
        match meaning(name) {
            Meaning::Known(id) => Some(id.tool().name),
            Meaning::Own => Some("own"),
            Meaning::Unknown => None,
        }
    }

    #[test]
    fn every_name_is_found() {
        for (at, tool) in TOOLS.iter().enumerate() {
            for name in [tool.name].iter().chain(tool.aliases) {
                assert_eq!(known(name), Some(ToolId::at(at)), "{name}");
            }
        }
    }

    #[test]
    fn spellings_meet() {
        for (spelling, name) in [
            ("Write", "write_file"),
            ("write_file", "write_file"),
            ("WRITE-FILE", "write_file"),
            ("WriteFile", "write_file"),
            ("create_file", "write_file"),
            ("MultiEdit", "edit_file"),
            ("NotebookEdit", "edit_file"),
            ("apply_patch", "edit_file"),
            ("LS", "list_directory"),
            ("exec_command", "run_command"),
            ("local_shell", "run_command"),
            ("Bash", "run_command"),
            ("Shell", "run_command"),
            ("Monitor", "run_command"),
            ("run_tests", "run_test"),
            ("WebFetch", "web_fetch"),
            ("webfetch", "web_fetch"),
            ("TodoWrite", "session"),
            ("update_plan", "session"),
            ("Agent", "session"),
            ("__destructive__", "__DESTRUCTIVE__"),
            ("mcp__swbox__bash", "run_command"),
            ("mcp__swbox__transition", "own"),
            ("mcp__plugin_swbox_swbox__state", "own"),
        ] {
            assert_eq!(name_of(spelling), Some(name), "{spelling}");
        }
        for stranger in [
            "destructive",
            "git_write",
            "GitWrite",
            "mcp__evil__read_file",
            "mcp__evilswbox__bash",
            "MCP:read_file",
            "transition",
            "",
            "_",
            "reed",
            "a_name_that_is_longer_than_any_name_in_the_table",
        ] {
            assert_eq!(name_of(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn levels_are_those_of_the_format() {
        for (name, level) in [
            ("read_file", 0),
            ("search_files", 0),
            ("list_directory", 0),
            ("grep", 0),
            ("git_status", 0),
            ("git_log", 0),
            ("git_diff", 0),
            ("write_file", 1),
            ("edit_file", 1),
            ("create_file", 1),
            ("delete_file", 1),
            ("run_command", 2),
            ("run_test", 2),
            ("run_build", 2),
            ("git_add", 3),
            ("git_commit", 3),
            ("git_push", 3),
            ("git_checkout", 3),
            ("git_branch", 3),
            ("http_request", 4),
            ("deploy", 4),
            ("database_query", 4),
            ("database_mutate", 4),
        ] {
            assert_eq!(ToolId::named(name).unwrap().level(), level, "{name}");
        }
    }
}
