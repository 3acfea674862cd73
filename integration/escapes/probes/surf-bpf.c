/* @id: surf-bpf
 * @family: kernel-surface
 * @capability: bpf(2) with a bad command
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("bpf", syscall(SYS_bpf, 9999, 0, 0), EINVAL, 0); }
