//! Compilers and build tools. A build tool runs what the project's files say: opaque; a compiler does not.

use crate::classify::findings::Findings;
use crate::classify::hatch::build;
use crate::classify::op::OpClass::{FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    // `-n` does not help: `$(shell …)` runs all the same.
    command(&["make", "gmake", "bmake", "remake", "nmake", "mingw32-make"])
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("C", "directory").chdir(), opt("fj", "").value(), opt("v", "").info()]),
    command(&["ninja", "samu", "ninja-build", "n2"])
        .opaque(Cause::BuildTool)
        .lenient()
        .values("fjkldwt")
        .options(&[opt("C", "").chdir(), opt("h", "").info()]),
    command(&[
        "just",
        "task",
        "go-task",
        "mage",
        "rake",
        "doit",
        "invoke",
        "inv",
        "scons",
        "waf",
        "tup",
        "redo",
        "grunt",
        "gulp",
        "jake",
        "earthly",
        "dagger",
        "tilt",
        "skaffold",
        "buck",
        "buck2",
        "pants",
        "please",
        "plz",
        "bazel",
        "bazelisk",
        "blaze",
        "xmake",
        "premake5",
        "gn",
        "mach",
        "cargo-make",
        "makers",
        "nx",
        "pre-commit",
        "lefthook",
        "husky",
        "act",
        "ansible-lint",
        "circleci",
        "gitlab-runner",
    ])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[opt("h", "").info()])
    .hatch(remote_targets),
    command(&["cmake"]).lenient().hatch(build::cmake),
    command(&[
        "ccmake",
        "cmake-gui",
        "cpack",
        "qmake",
        "qmake6",
        "meson",
        "autoreconf",
        "autoconf",
        "automake",
        "autoheader",
        "aclocal",
        "autogen",
        "autoupdate",
        "autoscan",
        "libtool",
        "libtoolize",
        "glibtoolize",
        "node-gyp",
        "dpkg-buildpackage",
        "debuild",
        "rpmbuild",
        "makepkg",
        "fpm",
        "checkinstall",
        "snapcraft",
        "flatpak-builder",
        "electron-builder",
        "electron-packager",
        "sbuild",
        "pbuilder",
        "mock",
        "bitbake",
    ])
    .classes(&[FileWrite])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[opt("h", "").info()]),
    // Compilers read sources and write objects. A plugin, wrapper or specs file is code.
    command(&[
        "gcc",
        "g++",
        "cc",
        "c++",
        "c99",
        "c89",
        "clang",
        "clang++",
        "tcc",
        "icc",
        "icx",
        "gfortran",
        "g77",
        "f95",
        "flang",
        "gnat",
        "gdc",
        "ldc2",
        "dmd",
        "nvcc",
        "hipcc",
        "cpp",
        "clang-cpp",
        "gcc-9",
        "gcc-10",
        "gcc-11",
        "gcc-12",
        "gcc-13",
        "gcc-14",
        "g++-11",
        "g++-12",
        "g++-13",
        "g++-14",
        "clang-14",
        "clang-15",
        "clang-16",
        "clang-17",
        "clang-18",
        "x86_64-linux-gnu-gcc",
        "aarch64-linux-gnu-gcc",
        "arm-linux-gnueabihf-gcc",
        "arm-none-eabi-gcc",
        "riscv64-linux-gnu-gcc",
        "x86_64-w64-mingw32-gcc",
        "musl-gcc",
        "emcc",
        "em++",
    ])
    .closed()
    .raw()
    .hatch(build::compiler),
    command(&["ccache", "sccache", "distcc", "icecc"])
        .classes(&[FileWrite])
        .wrapper()
        .lenient()
        .operands(Role::Command),
    command(&[
        "ld",
        "ld.bfd",
        "ld.gold",
        "ld.lld",
        "lld",
        "mold",
        "gold",
        "as",
        "nasm",
        "yasm",
        "fasm",
        "objcopy",
        "llvm-objcopy",
        "dwp",
        "dsymutil",
        "llc",
        "llvm-link",
        "llvm-as",
        "llvm-dis",
        "windres",
        "wat2wasm",
        "wasm2wat",
        "wasm-opt",
        "wasm-ld",
        "glslc",
        "glslangValidator",
        "spirv-opt",
        "protoc",
        "flatc",
        "thrift",
        "capnp",
        "swig",
        "bison",
        "yacc",
        "flex",
        "lex",
        "ragel",
        "re2c",
        "gperf",
        "m4",
        "rpcgen",
        "cython",
        "cythonize",
        "valac",
        "vala",
        "ghc",
        "ocamlc",
        "ocamlopt",
        "ocamlfind",
        "fpc",
        "nim",
        "zig",
        "swiftc",
        "rustc",
        "gccgo",
        "javac",
        "kotlinc",
        "scalac",
        "mcs",
        "csc",
        "iverilog",
        "verilator",
        "ghdl",
        "yosys",
        "avr-gcc",
        "solc",
        "coqc",
        "lean",
        "elm",
        "purs",
        "cbindgen",
        "bindgen",
    ])
    .classes(&[FileWrite])
    .lenient()
    .switches("v")
    .options(&[
        opt("V", "version").info(),
        opt("o", "").value(),
        opt("", "plugin").value().opaque(Cause::ExecOption).except(&["protoc-gen-*"]),
        opt("", "load-pass-plugin").value().opaque(Cause::ExecOption),
        opt("", "processor").value().opaque(Cause::ExecOption),
    ])
    .hatch(build::generator),
    command(&[
        "nm",
        "objdump",
        "readelf",
        "size",
        "addr2line",
        "c++filt",
        "otool",
        "llvm-nm",
        "llvm-objdump",
        "llvm-readelf",
        "eu-readelf",
    ])
    .closed()
    .stdin_filter()
    .lenient()
    // A plugin is a library that is loaded.
    .options(&[opt("", "plugin").value().opaque(Cause::ExecOption)])
    .operands(Role::Read),
    command(&["dwarfdump"])
        .closed()
        .lenient()
        .options(&[opt("O", "file-output").value().adds(&[FileWrite])])
        .operands(Role::Read),
    command(&["pahole"])
        .closed()
        .lenient()
        .options(&[
            opt("J", "btf_encode").adds(&[FileModify]),
            opt("", "btf_encode_detached").role(Role::Write),
        ])
        .operands(Role::Read),
    // `-J` hands an option to the Java machine, which may load code.
    command(&["javap", "jdeps"])
        .closed()
        .lenient()
        .single()
        .options(&[
            opt("", "dot-output").role(Role::Write),
            opt("", "dotoutput").role(Role::Write),
            opt("", "generate-module-info").role(Role::Write),
            opt("", "generate-open-module").role(Role::Write),
            opt("", "cp").value(),
            opt("", "classpath").value(),
            opt("", "class-path").value(),
        ])
        .operands(Role::Read)
        .hatch(java_machine),
    // The loader may run the program's own interpreter.
    command(&["ldd", "lddtree", "pldd"]).lenient().operands(Role::Read),
    command(&[
        "strip",
        "llvm-strip",
        "patchelf",
        "chrpath",
        "install_name_tool",
        "codesign",
        "upx",
        "eu-strip",
    ])
    .classes(&[FileModify])
    .lenient()
    .options(&[
        opt("o", "").role(Role::Write),
        opt("", "plugin").value().opaque(Cause::ExecOption),
        opt("", "print-rpath").drops(&[FileModify]),
        opt("", "print-needed").drops(&[FileModify]),
    ])
    .operands(Role::Modify),
    command(&["ldconfig"])
        .classes(&[FileWrite])
        .lenient()
        .options(&[opt("p", "print-cache").drops(&[FileWrite]).adds(&[FileRead])]),
    command(&[
        "pkg-config",
        "pkgconf",
        "llvm-config",
        "python3-config",
        "python-config",
        "sdl2-config",
        "xml2-config",
        "pcre-config",
        "pg_config",
        "mysql_config",
        "curl-config",
    ])
    .pure()
    .lenient()
    .options(&[opt("", "log-file").role(Role::Write)]),
];

/// Targets whose name says that they deploy or publish are still only opaque; `bazel fetch` and `dagger` reach out.
fn remote_targets<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(
        (name, call.operand(0)),
        ("bazel" | "bazelisk", Some("fetch" | "sync")) | ("pre-commit", Some("autoupdate" | "install-hooks"))
    ) {
        findings.add(Network, call.name.span());
    }
}

/// `javap -J-javaagent:x.jar` loads code.
fn java_machine<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(arg) = call.words.iter().find(|arg| arg.value.known_prefix().starts_with("-J")) {
        findings.opaque(Cause::ExecOption, arg.span);
    }
}
