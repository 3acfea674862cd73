/* @id: surf-unshare-user
 * @family: kernel-surface
 * @capability: unshare(CLONE_NEWUSER)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("unshare-user", syscall(SYS_unshare, CLONE_NEWUSER), 0); }
