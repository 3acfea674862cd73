/* @id: surf-fspick
 * @family: kernel-surface
 * @capability: fspick(2) with a faulting pointer
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("fspick", syscall(433, -100, 8, 0), EFAULT, 0); }
