//! Disks, file systems, volumes and snapshots. Making or wiping one is Destructive.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileSearch, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "mkfs",
        "mkfs.ext2",
        "mkfs.ext3",
        "mkfs.ext4",
        "mkfs.xfs",
        "mkfs.btrfs",
        "mkfs.vfat",
        "mkfs.fat",
        "mkfs.msdos",
        "mkfs.ntfs",
        "mkfs.exfat",
        "mkfs.f2fs",
        "mke2fs",
        "mkdosfs",
        "mkntfs",
        "mkswap",
        "newfs",
        "zerofree",
        "badblocks",
        "cfdisk",
        "sgdisk",
        "gdisk",
        "parted",
        "gparted",
        "fdisk",
        "sfdisk",
        "partprobe",
        "hdparm",
        "nvme",
        "diskutil",
        "growpart",
    ])
    .classes(&[Destructive])
    .bare(&[])
    .lenient()
    .options(&[
        opt("l", "list").drops(&[Destructive]),
        opt("", "print").drops(&[Destructive]),
        opt("d", "dump").drops(&[Destructive]),
    ])
    .hatch(partitions),
    command(&["mount", "mount.fuse", "fusermount", "fusermount3", "losetup", "kpartx"])
        .classes(&[FileModify])
        .bare(&[FileRead])
        .lenient()
        .options(&[
            opt("l", "").drops(&[FileModify]),
            opt("o", "").value(),
            opt("t", "").value(),
            opt("", "list").drops(&[FileModify]),
        ]),
    command(&["umount", "eject"]).lenient(),
    command(&[
        "fsck",
        "fsck.ext4",
        "e2fsck",
        "xfs_repair",
        "btrfsck",
        "fsck.vfat",
        "fsck.fat",
        "ntfsfix",
        "tune2fs",
        "e2label",
        "resize2fs",
        "xfs_growfs",
        "xfs_admin",
        "fatlabel",
        "fstrim",
        "quotacheck",
        "setquota",
        "edquota",
        "quotaon",
        "quotaoff",
    ])
    .classes(&[FileModify])
    .lenient()
    .options(&[opt("n", "").drops(&[FileModify]), opt("l", "").drops(&[FileModify])]),
    command(&[
        "dumpe2fs",
        "xfs_info",
        "quota",
        "repquota",
        "smartctl",
        "lvs",
        "vgs",
        "pvs",
        "lvdisplay",
        "vgdisplay",
        "pvdisplay",
        "lvscan",
        "vgscan",
        "pvscan",
        "multipath",
        "lsscsi",
        "blockdev",
        "filefrag",
        "fio",
        "sysbench",
    ])
    .lenient()
    .options(&[opt("w", "").value()]),
    command(&["lvremove", "vgremove", "pvremove", "lvreduce", "vgreduce"]).classes(&[Destructive]).lenient(),
    command(&[
        "lvcreate",
        "vgcreate",
        "pvcreate",
        "lvextend",
        "vgextend",
        "lvresize",
        "pvresize",
        "lvchange",
        "vgchange",
        "lvrename",
        "vgrename",
        "lvconvert",
        "pvmove",
        "vgexport",
        "vgimport",
    ])
    .classes(&[FileModify])
    .lenient(),
    command(&[
        "lvm",
        "dmsetup",
        "mdadm",
        "cryptsetup",
        "zfs",
        "zpool",
        "btrfs",
        "ceph",
        "rbd",
        "rados",
        "drbdadm",
        "snapper",
        "tmutil",
        "iscsiadm",
        "nbd-client",
        "qemu-nbd",
        "guestfish",
        "virt-customize",
        "guestmount",
    ])
    .lenient()
    .hatch(volumes),
    command(&["ddrescue", "testdisk", "photorec", "foremost"]).classes(&[FileWrite]).lenient(),
];

/// `fdisk -l`, `parted … print`, `nvme list`: looks.
fn partitions<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let looks = call.operands.iter().any(|word| {
        matches!(
            word.text(),
            Some(
                "print" | "list" | "info" | "unit" | "apfs" | "smart-log" | "id-ctrl" | "activity" | "id-ns"
            )
        )
    });
    let removes = call.operands.iter().any(|word| {
        matches!(
            word.text(),
            Some(
                "rm" | "mklabel"
                    | "mkpart"
                    | "eraseDisk"
                    | "eraseVolume"
                    | "format"
                    | "sanitize"
                    | "secureErase"
            )
        )
    });
    let reads = call.words.iter().any(|arg| {
        matches!(
            arg.value.literal(),
            Some("-I" | "-i" | "-p" | "-g" | "-tT" | "-t" | "-T" | "-C" | "--print" | "--verify" | "-v")
        )
    });
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let can_read = matches!(name, "hdparm" | "sgdisk" | "sfdisk" | "fdisk" | "gdisk" | "parted");
    if !removes
        && (looks
            || (reads && can_read)
            || (name == "badblocks"
                && !call.words.iter().any(|arg| arg.value.known_prefix().starts_with("-w"))))
    {
        findings.drops(crate::classify::OpSet::of(&[Destructive]));
        findings.add(FileSearch, call.name.span());
    }
}

/// Volume managers: the verb says it.
fn volumes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let has = |flag: &str| call.words.iter().any(|arg| arg.value.literal() == Some(flag));
    let verbs = || call.operands.iter().take(3).filter_map(|word| word.text());
    let is_dry = has("-n") && matches!(name, "zfs");
    let destroys = |verb: &str| {
        matches!(
            verb,
            "destroy"
                | "delete"
                | "remove"
                | "rm"
                | "rollback"
                | "labelclear"
                | "luksFormat"
                | "luksErase"
                | "erase"
                | "wipe_table"
                | "luksKillSlot"
                | "luksRemoveKey"
                | "lvremove"
                | "vgremove"
                | "pvremove"
                | "format"
                | "purge"
                | "reencrypt"
                | "zap"
                | "offline"
        )
    };
    let reads = |verb: &str| {
        matches!(
            verb,
            "list"
                | "get"
                | "status"
                | "show"
                | "info"
                | "history"
                | "iostat"
                | "usage"
                | "df"
                | "table"
                | "ls"
                | "luksDump"
                | "isLuks"
                | "diff"
                | "version"
                | "lvs"
                | "vgs"
                | "pvs"
                | "events"
                | "deps"
                | "health"
                | "detail"
                | "du"
                | "filesystem"
                | "holds"
                | "dump"
                | "listbackups"
                | "latestbackup"
        )
    };
    if verbs().any(destroys) && !is_dry || has("--zero-superblock") || has("--remove") {
        findings.add(Destructive, span);
    } else if verbs().any(reads) || has("--detail") || has("--examine") || call.operands.is_empty() {
        findings.add(FileSearch, span);
    } else {
        findings.add(FileModify, span);
    }
    if name == "zfs" && verbs().any(|verb| verb == "send") {
        findings.add(FileRead, span);
    }
    if matches!(name, "guestfish" | "virt-customize" | "targetcli" | "drbdadm" | "zfs-auto-snapshot")
        || verbs().any(|verb| verb == "program")
    {
        findings.opaque(Cause::ScriptFile, span);
    }
    if name == "dmsetup" && call.words.iter().any(|arg| arg.value.known_prefix().starts_with("--exec")) {
        findings.opaque(Cause::ExecOption, span);
    }
}
