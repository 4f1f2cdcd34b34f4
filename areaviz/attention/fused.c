/* Area attention, one row of item logits at a time (Li et al. 2019, Eq. 1-4).

   A row holds the logits of one query for `items` memory items, a grid `width` items wide. Its areas are the
   rectangles of at most tall x wide items; an area's logit is the mean of its items' logits, so a row and its at most
   tall * wide running means stay in the first-level cache from softmax to coverage. A text is a grid of one row, of
   which the first `length` items may be attended; of a larger grid all may.

   Where areas have terms of their own (boundary keys, a size bias), an area's logit is that mean plus a number of its
   first item, one of its last and one of its shape. No item bounds it then, so all logits are made before the largest
   is known.

   All loops are plain ones over contiguous floats, across the ends of the grid's rows: the compiler makes vector code
   of them. What such a loop computes for places where no area fits is set to zero by `fits`. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int items, width, tall, wide, length;
    float *run, *sum, *weight, *fits;
} Row;

static int least(int a, int b) { return a < b ? a : b; }

/* At how many places, counted along the row, an area of h x w items could begin. */
static int places(const Row *r, int h, int w) { return r->length - (h - 1) * r->width - (w - 1); }

static float *weights(const Row *r, int h, int w) { return r->weight + ((w - 1) * r->tall + h - 1) * r->items; }

/* Scratch memory for one thread; `fits` only for a grid of several rows. */
static Row prepare(int items, int width, int tall, int wide) {
    Row r = {items, width, tall, wide, items, 0, 0, 0, 0};
    int masks = width < items ? wide : 0;
    r.run = malloc((size_t)(2 + tall * wide + masks) * items * sizeof(float));
    r.sum = r.run + items;
    r.weight = r.sum + items;
    if (masks) r.fits = r.weight + tall * wide * items;
    for (int w = 1; w <= masks; w++)
        for (int i = 0; i < items; i++) r.fits[(w - 1) * items + i] = i % width <= width - w;
    return r;
}

static void shorten(Row *r, int length, int wide) {
    r->length = length;
    r->wide = r->width == r->items ? least(wide, length) : wide;
}

/* The sums of s over all areas of h x w items, made from those of h - 1 rows or w - 1 columns: call with h and w
   rising from 1, h the faster. */
static const float *area_sums(Row *r, const float *s, int h, int w) {
    int n = places(r, 1, w);
    if (h == 1 && w == 1) memcpy(r->run, s, n * sizeof(float));
    if (h == 1 && w > 1)
        for (int i = 0; i < n; i++) r->run[i] += s[i + w - 1];
    if (r->tall == 1) return r->run;
    const float *below = r->run + (h - 1) * r->width;
    n = places(r, h, w);
    if (h == 1) memcpy(r->sum, r->run, n * sizeof(float));
    else
        for (int i = 0; i < n; i++) r->sum[i] += below[i];
    return r->sum;
}

/* weight = exp(mean of s over the area - shift) for every area; returns the sum of all. */
static float weigh(Row *r, const float *s, float shift) {
    float total = 0;
    for (int w = 1; w <= r->wide; w++)
        for (int h = 1; h <= r->tall; h++) {
            const float *sums = area_sums(r, s, h, w), scale = 1.0f / (h * w);
            float *p = weights(r, h, w);
            int n = places(r, h, w);
            for (int i = 0; i < n; i++) p[i] = expf(sums[i] * scale - shift);
            if (r->fits)
                for (int i = 0; i < n; i++) p[i] *= r->fits[(w - 1) * r->items + i];
            for (int i = 0; i < n; i++) total += p[i];
        }
    return total;
}

/* out[i] = the weights of all areas that hold item i; destroys the weights. Of the areas that begin in one place,
   those at least h high reach the item h - 1 below, those at least w wide the item w - 1 to the right. */
static void spread(Row *r, float *out) {
    float *carry = r->run;
    memset(carry, 0, r->length * sizeof(float));
    memset(out, 0, r->items * sizeof(float));
    for (int w = r->wide; w >= 1; w--) {
        for (int h = r->tall; h > 1; h--) {
            float *high = weights(r, h, w), *lower = weights(r, h - 1, w), *below = carry + (h - 1) * r->width;
            int n = places(r, h, w);
            for (int i = 0; i < n; i++) lower[i] += high[i];
            for (int i = 0; i < n; i++) below[i] += high[i];
        }
        float *p = weights(r, 1, w), *right = out + w - 1;
        int n = places(r, 1, w);
        for (int i = 0; i < n; i++) carry[i] += p[i];
        for (int i = 0; i < n; i++) right[i] += carry[i];
    }
}

/* What logits have besides means: per item as the first and as the last of an area, and per shape (h, w) at
   (h - 1) * wide + w - 1, `wide` that of the whole grid. first and last are NULL where there are none. */
typedef struct {
    const float *first, *last, *shape;
    int wide;
} Terms;

/* logit of every area, in the place of its weight; far below all others where no area fits. Returns the largest. */
static float logits_of(Row *r, const float *s, const Terms *t) {
    float most = -INFINITY;
    for (int w = 1; w <= r->wide; w++)
        for (int h = 1; h <= r->tall; h++) {
            const float *sums = area_sums(r, s, h, w), scale = 1.0f / (h * w);
            const float own = t->shape[(h - 1) * t->wide + w - 1];
            float *p = weights(r, h, w);
            int n = places(r, h, w), end = (h - 1) * r->width + w - 1;
            for (int i = 0; i < n; i++) p[i] = sums[i] * scale + own;
            if (t->first)
                for (int i = 0; i < n; i++) p[i] += t->first[i] + t->last[i + end];
            if (r->fits)
                for (int i = 0; i < n; i++) p[i] = r->fits[(w - 1) * r->items + i] > 0 ? p[i] : -1e30f;
            for (int i = 0; i < n; i++) most = p[i] > most ? p[i] : most;
        }
    return most;
}

