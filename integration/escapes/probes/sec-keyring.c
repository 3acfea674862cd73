/* @id: sec-keyring
 * @family: secrets
 * @capability: a key of the caller's session keyring
 * @forbids: the key's content
 * @policy: secret-hidden
 * @verify: leak-key
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { long k = syscall(SYS_request_key, "user", "esc-secret", 0, 0); if (k < 0) denied("request_key"); char b[200] = ""; if (syscall(SYS_keyctl, 11, k, b, 199) < 0) denied("keyctl read"); escaped("%s", b); }
