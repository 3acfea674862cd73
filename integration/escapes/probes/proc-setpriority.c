/* @id: proc-setpriority
 * @family: process
 * @capability: setpriority(PRIO_PROCESS) of an outside process
 * @forbids: its niceness changed
 * @policy: no-signal
 * @verify: sattr
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (setpriority(PRIO_PROCESS, envi("PID"), 15)) denied("setpriority"); escaped("niced"); }
