/* @id: surf-acct
 * @family: kernel-surface
 * @capability: acct(2) with a faulting path
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("acct", syscall(SYS_acct, 8), EFAULT, 0); }
