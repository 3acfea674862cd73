//! Files by other names than their path, and what of a file Landlock does not cover: mode, owner, times, attributes.

use super::super::rule::Answer::{Allow, Perm};
use super::super::rule::{Case, Condition, Entry, When::Always, When::MetadataClosed, When::MetadataOpen};
use super::{NONE, allow, any, is, judged, masked, refuse, row};

/// `S_ISUID | S_ISGID`.
const SET_ID: u32 = 0o6000;
/// `S_IFMT` and the two kinds of device.
const FORMAT: u32 = 0o170_000;
const CHARACTER: u32 = 0o020_000;
const BLOCK: u32 = 0o060_000;
/// `O_CREAT | __O_TMPFILE`: only then the mode register means something.
const CREATES: u32 = 0o100 | 0o20_000_000;

/// Of `mknod`, whose mode is in register 1.
const NODE: &[Case] = &[
    refuse(&[masked(1, FORMAT, CHARACTER)]),
    refuse(&[masked(1, FORMAT, BLOCK)]),
    refuse(&[any(1, SET_ID)]),
];
/// Of `mknodat`, whose mode is in register 2.
const NODE_AT: &[Case] = &[
    refuse(&[masked(2, FORMAT, CHARACTER)]),
    refuse(&[masked(2, FORMAT, BLOCK)]),
    refuse(&[any(2, SET_ID)]),
];

pub(super) const ROWS: &[Entry] = &[
    row("open_by_handle_at", (304, 265), Always, Perm, "opens an inode by number, past every directory"),
    row("name_to_handle_at", (303, 264), Always, Perm, "gives the numbers that open_by_handle_at takes"),
    judged("mknod", (133, NONE), Always, NODE, Allow, "device nodes reach the hardware past the files"),
    judged("mknodat", (259, 33), Always, NODE_AT, Allow, "device nodes reach the hardware past the files"),
    judged("open", (2, NONE), Always, &[refuse(&[any(1, CREATES), any(2, SET_ID)])], Allow, SET_ID_FILES),
    judged("openat", (257, 56), Always, &[refuse(&[any(2, CREATES), any(3, SET_ID)])], Allow, SET_ID_FILES),
    judged("creat", (85, NONE), Always, &[refuse(&[any(1, SET_ID)])], Allow, SET_ID_FILES),
    judged("chmod", (90, NONE), MetadataOpen, &[refuse(&[any(1, SET_ID)])], Allow, SET_ID_FILES),
    judged("fchmod", (91, 52), MetadataOpen, &[refuse(&[any(1, SET_ID)])], Allow, SET_ID_FILES),
    judged("fchmodat", (268, 53), MetadataOpen, &[refuse(&[any(2, SET_ID)])], Allow, SET_ID_FILES),
    judged("fchmodat2", (452, 452), MetadataOpen, &[refuse(&[any(2, SET_ID)])], Allow, SET_ID_FILES),
    row("file_setattr", (469, 469), Always, Perm, "inode flags by path: the newest form of the ioctls"),
    judged(
        "ioctl",
        (16, 29),
        Always,
        IOCTLS,
        Allow,
        "terminal injection, inode flags and file system operations, on a read-only descriptor",
    ),
    row("chmod", (90, NONE), MetadataClosed, Perm, METADATA),
    row("fchmod", (91, 52), MetadataClosed, Perm, METADATA),
    row("fchmodat", (268, 53), MetadataClosed, Perm, METADATA),
    row("fchmodat2", (452, 452), MetadataClosed, Perm, METADATA),
    row("chown", (92, NONE), MetadataClosed, Perm, METADATA),
    row("fchown", (93, 55), MetadataClosed, Perm, METADATA),
    row("lchown", (94, NONE), MetadataClosed, Perm, METADATA),
    row("fchownat", (260, 54), MetadataClosed, Perm, METADATA),
    row("utime", (132, NONE), MetadataClosed, Perm, METADATA),
    row("utimes", (235, NONE), MetadataClosed, Perm, METADATA),
    row("futimesat", (261, NONE), MetadataClosed, Perm, METADATA),
    row("utimensat", (280, 88), MetadataClosed, Perm, METADATA),
    row("setxattr", (188, 5), MetadataClosed, Perm, METADATA),
    row("lsetxattr", (189, 6), MetadataClosed, Perm, METADATA),
    row("fsetxattr", (190, 7), MetadataClosed, Perm, METADATA),
    row("setxattrat", (463, 463), MetadataClosed, Perm, METADATA),
    row("removexattr", (197, 14), MetadataClosed, Perm, METADATA),
    row("lremovexattr", (198, 15), MetadataClosed, Perm, METADATA),
    row("fremovexattr", (199, 16), MetadataClosed, Perm, METADATA),
    row("removexattrat", (466, 466), MetadataClosed, Perm, METADATA),
];

const SET_ID_FILES: &str =
    "a set-id program left in the workspace runs with our identity for whoever starts it later";
const METADATA: &str =
    "Landlock does not cover mode, owner, times and attributes; no read-only mount holds them here";

const REQUEST: u8 = 1;

const fn request(number: u32) -> Condition {
    is(REQUEST, number)
}

/// The group byte of a request (`_IOC_TYPE`).
const GROUP: u32 = 0xFF00;
/// btrfs, whose group the generic clone and dedupe requests share.
const BTRFS: u32 = 0x9400;

const IOCTLS: &[Case] = &[
    refuse(&[request(0x5412)]),               // TIOCSTI: types into the terminal
    refuse(&[request(0x541C)]),               // TIOCLINUX: pastes into a virtual console
    refuse(&[request(0x541D)]),               // TIOCCONS: takes the console's output
    refuse(&[request(0x5423)]),               // TIOCSETD: loads a line discipline
    refuse(&[request(0x4008_6602)]),          // FS_IOC_SETFLAGS
    refuse(&[request(0x401C_5820)]),          // FS_IOC_FSSETXATTR
    refuse(&[request(0x4008_7602)]),          // FS_IOC_SETVERSION
    refuse(&[request(0x4008_6604)]),          // EXT4_IOC_SETVERSION
    refuse(&[request(0x4004_7211)]),          // FAT_IOCTL_SET_ATTRIBUTES
    refuse(&[request(0x4080_6685)]),          // FS_IOC_ENABLE_VERITY: makes a file unchangeable for ever
    refuse(&[request(0x800C_6613)]),          // FS_IOC_SET_ENCRYPTION_POLICY
    refuse(&[request(0xC050_6617)]),          // FS_IOC_ADD_ENCRYPTION_KEY
    refuse(&[request(0xC004_5877)]),          // FIFREEZE
    refuse(&[request(0xC004_5878)]),          // FITHAW
    refuse(&[request(0xC018_5879)]),          // FITRIM
    allow(&[request(0x4004_9409)]),           // FICLONE: needs a writable descriptor
    allow(&[request(0x4020_940D)]),           // FICLONERANGE: the same
    allow(&[request(0xC018_9436)]),           // FIDEDUPERANGE: the same
    refuse(&[masked(REQUEST, GROUP, BTRFS)]), // subvolumes and snapshots are made and deleted by a directory descriptor
];
