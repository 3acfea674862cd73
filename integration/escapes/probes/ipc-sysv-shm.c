/* @id: ipc-sysv-shm
 * @family: ipc
 * @capability: System V shared memory of the host
 * @forbids: it is written
 * @policy: hardening
 * @verify: sysv
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
#include <sys/shm.h>
int main(void) { int i = shmget(envi("SHMKEY"), 0, 0); if (i < 0) denied("shmget"); char *m = shmat(i, 0, 0); if (m == (void *)-1) denied("shmat"); strcpy(m, "PWNED"); escaped("written"); }
