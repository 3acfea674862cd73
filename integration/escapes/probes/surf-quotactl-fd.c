/* @id: surf-quotactl-fd
 * @family: kernel-surface
 * @capability: quotactl_fd(2) with a bad descriptor
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("quotactl-fd", syscall(443, -1, 0, 0, 0), EBADF, 0); }
