/* STREAM's triad as a compiler makes it: the peer of benchmarks/stream.py.
 *
 * Counts as STREAM does, 24 bytes an element, and prints two rates in B/s: over the whole run, and of its best pass.
 * usage: stream_peer ARRAY_BYTES SECONDS */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    size_t n = strtoull(argv[1], NULL, 10) / sizeof(double);
    double seconds = strtod(argv[2], NULL), scalar = 3.0;
    double *a = aligned_alloc(4096, n * sizeof *a), *b = aligned_alloc(4096, n * sizeof *b), *c = aligned_alloc(4096, n * sizeof *c);
    if (!a || !b || !c) return 3;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) { a[i] = 0.0; b[i] = 1.0; c[i] = 2.0; }
    double best = 1e300, start = omp_get_wtime(), last = start;
    size_t passes = 0;
    while (last - start < seconds) {
        double before = last;
#pragma omp parallel for
        for (size_t i = 0; i < n; i++) a[i] = b[i] + scalar * c[i];
        last = omp_get_wtime();
        if (last - before < best) best = last - before;
        passes++;
    }
    for (size_t i = 0; i < n; i++)
        if (a[i] != 7.0) return 4;
    printf("%.0f %.0f\n", 24.0 * n * passes / (last - start), 24.0 * n / best);
    return 0;
}
