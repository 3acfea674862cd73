/* @id: net-family-packet6
 * @family: network
 * @capability: socket(AF_INET6, SOCK_RAW, 58)
 * @forbids: a socket that the filter did not think of
 * @policy: no-net
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { int s = socket(AF_INET6, SOCK_RAW, 58); if (s < 0) denied("socket"); escaped("socket made"); }
