/* @id: fsw-suid-openat2
 * @family: fs-write
 * @capability: an empty setuid file by openat2, whose mode is in memory (each way to fill it clears the bit)
 * @forbids: a root-owned setuid file appears in W
 * @policy: hardening
 * @verify: W-dev
 * @expect: A=contained B=optional C=optional
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *p = path2("W", "suid-openat2"); uint64_t h[3] = { O_CREAT | O_WRONLY, 04755, 0 }; umask(0); if (syscall(437, AT_FDCWD, p, h, sizeof h) < 0) denied("openat2"); struct stat s; if (stat(p, &s) || !(s.st_mode & S_ISUID)) contained("bit not kept"); escaped("empty setuid file, owner %d", s.st_uid); }
