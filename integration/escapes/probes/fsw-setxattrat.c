/* @id: fsw-setxattrat
 * @family: fs-write
 * @capability: setxattrat(2) (Linux 6.13)
 * @forbids: xattr added to O/file
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { struct { uint64_t v; uint32_t n, f; } a = { (uintptr_t)"x", 1, 0 }; if (syscall(463, AT_FDCWD, path2("O", "file"), 0, "user.pwn", &a, sizeof a)) denied("setxattrat"); escaped("xattr set"); }
