/* @id: surf-mrelease
 * @family: kernel-surface
 * @capability: process_mrelease(2) with a bad descriptor
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("mrelease", syscall(448, -1, 0), EBADF, 0); }
