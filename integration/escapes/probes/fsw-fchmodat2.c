/* @id: fsw-fchmodat2
 * @family: fs-write
 * @capability: fchmodat2(2) (Linux 6.6) by path
 * @forbids: O/file mode changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (syscall(452, AT_FDCWD, path2("O", "file"), 0777, 0)) denied("fchmodat2"); escaped("mode changed"); }
