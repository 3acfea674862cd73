/* @id: net-abstract-dgram
 * @family: network
 * @capability: abstract unix socket, datagram
 * @forbids: bytes reach an outside abstract socket
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { int s = socket(AF_UNIX, SOCK_DGRAM, 0); if (s < 0) denied("socket"); struct sockaddr_un a = { AF_UNIX }; strcpy(a.sun_path + 1, env("ABSD")); if (sendto(s, env("NETTOK"), strlen(env("NETTOK")), 0, (void *)&a, 3 + strlen(env("ABSD"))) < 0) denied("sendto"); escaped("sent"); }
