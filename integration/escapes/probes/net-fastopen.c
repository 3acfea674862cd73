/* @id: net-fastopen
 * @family: network
 * @capability: sendto(MSG_FASTOPEN): connects without connect(2)
 * @forbids: bytes reach an outside TCP server
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=optional
 * @kind: effect
 */
#include "probe.h"
int main(void) { int s = socket(AF_INET, SOCK_STREAM, 0); if (s < 0) denied("socket"); struct sockaddr_in a = lo4(envi("TCP4")); if (sendto(s, env("NETTOK"), strlen(env("NETTOK")), MSG_FASTOPEN, (void *)&a, sizeof a) < 0) denied("sendto"); escaped("sent"); }
