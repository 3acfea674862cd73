/* @id: fsw-mkdir
 * @family: fs-write
 * @capability: mkdir, mkfifo, symlink, mknod of a regular file in O
 * @forbids: new directory entry in O
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int e = 0; if (!mkdir(path2("O", "d"), 0755)) escaped("mkdir"); e = errno; if (!mkfifo(path2("O", "p"), 0644)) escaped("mkfifo"); if (!symlink("x", path2("O", "l"))) escaped("symlink"); if (!mknod(path2("O", "r"), S_IFREG | 0644, 0)) escaped("mknod"); errno = e; denied("mkdir"); }
