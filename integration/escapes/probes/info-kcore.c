/* @id: info-kcore
 * @family: information
 * @capability: memory of the kernel
 * @forbids: it opens
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { const char *k[] = { "/proc/kcore", "/dev/port", "/dev/mem", "/proc/kpagecount", "/proc/kpageflags", 0 }; int e = ENOENT; for (int i = 0; k[i]; i++) { int fd = open(k[i], O_RDONLY | O_NONBLOCK | O_NOCTTY); if (fd >= 0) escaped("%s opened", k[i]); e = errno; } errno = e; denied("open"); }
