/* @id: git-config-worktree
 * @family: git-protected
 * @capability: create config.worktree and objects/info/alternates
 * @forbids: W/.git changed
 * @policy: git-ro
 * @verify: G
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { mkdir(path2("W", ".git/objects/info"), 0755); int fd = open(path2("W", ".git/config.worktree"), O_CREAT | O_WRONLY, 0644); if (fd < 0) fd = open(path2("W", ".git/objects/info/alternates"), O_CREAT | O_WRONLY, 0644); if (fd < 0) denied("open"); escaped("created"); }
