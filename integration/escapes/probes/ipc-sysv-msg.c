/* @id: ipc-sysv-msg
 * @family: ipc
 * @capability: System V message queue of the host
 * @forbids: a message arrives
 * @policy: hardening
 * @verify: sysvmsg
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
#include <sys/msg.h>
int main(void) { int i = msgget(envi("SHMKEY"), 0); if (i < 0) denied("msgget"); struct { long t; char b[8]; } m = { 1, "pwned" }; if (msgsnd(i, &m, 8, 04000)) denied("msgsnd"); escaped("sent"); }
