/* @id: fsw-futimens-rofd
 * @family: fs-write
 * @capability: futimens(2) on a read-only descriptor
 * @forbids: O/file times changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("O", "file"), O_RDONLY); if (fd < 0) denied("open"); struct timespec t[2] = { { 1, 0 }, { 1, 0 } }; if (futimens(fd, t)) denied("futimens"); escaped("times changed"); }
