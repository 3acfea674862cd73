/* @id: sec-env
 * @family: secrets
 * @capability: an own environment variable
 * @forbids: the variable's value
 * @policy: env-scrub
 * @verify: leak-env
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { const char *v = getenv("ESC_SECRET_TOKEN"); if (!v) contained("not set"); escaped("%s", v); }
