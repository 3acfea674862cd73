/* @id: surf-unshare-time
 * @family: kernel-surface
 * @capability: unshare(CLONE_NEWTIME | CLONE_NEWUSER)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("unshare-time", syscall(SYS_unshare, 0x80 | CLONE_NEWUSER), 0); }
