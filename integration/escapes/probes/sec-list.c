/* @id: sec-list
 * @family: secrets
 * @capability: names in the secrets directory
 * @forbids: names of secret files
 * @policy: secret-hidden
 * @verify: leak-name
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
#include <dirent.h>
int main(void) { DIR *d = opendir(env("S")); if (!d) denied("opendir"); char b[800] = ""; struct dirent *e; while ((e = readdir(d))) { strncat(b, e->d_name, 300); strcat(b, " "); } escaped("%s", b); }
