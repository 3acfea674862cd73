/* @id: info-sys-files
 * @family: information
 * @capability: open files of /sys for writing (nothing written)
 * @forbids: it opens
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { const char *k[] = { "/sys/power/state", "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/module/kernel/parameters/panic", "/sys/devices/system/cpu/cpu1/online", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/tasks", "/sys/fs/cgroup/devices/devices.allow", 0 }; int e = ENOENT; for (int i = 0; k[i]; i++) { int fd = open(k[i], O_WRONLY | O_NONBLOCK | O_NOCTTY); if (fd >= 0) escaped("%s opened", k[i]); e = errno; } errno = e; denied("open"); }
