/* @id: ipc-tiocsti
 * @family: ipc
 * @capability: TIOCSTI on the caller's terminal
 * @forbids: input is pushed
 * @policy: hardening
 * @verify: tty
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 * @flags: tty
 */
#include "probe.h"
int main(void) { char c[] = "#pwned"; int fd = isatty(0) ? 0 : open("/dev/tty", O_RDWR); if (fd < 0) denied("no terminal"); for (int i = 0; c[i]; i++) if (ioctl(fd, TIOCSTI, c + i)) denied("TIOCSTI"); escaped("pushed"); }
