/* @id: git-w-rename
 * @family: git-protected
 * @capability: rename the workspace itself
 * @forbids: W is gone
 * @policy: git-ro
 * @verify: W-gone
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { char n[4300]; snprintf(n, sizeof n, "%s2", env("W")); if (rename(env("W"), n)) denied("rename W"); escaped("renamed"); }
