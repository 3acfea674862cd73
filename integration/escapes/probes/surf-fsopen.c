/* @id: surf-fsopen
 * @family: kernel-surface
 * @capability: fsopen(2) with a faulting pointer
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("fsopen", syscall(430, 8, 0), EFAULT, 0); }
