/* @id: ws-link
 * @family: ws-write
 * @capability: link(2) inside the workspace
 * @forbids: W content changed
 * @policy: ws-ro
 * @verify: W
 * @expect: A=contained B=allowed C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { if (link(path2("W", "README"), path2("W", "README2"))) denied("link"); escaped("linked"); }
