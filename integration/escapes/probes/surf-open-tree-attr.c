/* @id: surf-open-tree-attr
 * @family: kernel-surface
 * @capability: open_tree_attr(2) (Linux 6.15)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("open-tree-attr", syscall(467, -100, 8, 1, 0, 0), EFAULT, EINVAL, 0); }
