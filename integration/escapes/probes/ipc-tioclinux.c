/* @id: ipc-tioclinux
 * @family: ipc
 * @capability: TIOCLINUX (paste) on the caller's terminal
 * @forbids: the ioctl reaches the terminal
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 * @flags: tty
 */
#include "probe.h"
int main(void) { char c = 3; if (ioctl(0, 0x541c, &c) && errno == EPERM) denied("TIOCLINUX"); escaped("TIOCLINUX answered %s", ename(errno)); }
