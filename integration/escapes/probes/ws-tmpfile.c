/* @id: ws-tmpfile
 * @family: ws-write
 * @capability: O_TMPFILE and linkat inside the workspace
 * @forbids: W content changed
 * @policy: ws-ro
 * @verify: W
 * @expect: A=contained B=allowed C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(env("W"), O_TMPFILE | O_WRONLY, 0644); if (fd < 0) denied("O_TMPFILE"); char q[64]; sprintf(q, "/proc/self/fd/%d", fd); if (linkat(AT_FDCWD, q, AT_FDCWD, path2("W", "t"), AT_SYMLINK_FOLLOW)) denied("linkat"); escaped("linked"); }
