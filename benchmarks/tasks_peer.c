/* Four of the tasks as plain C loops over the same numbers: `tasks_peer TASK PASSES` prints processor seconds a pass.
 * A wrong answer ends it with 1: the known ones are those of the agent, so that each is a witness of the other.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state[4];

static uint64_t mix(uint64_t seed) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* xoshiro256**, Blackman and Vigna 2018 */
static void begin(uint64_t seed, uint64_t stream) {
    uint64_t last = mix(seed ^ mix(stream));
    for (int i = 0; i < 4; i++) {
        last = mix(last);
        state[i] = last;
    }
}

static uint64_t rotate(uint64_t word, int by) {
    return (word << by) | (word >> (64 - by));
}

static uint64_t draw(void) {
    uint64_t result = rotate(state[1] * 5, 7) * 9, t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate(state[3], 45);
    return result;
}

#define ROW 130

static int sor(void) {
    static double grid[ROW][ROW];
    const double omega = 1.95245;
    for (int y = 0; y < ROW; y++)
        for (int x = 0; x < ROW; x++) {
            int edge = x == 0 || y == 0 || x == ROW - 1 || y == ROW - 1;
            double px = (double)x / ROW, py = (double)y / ROW;
            grid[y][x] = edge ? px * px - py * py : 0.0;
        }
    for (int sweep = 0; sweep < 768; sweep++)
        for (int y = 1; y < ROW - 1; y++)
            for (int x = 1; x < ROW - 1; x++)
                grid[y][x] = omega / 4 * (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]) +
                             (1 - omega) * grid[y][x];
    double wrong = 0;
    for (int y = 0; y < ROW; y++)
        for (int x = 0; x < ROW; x++) {
            double px = (double)x / ROW, py = (double)y / ROW;
            wrong = fmax(wrong, fabs(grid[y][x] - (px * px - py * py)));
        }
    return wrong < 1e-9;
}

static int monte_carlo(uint64_t seed) {
    const double unit = 1.0 / (1 << 26);
    long inside = 0;
    begin(seed, 80);
    for (long i = 0; i < 1L << 22; i++) {
        double x = (draw() >> 38) * unit, y = (draw() >> 38) * unit;
        inside += x * x + y * y <= 1.0;
    }
    return inside == 3294342;
}

#define WORDS (1u << 24)

static uint64_t change_and_sum(uint64_t *words, uint64_t seed) {
    uint64_t sum = 0;
    begin(seed, 90);
    for (long i = 0; i < 1L << 21; i++) {
        uint64_t word = draw();
        words[(word >> 40) % WORDS] ^= word;
    }
    for (size_t i = 0; i < WORDS; i++)
        sum += words[i];
    return sum;
}

static int memory(uint64_t *words, uint64_t seed) {
    uint64_t changed = change_and_sum(words, seed);
    return changed == 0xd63ba645026e7510u && change_and_sum(words, seed) == 0x9c1357824d0123d0u;
}

#define ROWS (1 << 16)
#define ENTRIES (ROWS * 8)

static int sparse(const double *values, const uint32_t *columns, const double *x, double *y) {
    memset(y, 0, ROWS * sizeof *y);
    for (int product = 0; product < 16; product++)
        for (int row = 0; row < ROWS; row++) {
            double sum = 0;
            for (int k = row * 8; k < row * 8 + 8; k++)
                sum += values[k] * x[columns[k]];
            y[row] += sum;
        }
    return isfinite(y[ROWS - 1]);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: tasks_peer TASK PASSES SEED\n");
        return 2;
    }
    const char *task = words[1];
    long passes = atol(words[2]);
    uint64_t seed = strtoull(words[3], NULL, 0);
    uint64_t *all = malloc(sizeof *all * WORDS);
    double *values = malloc(sizeof *values * ENTRIES), *x = malloc(sizeof *x * ROWS), *y = malloc(sizeof *y * ROWS);
    uint32_t *columns = malloc(sizeof *columns * ENTRIES);
    for (uint64_t i = 0; i < WORDS; i++)
        all[i] = mix(i);
    begin(seed, 70);
    for (int i = 0; i < ENTRIES; i++)
        values[i] = (double)(draw() >> 11) / (1ull << 53) - 0.5;
    for (int i = 0; i < ENTRIES; i++)
        columns[i] = (uint32_t)(draw() >> 48);
    for (int i = 0; i < ROWS; i++)
        x[i] = (double)(draw() >> 11) / (1ull << 53) - 0.5;
    clock_t before = clock();
    for (long pass = 0; pass < passes; pass++) {
        int right = !strcmp(task, "sor")           ? sor()
                    : !strcmp(task, "monte_carlo") ? monte_carlo(seed)
                    : !strcmp(task, "memory")      ? memory(all, seed)
                    : !strcmp(task, "sparse")      ? sparse(values, columns, x, y)
                                                   : 0;
        if (!right) {
            fprintf(stderr, "no such task, or a wrong answer\n");
            return 1;
        }
    }
    printf("%.9f\n", (double)(clock() - before) / CLOCKS_PER_SEC / passes);
    return 0;
}
