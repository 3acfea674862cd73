/* @id: surf-keyctl-session
 * @family: kernel-surface
 * @capability: keyctl(GET_KEYRING_ID, session)
 * @forbids: the syscall is reachable from the jail (self-reported)
 * @policy: hardening
 * @verify: self
 * @expect: A=contained B=contained C=contained
 * @kind: surface
 */
#include "probe.h"
int main(void) { reached("keyctl-session", syscall(SYS_keyctl, 0, -3, 0), ENOKEY, 0); }
