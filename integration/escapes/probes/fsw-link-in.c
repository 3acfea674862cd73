/* @id: fsw-link-in
 * @family: fs-write
 * @capability: link(2) of O/file into the workspace, written through the new name
 * @forbids: O/file content changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *l = path2("W", "alias"); if (link(path2("O", "file"), l)) denied("link"); int fd = open(l, O_WRONLY); if (fd < 0) denied("open alias"); mark(fd, "link-in"); escaped("wrote through a hard link"); }
