/* Written from the header alone, for C and C++: prints value and gradients, or what is refused. */
#include <stdio.h>
#include <stdlib.h>

#include "conv.h"

enum { N = 1000, K = 5, M = N - K + 1 };

static double x[N], w[K], y[M], dy[M], dx[N], dw[K];

static int called(void) {
    void *scratch = malloc((size_t)conv_scratch(N, K));
    void *more = malloc((size_t)conv_vjp_scratch(N, K));
    int failed = conv(x, w, y, scratch, N, K);
    if (failed == TADC_OK) failed = conv_vjp(x, w, dy, dx, dw, more, N, K);
    free(scratch);
    free(more);
    return failed;
}

static int refused(void) {
    char scratch[256];
    return conv(x, w, y, scratch, -1, 0) == TADC_BAD_SIZE && conv(x, w, y, scratch, 3, 5) == TADC_BAD_SIZE
        && conv(x, w, y, scratch, (int64_t)1 << 62, 5) == TADC_BAD_SIZE
        && conv(NULL, w, y, scratch, N, K) == TADC_NULL && conv(x, w, NULL, scratch, N, K) == TADC_NULL
        && conv(x, w, y, NULL, N, K) == TADC_NO_SCRATCH
        && conv_scratch(-1, 0) == -1 && conv_scratch(3, 5) == -1 && conv_scratch(3, 3) >= 0;
}

static void show(const double *a, int n) {
    int i;
    for (i = 0; i < n; i++) printf("%a\n", a[i]);
}

int main(void) {
    int i;
    for (i = 0; i < N; i++) x[i] = (i * 37 % 101 - 50) / 64.0;
    for (i = 0; i < K; i++) w[i] = (i + 1) / 8.0;
    for (i = 0; i < M; i++) dy[i] = (i * 13 % 29) / 16.0;
    if (!refused() || called() != TADC_OK) return 1;
    show(y, M);
    show(dx, N);
    show(dw, K);
    return 0;
}
