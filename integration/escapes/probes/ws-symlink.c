/* @id: ws-symlink
 * @family: ws-write
 * @capability: symlink, mkfifo inside the workspace
 * @forbids: W content changed
 * @policy: ws-ro
 * @verify: W
 * @expect: A=contained B=allowed C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (symlink("x", path2("W", "s"))) denied("symlink"); escaped("made"); }
