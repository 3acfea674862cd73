/* @id: proc-setscheduler
 * @family: process
 * @capability: sched_setscheduler(SCHED_IDLE) of an outside process
 * @forbids: its policy changed
 * @policy: no-signal
 * @verify: sattr
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { struct sched_param q = { 0 }; if (sched_setscheduler(envi("PID"), SCHED_IDLE, &q)) denied("sched_setscheduler"); escaped("changed"); }
