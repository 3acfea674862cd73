/* @id: exec-direct
 * @family: exec
 * @capability: execve of X
 * @forbids: X's code runs
 * @policy: no-exec-X
 * @verify: leak-x
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
static void runx(const char *path, char **av) { int q[2]; if (pipe(q)) denied("pipe"); int c = fork(); if (!c) { dup2(q[1], 1); execv(path, av); dprintf(q[1], "exec: %s", ename(errno)); _exit(0); } close(q[1]); char b[300]; int n = 0, k; while (n < 298 && (k = read(q[0], b + n, 298 - n)) > 0) n += k; b[n] = 0; waitpid(c, 0, 0); if (strstr(b, "X-RAN-")) escaped("%s", b); contained("%s", b); }
int main(void) { char *a[] = { (char *)env("X"), 0 }; runx(env("X"), a); }
