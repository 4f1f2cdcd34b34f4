/* Areas of one height along one row of the memory, for LANES queries at once.

   The items are swept from left to right. For each width there is a running sum of scores, which is computed from
   that of one item less, and a pending coverage, which is written as soon as no later area can contain its item.
   Both stay in registers if the compiler knows the largest width. Exponentials and scores have base 2. */

#include "lanes.h"

/* Largest width; other implementations compute wider areas. */
#define MOST 32
/* Score of a masked item. It is far below any real score, yet its mean with real scores stays finite and its power
   is 0. */
#define MASKED -1e30f

/* One row. Pointers advance by `step` floats per item, those to outputs by `out_step`, those to terms and weights by
   BLOCK and LANES. */
typedef struct {
    int length, wide;
    long step, out_step;
    /* Scores, and in the backward pass the gradients of the coverage. */
    const float *in, *pull;
    /* Coverage, and in the backward pass the gradients of the scores. */
    float *out, *slope;
    /* Scores of items as the first and as the last item of an area (NULL without boundary keys), and scores of each
       width; NULL without further terms. */
    const float *first, *last, *shape;
    float *first_slope, *last_slope, *shape_slope;
    /* For every area that ends at the first item, by width: the bias on its logit, and the place for its weight. */
    const float *extra[MOST];
    float *weight[MOST];
    /* Whether values are means; coverage is then divided by the size. */
    int average;
    /* 1 / size by width. */
    float share[MOST];
    /* Values to subtract: a bound of all logits, from the scores if logits are means alone; the logarithm of the
       summed weights, if the weights must sum to one; and the mean of the gradients, from the gradients. The first
       two are kept separate because their sum would be rounded to the magnitude of the logits. */
    V shift, log_sum, delta;
} Row;

/* The properties of a sweep that are known at compile time, so that the compiler can drop unused code. */
typedef struct {
    int wide, terms, edges, extra, weights, average;
} Kind;

INLINE V logit(const Row *r, const Kind k, int w, long x, V sum, V begin, V end) {
    V result = sum * r->share[w] - r->log_sum;
    if (k.edges) result += begin;
    if (k.terms) result += end + load(r->shape + w * BLOCK);
    if (k.extra && x >= w) result += load(r->extra[w] + x * LANES);
    return result;
}

/* Extend the running sums and first items by one more item. */
INLINE void grow(const Row *r, const Kind k, long x, V *sum, V *begin, V *end) {
    V score = load(r->in + x * r->step);
    if (!k.terms) score -= r->shift;
    UNROLL for (int w = k.wide - 1; w > 0; w--) sum[w] = sum[w - 1] + score;
    sum[0] = score;
    *end = all(0) - r->shift;
    if (k.edges) {
        UNROLL for (int w = k.wide - 1; w > 0; w--) begin[w] = begin[w - 1];
        begin[0] = load(r->first + x * BLOCK);
        *end += load(r->last + x * BLOCK);
    }
}

/* Write the coverage that has been pending for `wide - 1` items, and shift the rest. */
INLINE void release(const Kind k, long x, V *held, float *out, long step, int add) {
    if (x >= k.wide - 1) {
        float *place = out + (x - k.wide + 1) * step;
        store(place, add ? load(place) + held[k.wide - 1] : held[k.wide - 1]);
    }
    UNROLL for (int w = k.wide - 1; w > 0; w--) held[w] = held[w - 1];
    held[0] = all(0);
}

INLINE void flush(const Kind k, long length, const V *held, float *out, long step, int add) {
    for (int w = 1; w < k.wide && w <= length; w++) {
        float *place = out + (length - w) * step;
        store(place, add ? load(place) + held[w] : held[w]);
    }
}

/* Return the largest logit of all areas that end in the row. */
INLINE V most_of(const Row *r, const Kind k, V most) {
    V sum[MOST], begin[MOST], end;
    UNROLL for (int w = 0; w < k.wide; w++) sum[w] = all(MASKED), begin[w] = all(0);
    for (long x = 0; x < r->length; x++) {
        grow(r, k, x, sum, begin, &end);
        UNROLL for (int w = 0; w < k.wide; w++) most = largest(most, logit(r, k, w, x, sum[w], begin[w], end));
    }
    return most;
}

