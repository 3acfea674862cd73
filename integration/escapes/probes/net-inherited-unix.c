/* @id: net-inherited-unix
 * @family: network
 * @capability: a connected unix socket the caller left open (fd 24)
 * @forbids: bytes reach an outside path socket
 * @policy: no-net
 * @verify: net
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 * @flags: inherit
 */
#include "probe.h"
int main(void) { if (dprintf(24, "%s-inh\n", env("NETTOK")) < 0) denied("write"); escaped("sent"); }
