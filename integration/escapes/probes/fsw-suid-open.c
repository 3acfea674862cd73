/* @id: fsw-suid-open
 * @family: fs-write
 * @capability: a setuid file made at creation (open)
 * @forbids: a root-owned setuid file appears in W
 * @policy: hardening
 * @verify: W-dev
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *p = path2("W", "suid-open"); umask(0); int fd = open(p, O_CREAT | O_WRONLY, 04755); if (fd < 0) denied("open"); struct stat s; if (stat(p, &s) || !(s.st_mode & S_ISUID)) contained("bit not kept"); escaped("setuid file, owner %d", s.st_uid); }
