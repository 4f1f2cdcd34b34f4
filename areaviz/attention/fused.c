/* Area attention over spans, one row of item logits at a time (Li et al. 2019, Eq. 1-4).

   A row holds the logits of one query for `items` memory items, of which the first `length` may be
   attended. Its areas are the spans of 1..size items; an area's logit is the mean of its items' logits, so
   a row and its at most `size` running means stay in the first-level cache from softmax to coverage.
   Plain loops over contiguous floats: the compiler makes vector code of them. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int least(int a, int b) { return a < b ? a : b; }

/* p[w-1][i] = exp(mean of s[i..i+w-1] - shift) for every span; returns the sum of all. */
static float span_exp(const float *s, int length, int size, int stride, float shift, float *run, float *p) {
    float total = 0;
    memcpy(run, s, length * sizeof(float));
    for (int w = 1; w <= size; w++) {
        int count = length - w + 1;
        float scale = 1.0f / w, *row = p + (w - 1) * stride;
        if (w > 1)
            for (int i = 0; i < count; i++) run[i] += s[i + w - 1];
        for (int i = 0; i < count; i++) row[i] = expf(run[i] * scale - shift);
        for (int i = 0; i < count; i++) total += row[i];
    }
    return total;
}

/* out[j] += the values of all spans that hold item j; destroys p. */
static void scatter(float *p, int length, int size, int stride, float *out) {
    for (int w = size; w > 1; w--) {
        float *wide = p + (w - 1) * stride, *narrow = wide - stride;
        int count = length - w + 1;
        for (int i = 0; i < count; i++) narrow[i] += wide[i];
        for (int i = 0; i < count; i++) out[i + w - 1] += wide[i];
    }
    for (int i = 0; i < length; i++) out[i] += p[i];
}

void spans_forward(const float *logits, const int32_t *lengths, float *coverage, float *log_sum,
                   int64_t rows, int items, int max_size, int threads) {
#pragma omp parallel num_threads(threads)
    {
        float *work = malloc((size_t)(max_size + 1) * items * sizeof(float)), *p = work + items;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const float *s = logits + row * items;
            float *c = coverage + row * items, most = -INFINITY;
            int length = lengths[row], size = least(max_size, length);
            memset(c, 0, items * sizeof(float));
            log_sum[row] = 0;
            if (length == 0) continue;
            for (int i = 0; i < length; i++) most = s[i] > most ? s[i] : most;
            float total = span_exp(s, length, size, items, most, work, p), share = 1.0f / total;
            scatter(p, length, size, items, c);
            for (int i = 0; i < length; i++) c[i] *= share;
            log_sum[row] = most + logf(total);
        }
        free(work);
    }
}

/* grad holds dLoss/dcoverage; delta[row] = sum over items of coverage * grad. Writes dLoss/dlogits. */
void spans_backward(const float *logits, const int32_t *lengths, const float *log_sum, const float *grad,
                    const float *delta, float *grad_logits, int64_t rows, int items, int max_size, int threads) {
#pragma omp parallel num_threads(threads)
    {
        float *work = malloc((size_t)(max_size + 1) * items * sizeof(float)), *p = work + items;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const float *g = grad + row * items;
            float *out = grad_logits + row * items, mean = delta[row];
            int length = lengths[row], size = least(max_size, length);
            memset(out, 0, items * sizeof(float));
            if (length == 0) continue;
            span_exp(logits + row * items, length, size, items, log_sum[row], work, p);
            memcpy(work, g, length * sizeof(float));
            for (int w = 1; w <= size; w++) {
                int count = length - w + 1;
                float scale = 1.0f / w, *a = p + (w - 1) * items;
                if (w > 1)
                    for (int i = 0; i < count; i++) work[i] += g[i + w - 1];
                for (int i = 0; i < count; i++) a[i] *= (work[i] - mean) * scale;
            }
            scatter(p, length, size, items, out);
        }
        free(work);
    }
}
