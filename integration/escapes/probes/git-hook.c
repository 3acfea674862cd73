/* @id: git-hook
 * @family: git-protected
 * @capability: create a hook
 * @forbids: W/.git changed
 * @policy: git-ro
 * @verify: G
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("W", ".git/hooks/post-checkout"), O_CREAT | O_WRONLY, 0755); if (fd < 0) denied("open"); mark(fd, "hook"); escaped("created"); }
