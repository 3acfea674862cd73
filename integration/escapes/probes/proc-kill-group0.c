/* @id: proc-kill-group0
 * @family: process
 * @capability: kill(0): the process group that the jail shares with its wrapper
 * @forbids: the wrapper dies
 * @policy: no-signal
 * @verify: wrapdied
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 * @flags: nocontrol
 */
#include "probe.h"
int main(void) { signal(SIGTERM, SIG_IGN); if (kill(0, SIGTERM)) denied("kill 0"); usleep(300000); escaped("sent"); }
