/* @id: fsw-x32-openat
 * @family: fs-write
 * @capability: openat by its x32 number
 * @forbids: O/file content changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = syscall(0x40000000 | 257, AT_FDCWD, path2("O", "file"), O_WRONLY, 0); if (fd < 0) denied("x32 openat"); mark(fd, "x32"); escaped("wrote through x32"); }
