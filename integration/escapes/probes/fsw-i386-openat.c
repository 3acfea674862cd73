/* @id: fsw-i386-openat
 * @family: fs-write
 * @capability: openat by int 0x80
 * @forbids: O/file content changed
 * @policy: ro-outside
 * @verify: O
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { char *m = mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); if (m == MAP_FAILED) denied("mmap"); strcpy(m, path2("O", "file")); long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(295), "b"(-100), "c"(m), "d"(O_WRONLY), "S"(0) : "memory", "r8", "r9", "r10", "r11"); if ((int)r < 0) { errno = -(int)r; denied("i386 openat"); } mark((int)r, "i386"); escaped("wrote through int 0x80"); }
