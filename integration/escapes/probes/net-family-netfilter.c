/* @id: net-family-netfilter
 * @family: network
 * @capability: socket(16, SOCK_RAW, 12)
 * @forbids: a socket that the filter did not think of
 * @policy: no-net
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { int s = socket(16, SOCK_RAW, 12); if (s < 0) denied("socket"); escaped("socket made"); }
