/* @id: net-family-can
 * @family: network
 * @capability: socket(29, SOCK_RAW, 1)
 * @forbids: a socket that the filter did not think of
 * @policy: no-net
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { int s = socket(29, SOCK_RAW, 1); if (s < 0) denied("socket"); escaped("socket made"); }
