/* @id: net-tcp4
 * @family: network
 * @capability: TCP connect to 127.0.0.1
 * @forbids: bytes reach an outside TCP server
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { int s = socket(AF_INET, SOCK_STREAM, 0); if (s < 0) denied("socket"); struct sockaddr_in a = lo4(envi("TCP4")); if (connect(s, (void *)&a, sizeof a)) denied("connect"); dprintf(s, "%s-tcp4\n", env("NETTOK")); escaped("sent"); }
