/* @id: surf-getfd
 * @family: kernel-surface
 * @capability: pidfd_getfd(2) with a bad descriptor
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("getfd", syscall(438, -1, 0, 0), EBADF, 0); }
