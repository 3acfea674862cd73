/* @id: fsw-suid-tmpfile
 * @family: fs-write
 * @capability: a setuid file made at creation (tmpfile)
 * @forbids: a root-owned setuid file appears in W
 * @policy: hardening
 * @verify: W-dev
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *p = path2("W", "suid-tmpfile"); umask(0); int fd = open(env("W"), O_TMPFILE | O_WRONLY, 04755); char q[64]; if (fd < 0) denied("O_TMPFILE"); sprintf(q, "/proc/self/fd/%d", fd); if (linkat(AT_FDCWD, q, AT_FDCWD, p, AT_SYMLINK_FOLLOW)) denied("linkat"); struct stat s; if (stat(p, &s) || !(s.st_mode & S_ISUID)) contained("bit not kept"); escaped("setuid file, owner %d", s.st_uid); }
