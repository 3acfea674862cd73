/* @id: git-commondir
 * @family: git-protected
 * @capability: create a commondir file in .git
 * @forbids: W/.git changed
 * @policy: git-ro
 * @verify: G
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("W", ".git/commondir"), O_CREAT | O_WRONLY, 0644); if (fd < 0) denied("open"); mark(fd, "commondir"); escaped("created"); }
