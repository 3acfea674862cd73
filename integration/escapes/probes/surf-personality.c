/* @id: surf-personality
 * @family: kernel-surface
 * @capability: personality(READ_IMPLIES_EXEC)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("personality", syscall(SYS_personality, 0x0400000), 0); }
