/* @id: surf-mount
 * @family: kernel-surface
 * @capability: mount(2) with faulting pointers
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("mount", syscall(SYS_mount, 8, 8, 8, 0, 0), EFAULT, 0); }