/* Write the contributions of the row's areas to the coverage of their columns; return the sum of their weights. */
INLINE V cover(const Row *r, const Kind k) {
    V sum[MOST], begin[MOST], held[MOST], end, total = all(0);
    UNROLL for (int w = 0; w < k.wide; w++) sum[w] = all(MASKED), begin[w] = held[w] = all(0);
    for (long x = 0; x < r->length; x++) {
        grow(r, k, x, sum, begin, &end);
        V wider = all(0);
        UNROLL for (int w = k.wide - 1; w >= 0; w--) {
            V weight = power(logit(r, k, w, x, sum[w], begin[w], end));
            if (k.weights && x >= w) store(r->weight[w] + x * LANES, weight);
            if (k.average) {
                total += weight;
                weight *= r->share[w];
            }
            wider += weight;
            held[w] += wider;
        }
        if (!k.average) total += wider;
        release(k, x, held, r->out, r->out_step, 0);
    }
    flush(k, r->length, held, r->out, r->out_step, 0);
    return total;
}

/* Write the contributions to the coverage with weights that sum to one, and the gradients of all scores. */
INLINE void slopes(const Row *r, const Kind k) {
    V sum[MOST], begin[MOST], pulls[MOST], held[MOST], slope[MOST], from[MOST], shape[MOST], end;
    UNROLL for (int w = 0; w < k.wide; w++) {
        sum[w] = all(MASKED);
        begin[w] = pulls[w] = held[w] = slope[w] = from[w] = shape[w] = all(0);
    }
    for (long x = 0; x < r->length; x++) {
        grow(r, k, x, sum, begin, &end);
        V pull = load(r->pull + x * r->step), wider = all(0), steeper = all(0), here = all(0);
        UNROLL for (int w = k.wide - 1; w > 0; w--) pulls[w] = pulls[w - 1] + pull;
        pulls[0] = pull;
        UNROLL for (int w = k.wide - 1; w >= 0; w--) {
            V share = all(r->share[w]), weight = power(logit(r, k, w, x, sum[w], begin[w], end));
            V own = weight * ((k.average ? pulls[w] * share : pulls[w]) - r->delta);
            if (k.terms) shape[w] += own;
            if (k.edges) {
                here += own;
                from[w] += own;
            }
            steeper += own * share;
            slope[w] += steeper;
            wider += k.average ? weight * share : weight;
            held[w] += wider;
        }
        release(k, x, held, r->out, r->out_step, 0);
        release(k, x, slope, r->slope, r->out_step, 0);
        if (k.edges) {
            release(k, x, from, r->first_slope, BLOCK, 1);
            float *place = r->last_slope + x * BLOCK;
            store(place, load(place) + here);
        }
    }
    flush(k, r->length, held, r->out, r->out_step, 0);
    flush(k, r->length, slope, r->slope, r->out_step, 0);
    if (k.edges) flush(k, r->length, from, r->first_slope, BLOCK, 1);
    if (k.terms)
        UNROLL for (int w = 0; w < k.wide; w++) {
            float *place = r->shape_slope + w * BLOCK;
            store(place, load(place) + shape[w]);
        }
}

/* Sweeps with widths that are known to the compiler: for mean keys, for boundary keys, and for all options. For all
   other sweeps the compiler knows no property. */
#define KNOWN(W, call)                                                \
    case 3 * W: return call(r, (Kind){W, 0, 0, 0, 0, 0});             \
    case 3 * W + 1: return call(r, (Kind){W, 1, 1, 0, 0, 0});         \
    case 3 * W + 2: return call(r, (Kind){W, terms, edges, extra, weights, r->average});
#define SWEEP(call)                                                   \
    int terms = r->shape != NULL, edges = r->first != NULL;           \
    int extra = r->extra[0] != NULL, weights = r->weight[0] != NULL;  \
    int other = extra || weights || r->average || terms != edges;     \
    switch (3 * r->wide + (other ? 2 : terms)) {                      \
        KNOWN(1, call) KNOWN(2, call) KNOWN(3, call)                  \
        KNOWN(4, call) KNOWN(5, call) KNOWN(6, call)                  \
    }                                                                 \
    return call(r, (Kind){r->wide, terms, edges, extra, weights, r->average});

static V cover_row(const Row *r) { SWEEP(cover) }
static void slopes_row(const Row *r) { SWEEP(slopes) }

/* This is rarely needed, so the compiler need not know its width. */
static V most_of_row(const Row *r, V most) {
    return most_of(r, (Kind){r->wide, r->shape != NULL, r->first != NULL, r->extra[0] != NULL, 0, 0}, most);
}
