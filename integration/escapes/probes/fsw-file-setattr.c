/* @id: fsw-file-setattr
 * @family: fs-write
 * @capability: file_setattr(2) (Linux 6.17)
 * @forbids: O/file inode flags changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { struct { uint64_t x; uint32_t e, n, p, c; } a = { 0x80 }; if (syscall(469, AT_FDCWD, path2("O", "file"), &a, sizeof a, 0)) denied("file_setattr"); escaped("flags changed"); }
