/* @id: net-mptcp
 * @family: network
 * @capability: multipath TCP
 * @forbids: bytes reach an outside TCP server
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=optional
 * @kind: effect
 */
#include "probe.h"
int main(void) { int s = socket(AF_INET, SOCK_STREAM, 262); if (s < 0) denied("socket"); struct sockaddr_in a = lo4(envi("TCP4")); if (connect(s, (void *)&a, sizeof a)) denied("connect"); dprintf(s, "%s-mptcp\n", env("NETTOK")); escaped("sent"); }
