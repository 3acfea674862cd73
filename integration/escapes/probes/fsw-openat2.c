/* @id: fsw-openat2
 * @family: fs-write
 * @capability: openat2(2), whose flags are in memory
 * @forbids: O/file content changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { uint64_t h[3] = { O_WRONLY, 0, 0 }; int fd = syscall(437, AT_FDCWD, path2("O", "file"), h, sizeof h); if (fd < 0) denied("openat2"); mark(fd, "openat2"); escaped("wrote through openat2"); }
