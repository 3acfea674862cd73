/* @id: surf-handle
 * @family: kernel-surface
 * @capability: name_to_handle_at(2) with a faulting pointer
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("handle", syscall(SYS_name_to_handle_at, -100, "/", 8, 8, 0), EFAULT, 0); }
