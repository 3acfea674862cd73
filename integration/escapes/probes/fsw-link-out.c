/* @id: fsw-link-out
 * @family: fs-write
 * @capability: link(2) of a workspace file into O
 * @forbids: new directory entry in O
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (link(path2("W", "README"), path2("O", "pwn"))) denied("link"); escaped("linked into O"); }
