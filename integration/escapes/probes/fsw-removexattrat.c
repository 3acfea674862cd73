/* @id: fsw-removexattrat
 * @family: fs-write
 * @capability: removexattrat(2) (Linux 6.13)
 * @forbids: xattr removed from O/file
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (syscall(466, AT_FDCWD, path2("O", "file"), 0, "user.keep")) denied("removexattrat"); escaped("xattr removed"); }
