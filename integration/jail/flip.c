/* Executes a program COUNT times while another thread changes its argument between "public" and "secret". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char argument[8] = "public";
static volatile unsigned long flips;

static void *flip(void *nothing) {
    for (;;) {
        memcpy((void *)argument, "secret", 7);
        memcpy((void *)argument, "public", 7);
        flips += 2;
    }
    return nothing;
}

int main(int count, char **words) {
    int rounds = atoi(words[1]), killed = 0, ran = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, flip, NULL);
    for (int i = 0; i < rounds; i++) {
        char *argv[] = {words[2], (char *)argument, NULL};
        char *env[] = {NULL};
        /* The child shares the memory until its exec has copied it. */
        pid_t child = vfork();
        if (child == 0) {
            execve(words[2], argv, env);
            _exit(9);
        }
        int status;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) killed++; else if (WEXITSTATUS(status) == 0) ran++;
    }
    printf("%d killed, %d ran, %s\n", killed, ran, flips >= 10000 ? "flipped" : "too few flips");
    return 0;
}
