/* @id: proc-vm-readv
 * @family: process
 * @capability: process_vm_readv of an outside process
 * @forbids: the outside process's memory
 * @policy: no-signal
 * @verify: leak-mem
 * @expect: A=contained B=contained C=contained
 * @kind: effect
 */
#include "probe.h"
int main(void) { char b[100] = { 0 }; struct iovec l = { b, 64 }, r = { (void *)strtoul(env("MEMSEC"), 0, 16), 64 }; if (syscall(SYS_process_vm_readv, envi("PID"), &l, 1, &r, 1, 0) < 0) denied("process_vm_readv"); escaped("%s", b); }
