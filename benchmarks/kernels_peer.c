/* Peers of the probes fma, int and chase: the same work in plain C, which gcc compiles for this very processor.
 *
 * usage: kernels_peer fma|int SECONDS          operations a second
 *        kernels_peer chase SECONDS BYTES      seconds a load, base pages, one line of 64 B after another at random
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __AVX512F__
enum { WIDTH = 64 };
#else
enum { WIDTH = 32 };
#endif
enum { LANES = WIDTH / 8, FMA_CHAINS = 12, INT_CHAINS = 8, PRODUCTS = 4, STEPS = 1 << 15, LINE = 64 };

typedef double doubles __attribute__((vector_size(WIDTH)));
typedef uint64_t words __attribute__((vector_size(WIDTH)));

static double now_s(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Chains are variables of their own: gcc keeps an array of vectors in memory. */
#define EACH_INT(DO) DO(a, 1) DO(b, 2) DO(c, 3) DO(d, 4) DO(e, 5) DO(f, 6) DO(g, 7) DO(h, 8)
#define EACH_FMA(DO) EACH_INT(DO) DO(i, 9) DO(j, 10) DO(k, 11) DO(l, 12)
#define EACH_PRODUCT(DO) DO(p, 1) DO(q, 2) DO(r, 3) DO(s, 4)

/* A fused multiply-add counts two operations. */
static double fma_batch(void)
{
    volatile double given_factor = 0.999999, given_term = 1e-6, sink = 0;
    doubles factor = given_factor - (doubles){0}, term = given_term - (doubles){0};
#define BEGIN(x, n) doubles x = (doubles){0} + (double)n;
#define STEP(x, n) x = x * factor + term;
#define END(x, n) sink += x[0];
    EACH_FMA(BEGIN)
    for (int step = 0; step < STEPS; step++) {
        EACH_FMA(STEP)
    }
    EACH_FMA(END)
#undef BEGIN
#undef STEP
    return 2.0 * STEPS * FMA_CHAINS * LANES;
}

static double int_batch(void)
{
    volatile uint64_t given[] = {0x9e3779b97f4a7c15, 0x5555555555555555, 0xd1342543de82ef95}, sink = 0;
    words term = given[0] + (words){0}, mask = given[1] + (words){0};
    uint64_t factor = given[2];
#define BEGIN(x, n) words x = (words){0} + (uint64_t)n;
#define STEP(x, n) x = (x + term) ^ mask;
#define BEGIN_PRODUCT(x, n) uint64_t x = n;
#define STEP_PRODUCT(x, n) x *= factor; __asm__("" : "+r"(x)); /* stays a scalar product */
#define END_PRODUCT(x, n) sink += x;
    EACH_INT(BEGIN) EACH_PRODUCT(BEGIN_PRODUCT)
    for (int step = 0; step < STEPS; step++) {
        EACH_INT(STEP) EACH_PRODUCT(STEP_PRODUCT)
    }
    EACH_INT(END) EACH_PRODUCT(END_PRODUCT)
    return (double)STEPS * (INT_CHAINS * LANES * 2 + PRODUCTS);
}

static double rate(double (*batch)(void), double seconds)
{
    batch();
    double made = 0, began = now_s(), at;
    do {
        made += batch();
        at = now_s();
    } while (at - began < seconds);
    return made / (at - began);
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One cycle through all lines (Sattolo): each line holds the place of the next. */
static double chase(double seconds, size_t bytes)
{
    size_t lines = bytes / LINE, stride = LINE / sizeof(size_t);
    size_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < lines; i++)
        memory[i * stride] = i * stride;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = draw(&state) % i, kept = memory[i * stride];
        memory[i * stride] = memory[j * stride];
        memory[j * stride] = kept;
    }
    size_t at = 0, loads = 0;
    double began = now_s(), ended;
    do {
        for (int i = 0; i < 10000; i++)
            at = memory[at];
        loads += 10000;
        ended = now_s();
    } while (ended - began < seconds);
    volatile size_t sink = at;
    (void)sink;
    return (ended - began) / (double)loads;
}

int main(int count, char **given)
{
    if (count < 3)
        return 2;
    double seconds = atof(given[2]);
    if (!strcmp(given[1], "fma"))
        printf("%.17g\n", rate(fma_batch, seconds));
    else if (!strcmp(given[1], "int"))
        printf("%.17g\n", rate(int_batch, seconds));
    else if (!strcmp(given[1], "chase") && count == 4)
        printf("%.17g\n", chase(seconds, strtoull(given[3], NULL, 10)));
    else
        return 2;
    return 0;
}
