/* @id: sec-openat2
 * @family: secrets
 * @capability: openat2(2) of the secret
 * @forbids: the secret's content
 * @policy: secret-hidden
 * @verify: leak-file
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { uint64_t h[3] = { 0 }; int fd = syscall(437, AT_FDCWD, path2("S", "secret.txt"), h, sizeof h); if (fd < 0) denied("openat2"); char b[200] = ""; read(fd, b, 199); escaped("%s", b); }
