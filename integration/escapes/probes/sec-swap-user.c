/* @id: sec-swap-user
 * @family: secrets
 * @capability: the stub of the secret, after chmod
 * @forbids: the secret's content
 * @policy: secret-hidden
 * @verify: leak-file
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { chmod(path2("S", "secret.txt"), 0644); chmod(env("S"), 0755); int fd = open(path2("S", "secret.txt"), O_RDONLY); if (fd < 0) denied("open"); char b[200] = ""; read(fd, b, 199); escaped("%s", b); }
