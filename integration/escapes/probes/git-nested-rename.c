/* @id: git-nested-rename
 * @family: git-protected
 * @capability: rename a nested repository's directory and rebuild it
 * @forbids: W/nested/.git/config changed
 * @policy: git-ro
 * @verify: nested
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (rename(path2("W", "nested"), path2("W", "nested2"))) denied("rename"); mkdir(path2("W", "nested"), 0755); mkdir(path2("W", "nested/.git"), 0755); int fd = open(path2("W", "nested/.git/config"), O_CREAT | O_WRONLY, 0644); if (fd < 0) denied("open"); mark(fd, "nested"); escaped("rebuilt"); }
