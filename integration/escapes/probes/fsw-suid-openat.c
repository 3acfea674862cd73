/* @id: fsw-suid-openat
 * @family: fs-write
 * @capability: a setuid file made at creation (openat)
 * @forbids: a root-owned setuid file appears in W
 * @policy: hardening
 * @verify: W-dev
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *p = path2("W", "suid-openat"); umask(0); int fd = openat(AT_FDCWD, p, O_CREAT | O_EXCL | O_RDWR, 06755); if (fd < 0) denied("openat"); struct stat s; if (stat(p, &s) || !(s.st_mode & S_ISUID)) contained("bit not kept"); escaped("setuid file, owner %d", s.st_uid); }
