/* @id: git-exchange
 * @family: git-protected
 * @capability: RENAME_EXCHANGE of .git with an own directory
 * @forbids: W/.git replaced
 * @policy: git-ro
 * @verify: G
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { mkdir(path2("W", "g2"), 0755); if (syscall(SYS_renameat2, AT_FDCWD, path2("W", ".git"), AT_FDCWD, path2("W", "g2"), 2)) denied("renameat2"); escaped("exchanged"); }
