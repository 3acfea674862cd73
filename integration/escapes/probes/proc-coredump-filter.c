/* @id: proc-coredump-filter
 * @family: process
 * @capability: /proc/PID/coredump_filter of an outside process
 * @forbids: it changed
 * @policy: no-signal
 * @verify: sattr
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { char n[64]; sprintf(n, "/proc/%d/coredump_filter", envi("PID")); int fd = open(n, O_WRONLY); if (fd < 0) denied("open"); if (write(fd, "0x7f", 4) < 0) denied("write"); escaped("written"); }
