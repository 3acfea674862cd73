/* @id: fsw-verity-rofd
 * @family: fs-write
 * @capability: ioctl(FS_IOC_ENABLE_VERITY) on a read-only descriptor
 * @forbids: O/file made immutable
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 * @flags: nocontrol
 */
#include "probe.h"
int main(void) { int fd = open(path2("O", "file"), O_RDONLY); if (fd < 0) denied("open"); struct { uint32_t v, h, b, s; uint64_t sp; uint32_t gs, r; uint64_t gp, rr[11]; } a = { 1, 1, 4096 }; if (ioctl(fd, 0x40806685, &a)) denied("ENABLE_VERITY"); escaped("verity enabled"); }
