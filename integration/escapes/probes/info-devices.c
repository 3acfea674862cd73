/* @id: info-devices
 * @family: information
 * @capability: devices of the host
 * @forbids: it opens
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { const char *k[] = { "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop-control", "/dev/fuse", "/dev/uinput", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/userfaultfd", "/dev/rtc0", "/dev/hwrng", "/dev/input/event0", "/dev/dri/card0", "/dev/net/tun", 0 }; int e = ENOENT; for (int i = 0; k[i]; i++) { int fd = open(k[i], O_RDONLY | O_NONBLOCK | O_NOCTTY); if (fd >= 0) escaped("%s opened", k[i]); e = errno; } errno = e; denied("open"); }
