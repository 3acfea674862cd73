/* @id: surf-clone-newuser
 * @family: kernel-surface
 * @capability: clone with CLONE_NEWUSER
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("clone-newuser", ({ long r = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); if (r == 0) _exit(0); r; }), 0); }
