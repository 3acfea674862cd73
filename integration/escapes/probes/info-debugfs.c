/* @id: info-debugfs
 * @family: information
 * @capability: tracing and debug file systems
 * @forbids: it opens
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { const char *k[] = { "/sys/kernel/debug/sched", "/sys/kernel/tracing/trace", "/sys/kernel/debug/tracing/trace", "/sys/kernel/security/lsm", "/sys/fs/bpf", 0 }; int e = ENOENT; for (int i = 0; k[i]; i++) { int fd = open(k[i], O_RDONLY | O_NONBLOCK | O_NOCTTY); if (fd >= 0) escaped("%s opened", k[i]); e = errno; } errno = e; denied("open"); }
