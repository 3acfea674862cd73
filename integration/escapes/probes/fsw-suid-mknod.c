/* @id: fsw-suid-mknod
 * @family: fs-write
 * @capability: a setuid file made at creation (mknod)
 * @forbids: a root-owned setuid file appears in W
 * @policy: hardening
 * @verify: W-dev
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *p = path2("W", "suid-mknod"); umask(0); if (mknod(p, S_IFREG | 04755, 0)) denied("mknod"); struct stat s; if (stat(p, &s) || !(s.st_mode & S_ISUID)) contained("bit not kept"); escaped("setuid file, owner %d", s.st_uid); }
