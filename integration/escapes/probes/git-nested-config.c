/* @id: git-nested-config
 * @family: git-protected
 * @capability: write the config of a nested repository
 * @forbids: W/nested/.git/config changed
 * @policy: git-ro
 * @verify: nested
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("W", "nested/.git/config"), O_WRONLY | O_APPEND); if (fd < 0) denied("open"); mark(fd, "nested"); escaped("written"); }
