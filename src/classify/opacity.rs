//! Why a command is opaque: one code a cause, with the clause a person reads.
//!
//! Danger: opacity is the answer to every doubt. A cause that is missing here tempts a row to claim sight instead.

/// Causes of opacity. The code is stable; the clause is completed with the program's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// An interpreter runs code from its arguments or from a file (`python -c`, `node app.js`).
    Interpreter,
    /// Code arrives on standard input (`curl … | sh`, `python <<EOF`).
    StdinCode,
    /// A shell script file is run or sourced.
    ScriptFile,
    /// A build tool runs what its own files say (`make`, `cargo build`, `go generate`).
    BuildTool,
    /// A test runner runs the project's code.
    TestRunner,
    /// A package manager runs scripts of packages or of the project (`npm test`, `npx x`).
    PackageScript,
    /// A container image decides what runs.
    ContainerImage,
    /// An option or operand names a program or code to run (`rg --pre`, `tar --to-command`, `ssh -o ProxyCommand`).
    ExecOption,
    /// An editor or pager with commands of its own.
    Editor,
    /// A configuration file or remote description decides what runs (`terraform apply`, `ansible-playbook`).
    Configuration,
    /// Code is stored to be run later (`crontab FILE`, `at`).
    Scheduled,
    /// No row knows this program.
    UnknownProgram,
    /// The program has a row, the subcommand does not.
    UnknownSubcommand,
    /// The row does not list this option.
    UnknownOption,
    /// The program's name is only known at run time.
    DynamicVerb,
    /// Text that will be run is only known at run time (`eval "$x"`, `bash -c "$1"`).
    DynamicCode,
    /// Quoted data that bash evaluates as code (`test -v 'a[$(…)]'`, `trap`).
    DataAsCode,
    /// A variable that turns harmless programs into launchers (`PATH`, `LD_PRELOAD`, `GIT_PAGER`).
    Environment,
    /// Wrappers are nested deeper than the limit, or the inner text cannot be read.
    Unreadable,
}

impl Cause {
    /// All of them, in order.
    pub(super) const ALL: [Self; 19] = [
        Self::Interpreter,
        Self::StdinCode,
        Self::ScriptFile,
        Self::BuildTool,
        Self::TestRunner,
        Self::PackageScript,
        Self::ContainerImage,
        Self::ExecOption,
        Self::Editor,
        Self::Configuration,
        Self::Scheduled,
        Self::UnknownProgram,
        Self::UnknownSubcommand,
        Self::UnknownOption,
        Self::DynamicVerb,
        Self::DynamicCode,
        Self::DataAsCode,
        Self::Environment,
        Self::Unreadable,
    ];
}

impl Cause {
    /// The stable snake-case code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Interpreter => "interpreter",
            Self::StdinCode => "stdin_code",
            Self::ScriptFile => "script_file",
            Self::BuildTool => "build_tool",
            Self::TestRunner => "test_runner",
            Self::PackageScript => "package_script",
            Self::ContainerImage => "container_image",
            Self::ExecOption => "exec_option",
            Self::Editor => "editor",
            Self::Configuration => "configuration",
            Self::Scheduled => "scheduled",
            Self::UnknownProgram => "unknown_program",
            Self::UnknownSubcommand => "unknown_subcommand",
            Self::UnknownOption => "unknown_option",
            Self::DynamicVerb => "dynamic_verb",
            Self::DynamicCode => "dynamic_code",
            Self::DataAsCode => "data_as_code",
            Self::Environment => "environment",
            Self::Unreadable => "unreadable",
        }
    }

    /// One plain clause about `program`.
    pub fn clause(self, program: &str) -> String {
        let rest = match self {
            Self::Interpreter => "runs code that the text cannot show",
            Self::StdinCode => "runs code from its standard input",
            Self::ScriptFile => "runs a script file",
            Self::BuildTool => "runs what the project's build files say",
            Self::TestRunner => "runs the project's tests",
            Self::PackageScript => "runs scripts of packages",
            Self::ContainerImage => "runs what a container image says",
            Self::ExecOption => "is given a program or code to run",
            Self::Editor => "takes commands of its own",
            Self::Configuration => "runs what its configuration says",
            Self::Scheduled => "stores code that runs later",
            Self::UnknownProgram => "is a program that swbox does not know",
            Self::UnknownSubcommand => "has a subcommand that swbox does not know",
            Self::UnknownOption => "has an option that swbox does not know",
            Self::DynamicVerb => return "the program's name is only known at run time".to_owned(),
            Self::DynamicCode => "runs text that is only known at run time",
            Self::DataAsCode => "evaluates data as code",
            Self::Environment => "runs under a variable that can change what runs",
            Self::Unreadable => "holds commands that could not be read",
        };
        if program.is_empty() { format!("the line {rest}") } else { format!("`{program}` {rest}") }
    }
}
