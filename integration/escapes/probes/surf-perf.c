/* @id: surf-perf
 * @family: kernel-surface
 * @capability: perf_event_open(2) with a faulting pointer
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("perf", syscall(SYS_perf_event_open, 8, 0, -1, -1, 0), EFAULT, 0); }
