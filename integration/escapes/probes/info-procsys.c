/* @id: info-procsys
 * @family: information
 * @capability: open kernel settings for writing (nothing written)
 * @forbids: it opens
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { const char *k[] = { "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/hostname", "/proc/sys/fs/suid_dumpable", "/proc/sys/kernel/randomize_va_space", "/proc/sys/user/max_user_namespaces", "/proc/sys/vm/overcommit_memory", 0 }; int e = ENOENT; for (int i = 0; k[i]; i++) { int fd = open(k[i], O_WRONLY | O_NONBLOCK | O_NOCTTY); if (fd >= 0) escaped("%s opened", k[i]); e = errno; } errno = e; denied("open"); }
