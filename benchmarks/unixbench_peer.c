/* The system calls of six of UnixBench's tests, as small C programs in one: ours, not the original's source.
 *
 * usage: unixbench_peer TEST SECONDS     prints COUNT|n|timebase|unit on stderr, as the original's programs do
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void ring(int signal) {
    (void)signal;
    over = 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void set_alarm(int seconds) {
    struct sigaction action = {.sa_handler = ring};
    over = 0;
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static unsigned long mix(void) {
    unsigned long loops = 0;
    for (; !over; loops++) {
        close(dup(0));
        syscall(SYS_getpid);
        getuid();
        umask(022);
    }
    return loops;
}

static unsigned long through_a_pipe(void) {
    unsigned long loops = 0;
    char buffer[512] = {0};
    int ends[2];
    if (pipe(ends)) fail("pipe");
    for (; !over; loops++)
        if (write(ends[1], buffer, sizeof buffer) != sizeof buffer || read(ends[0], buffer, sizeof buffer) != sizeof buffer)
            fail("pipe");
    return loops;
}

static unsigned long to_and_fro(void) {
    unsigned long loops = 0, answer;
    int there[2], back[2];
    if (pipe(there) || pipe(back)) fail("pipe");
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &answer, sizeof answer) == sizeof answer)
            if (write(back[1], &answer, sizeof answer) != sizeof answer) break;
        _exit(0);
    }
    for (; !over; loops++) {
        if (write(there[1], &loops, sizeof loops) != sizeof loops) fail("write");
        if (read(back[0], &answer, sizeof answer) != sizeof answer) break; /* the alarm */
        if (answer != loops) fail("count");
    }
    close(there[1]);
    wait(NULL);
    return loops;
}

static unsigned long forks(void) {
    unsigned long loops = 0;
    for (; !over; loops++) {
        pid_t child = fork();
        if (child == 0) exit(0);
        if (child < 0) fail("fork");
        waitpid(child, NULL, 0);
    }
    return loops;
}

static void execs(char **words, int count) {
    char start[40], loops[24], own[] = "/proc/self/exe";
    double began = count > 3 ? atof(words[3]) : now();
    unsigned long done = count > 4 ? strtoul(words[4], NULL, 10) : 0;
    if (now() - began >= atof(words[2])) {
        fprintf(stderr, "COUNT|%lu|1|lps\n", done);
        exit(0);
    }
    snprintf(start, sizeof start, "%.9f", began);
    snprintf(loops, sizeof loops, "%lu", done + 1);
    execl(own, own, words[1], words[2], start, loops, (char *)NULL);
    fail("execl");
}

static void copy(int block, int kib, int seconds) {
    static char buffer[8192];
    long blocks = (long)kib * 1024 / block, done = 0;
    int from = open("peer-from", O_RDWR | O_CREAT | O_TRUNC, 0600), to = open("peer-to", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || to < 0) fail("open");
    for (long i = 0; i < blocks; i++)
        if (write(from, buffer, block) != block) fail("write");
    lseek(from, 0, SEEK_SET);
    fsync(from);
    set_alarm(seconds);
    double start = now();
    while (!over) {
        if (read(from, buffer, block) == block) {
            if (write(to, buffer, block) != block) fail("write");
            done++;
        } else {
            lseek(from, 0, SEEK_SET);
            lseek(to, 0, SEEK_SET);
        }
    }
    double elapsed = now() - start;
    unlink("peer-from");
    unlink("peer-to");
    fprintf(stderr, "COUNT|%.1f|0|KBps\nTIME|%.6f\n", done * (block / 1024.0) / elapsed, elapsed);
    exit(0);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *test = words[1];
    int seconds = atoi(words[2]);
    if (!strcmp(test, "execl")) execs(words, count);
    if (!strcmp(test, "fstime")) copy(1024, 2000, seconds);
    if (!strcmp(test, "fsbuffer")) copy(256, 500, seconds);
    if (!strcmp(test, "fsdisk")) copy(4096, 8000, seconds);
    unsigned long (*loop)(void) = !strcmp(test, "pipe")       ? through_a_pipe
                                  : !strcmp(test, "context1") ? to_and_fro
                                  : !strcmp(test, "spawn")    ? forks
                                  : !strcmp(test, "syscall")  ? mix
                                                              : NULL;
    if (!loop) return 2;
    set_alarm(seconds);
    double start = now();
    unsigned long loops = loop();
    fprintf(stderr, "COUNT|%lu|1|lps\nTIME|%.6f\n", loops, now() - start);
    return 0;
}