/* weight = exp(logit - shift) for every area; returns the sum of all. */
static float exponentials(Row *r, float shift) {
    float total = 0;
    for (int w = 1; w <= r->wide; w++)
        for (int h = 1; h <= r->tall; h++) {
            float *p = weights(r, h, w);
            int n = places(r, h, w);
            for (int i = 0; i < n; i++) p[i] = expf(p[i] - shift);
            for (int i = 0; i < n; i++) total += p[i];
        }
    return total;
}

/* The terms of a row of scores: `items` means, then as many of first and of last items where `edges`, then shapes. */
static Terms terms_of(const float *scores, int items, int wide, int edges) {
    Terms t = {0, 0, scores + items * (edges ? 3 : 1), wide};
    if (edges) t.first = scores + items, t.last = scores + 2 * items;
    return t;
}

void terms_forward(const float *scores, const int32_t *lengths, float *coverage, float *log_sum, int64_t rows,
                   int items, int width, int tall, int wide, int edges, int threads) {
    const int64_t step = items * (edges ? 3 : 1) + tall * wide;
#pragma omp parallel num_threads(threads)
    {
        Row r = prepare(items, width, tall, wide);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const float *s = scores + row * step;
            float *c = coverage + row * items;
            Terms t = terms_of(s, items, wide, edges);
            shorten(&r, lengths[row], wide);
            log_sum[row] = 0;
            if (r.length == 0) {
                memset(c, 0, items * sizeof(float));
                continue;
            }
            float most = logits_of(&r, s, &t), total = exponentials(&r, most), share = 1.0f / total;
            spread(&r, c);
            for (int i = 0; i < r.length; i++) c[i] *= share;
            log_sum[row] = most + logf(total);
        }
        free(r.run);
    }
}

/* grad holds dLoss/dcoverage, delta as in areas_backward. Writes the gradients of all scores, laid out like them. */
void terms_backward(const float *scores, const int32_t *lengths, const float *log_sum, const float *grad,
                    const float *delta, float *grad_scores, int64_t rows, int items, int width, int tall, int wide,
                    int edges, int threads) {
    const int64_t step = items * (edges ? 3 : 1) + tall * wide;
#pragma omp parallel num_threads(threads)
    {
        Row r = prepare(items, width, tall, wide);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const float *s = scores + row * step, mean = delta[row];
            float *out = grad_scores + row * step, *shape = out + items * (edges ? 3 : 1);
            Terms t = terms_of(s, items, wide, edges);
            memset(out, 0, step * sizeof(float));
            shorten(&r, lengths[row], wide);
            if (r.length == 0) continue;
            logits_of(&r, s, &t);
            exponentials(&r, log_sum[row]);
            for (int w = 1; w <= r.wide; w++)
                for (int h = 1; h <= tall; h++) {
                    const float *sums = area_sums(&r, grad + row * items, h, w), scale = 1.0f / (h * w);
                    float *p = weights(&r, h, w), total = 0;
                    int n = places(&r, h, w), end = (h - 1) * width + w - 1;
                    for (int i = 0; i < n; i++) p[i] *= sums[i] - mean;
                    for (int i = 0; i < n; i++) total += p[i];
                    shape[(h - 1) * wide + w - 1] = total;
                    if (edges) {
                        float *first = out + items, *last = out + 2 * items + end;
                        for (int i = 0; i < n; i++) first[i] += p[i];
                        for (int i = 0; i < n; i++) last[i] += p[i];
                    }
                    for (int i = 0; i < n; i++) p[i] *= scale;
                }
            spread(&r, out);
        }
        free(r.run);
    }
}

void areas_forward(const float *logits, const int32_t *lengths, float *coverage, float *log_sum, int64_t rows,
                   int items, int width, int tall, int wide, int threads) {
#pragma omp parallel num_threads(threads)
    {
        Row r = prepare(items, width, tall, wide);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const float *s = logits + row * items;
            float *c = coverage + row * items, most = -INFINITY;
            shorten(&r, lengths[row], wide);
            log_sum[row] = 0;
            if (r.length == 0) {
                memset(c, 0, items * sizeof(float));
                continue;
            }
            for (int i = 0; i < r.length; i++) most = s[i] > most ? s[i] : most;
            float total = weigh(&r, s, most), share = 1.0f / total;
            spread(&r, c);
            for (int i = 0; i < r.length; i++) c[i] *= share;
            log_sum[row] = most + logf(total);
        }
        free(r.run);
    }
}

/* grad holds dLoss/dcoverage; delta[row] = sum over items of coverage * grad. Writes dLoss/dlogits. */
void areas_backward(const float *logits, const int32_t *lengths, const float *log_sum, const float *grad,
                    const float *delta, float *grad_logits, int64_t rows, int items, int width, int tall, int wide,
                    int threads) {
#pragma omp parallel num_threads(threads)
    {
        Row r = prepare(items, width, tall, wide);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            float *out = grad_logits + row * items, mean = delta[row];
            shorten(&r, lengths[row], wide);
            if (r.length == 0) {
                memset(out, 0, items * sizeof(float));
                continue;
            }
            weigh(&r, logits + row * items, log_sum[row]);
            for (int w = 1; w <= r.wide; w++)
                for (int h = 1; h <= tall; h++) {
                    const float *sums = area_sums(&r, grad + row * items, h, w), scale = 1.0f / (h * w);
                    float *p = weights(&r, h, w);
                    int n = places(&r, h, w);
                    for (int i = 0; i < n; i++) p[i] *= (sums[i] - mean) * scale;
                }
            spread(&r, out);
        }
        free(r.run);
    }
}
