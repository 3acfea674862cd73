/* @id: surf-chroot
 * @family: kernel-surface
 * @capability: chroot(2) with a faulting path
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("chroot", syscall(SYS_chroot, 8), EFAULT, 0); }
