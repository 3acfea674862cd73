/* @id: proc-mem-read
 * @family: process
 * @capability: /proc/PID/mem
 * @forbids: the outside process's memory
 * @policy: no-signal
 * @verify: leak-mem
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { char n[64], b[100] = { 0 }; sprintf(n, "/proc/%d/mem", envi("PID")); int fd = open(n, O_RDONLY); if (fd < 0) denied("open"); if (pread(fd, b, 64, strtoul(env("MEMSEC"), 0, 16)) < 1) denied("pread"); escaped("%s", b); }
