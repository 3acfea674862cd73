/* @id: fsw-trunc-rdonly
 * @family: fs-write
 * @capability: open(O_RDONLY | O_TRUNC), which needs no write mode
 * @forbids: O/file emptied
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int fd = open(path2("O", "file"), O_RDONLY | O_TRUNC); if (fd < 0) denied("open"); escaped("truncated"); }
