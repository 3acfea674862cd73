/* @id: ws-fallocate
 * @family: ws-write
 * @capability: fallocate in the workspace
 * @forbids: W content changed
 * @policy: ws-ro
 * @verify: W
 * @expect: A=contained B=allowed C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("W", "README"), O_WRONLY); if (fd < 0) denied("open"); if (posix_fallocate(fd, 0, 9999)) denied("fallocate"); escaped("grown"); }
