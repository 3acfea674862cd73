/* @id: net-udp4
 * @family: network
 * @capability: UDP to 127.0.0.1
 * @forbids: a datagram reaches an outside server
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=allowed
 * @kind: effect
 */
#include "probe.h"
int main(void) { int s = socket(AF_INET, SOCK_DGRAM, 0); if (s < 0) denied("socket"); struct sockaddr_in a = lo4(envi("UDP4")); if (sendto(s, env("NETTOK"), strlen(env("NETTOK")), 0, (void *)&a, sizeof a) < 0) denied("sendto"); escaped("sent"); }
