/* @id: surf-ldt
 * @family: kernel-surface
 * @capability: modify_ldt(2)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("ldt", syscall(SYS_modify_ldt, 1, 0, 0), ENOSYS, EINVAL, 0); }
