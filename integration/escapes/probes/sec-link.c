/* @id: sec-link
 * @family: secrets
 * @capability: a hard link of the secret in the workspace, made inside
 * @forbids: the secret's content
 * @policy: secret-hidden
 * @verify: leak-file
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *l = path2("W", "mine"); if (link(path2("S", "secret.txt"), l)) denied("link"); int fd = open(l, O_RDONLY); if (fd < 0) denied("open"); char b[200] = ""; read(fd, b, 199); escaped("%s", b); }
