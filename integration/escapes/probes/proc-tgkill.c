/* @id: proc-tgkill
 * @family: process
 * @capability: tkill, tgkill
 * @forbids: an outside process is signalled
 * @policy: no-signal
 * @verify: sig
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (syscall(SYS_tgkill, envi("PID"), envi("PID"), SIGUSR1) && syscall(SYS_tkill, envi("PID"), SIGUSR1)) denied("tgkill"); escaped("sent"); }
