/* @id: exec-copy
 * @family: exec
 * @capability: a copy of X in the workspace or /tmp
 * @forbids: X's code runs
 * @policy: no-exec-X
 * @verify: leak-x
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
static void runx(const char *path, char **av) { int q[2]; if (pipe(q)) denied("pipe"); int c = fork(); if (!c) { dup2(q[1], 1); execv(path, av); dprintf(q[1], "exec: %s", ename(errno)); _exit(0); } close(q[1]); char b[300]; int n = 0, k; while (n < 298 && (k = read(q[0], b + n, 298 - n)) > 0) n += k; b[n] = 0; waitpid(c, 0, 0); if (strstr(b, "X-RAN-")) escaped("%s", b); contained("%s", b); }
int main(void) { int s = open(env("X"), O_RDONLY); if (s < 0) denied("open X"); const char *t[] = { path2("W", "xcopy"), "/tmp/xcopy", 0 }; for (int i = 0; t[i]; i++) { int d = open(t[i], O_CREAT | O_WRONLY | O_TRUNC, 0755); if (d < 0) continue; char b[65536]; int n; lseek(s, 0, 0); while ((n = read(s, b, sizeof b)) > 0) write(d, b, n); close(d); char *a[] = { (char *)t[i], 0 }; runx(t[i], a); } denied("copy"); }
