/* @id: surf-move-mount
 * @family: kernel-surface
 * @capability: move_mount(2) with bad descriptors
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("move-mount", syscall(429, -1, "", -1, "", 4), EBADF, EINVAL, ENOENT, 0); }
