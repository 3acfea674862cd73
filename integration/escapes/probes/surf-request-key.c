/* @id: surf-request-key
 * @family: kernel-surface
 * @capability: request_key(2) with a faulting pointer
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("request-key", syscall(SYS_request_key, 8, 0, 0, 0), EFAULT, 0); }
