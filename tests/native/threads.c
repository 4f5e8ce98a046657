/* The pool of a library: several threads, then a fork, whose child has none of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

enum { N = 1500 };
static double a[N][N], y[N];

static int right(void) {
    int i, j;
    void *scratch = malloc((size_t)rows_scratch(N));
    if (rows(&a[0][0], y, scratch, N) != TADC_OK) return 0;
    free(scratch);
    for (i = 0; i < N; i++) {
        double sum = 0;
        for (j = 0; j < N; j++) sum += exp(a[i][j]);
        if (fabs(y[i] - sum) > 1e-12 * sum) return 0;
        y[i] = 0;
    }
    return 1;
}

int main(void) {
    int i, status = 0;
    (void)status;
    for (i = 0; i < N * N; i++) (&a[0][0])[i] = (i * 37 % 101 - 50) / 64.0;
    if (!right()) return 1;
    rows_threads(3);
    if (!right() || !right()) return 2;
#ifndef NO_FORK
    if (fork() == 0) _exit(right() ? 0 : 1);
    if (wait(&status) < 0 || status != 0) return 3;
#endif
    return right() ? 0 : 4;
}
