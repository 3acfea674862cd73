/* @id: surf-fanotify
 * @family: kernel-surface
 * @capability: fanotify_init(2)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("fanotify", syscall(SYS_fanotify_init, 0x200, 0), 0); }
