/* @id: surf-clone3-newuser
 * @family: kernel-surface
 * @capability: clone3 with CLONE_NEWUSER
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("clone3-newuser", ({ uint64_t a[11] = { CLONE_NEWUSER, [4] = SIGCHLD }; long r = syscall(435, a, sizeof a); if (r == 0) _exit(0); r; }), 0); }
