/* Area attention (Li et al. 2019, Eq. 1-4) and its gradients, one block of queries at a time.

   An area's logit is the mean of its items' scores. With boundary keys or a size bias, a score of its first item,
   one of its last item and one of its shape are added. The output is the items' coverage times the values, where
   coverage is the summed weight of the areas that contain an item. No area has a key or a value. The scores [items,
   BLOCK] of a block, queries innermost, stay in the second-level cache between the products; `sweep.h` computes the
   coverage from them.

   A mean never exceeds its best item, so the best item bounds all logits. With further terms there is no such bound
   among the items, and a separate sweep may have to find the largest logit. The backward pass computes the scores
   again. Besides the inputs it needs only the output, the bound and the logarithm of the summed weights.

   Letters: N rows (batch and heads), Q queries, M items, S area shapes, P scores: M for means, with boundary keys
   also M for first items, M for last items and S for shapes; E key width and D value width, both multiples of LANES. */

#include "sweep.h"

#if defined(__x86_64__)
/* Denormal numbers cost hundreds of cycles each and are not needed here, so they are flushed to zero. */
#define FAST_ZERO unsigned before = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(before | 0x8040)
#define AS_BEFORE __builtin_ia32_ldmxcsr(before)
#else
#define FAST_ZERO
#define AS_BEFORE
#endif

static const float LOG2_E = 1.44269504f;

/* The structure that `areaviz/attention/kernels/cpu.py` passes, field by field; NULL for missing parts. */
typedef struct {
    /* [N, Q, E], [N, M or 3 M + S, E], [N, M, D] */
    const float *query, *key, *value;
    /* Biases on the scores: per item [*, M], and per query and item [*, Q, M]; then for each of the N rows the index
       of its bias. */
    const float *padding, *bias;
    const int32_t *padding_row, *bias_row;
    /* Number of items up to the last one that any query may attend to, [N]. */
    const int32_t *seen;
    /* Biases on the logits, in units of log 2: per shape [N, S], and per area [*, extra_queries, R]. */
    const float *shape, *extra;
    const int32_t *extra_row;
    /* The output [N, Q, D]; then [N, Q] each: the bound of the logits and the base-2 logarithm of the summed
       weights. */
    float *output, *bound, *log_sum;
    /* Area weights [N, Q, R] and the items' coverage [N, Q, M]. */
    float *weights, *coverage;
    /* Gradients of the output [N, Q, D], query, key, value and shape. Those of key, value and shape have an axis of
       parts after N; each part sums the gradients of its own queries. */
    const float *grad;
    float *d_query, *d_key, *d_value, *d_shape;
    float scale;
    int32_t rows, queries, items, areas, width, tall, wide, keys, values, extra_queries;
    int32_t edges, terms, average, causal, parts, threads;
} Problem;

/* The working memory of one thread. */
typedef struct {
    float *whole;
    /* [P, BLOCK] each; cover and pull have M rows. */
    float *score, *slope, *cover, *pull;
    /* [E, BLOCK], [D, BLOCK] */
    float *query, *grad;
    /* For grids: sums over rows [tall, width, LANES], and the contributions of areas to their rows [2, width,
       LANES]: those of one height, then those of all greater heights as well. */
    float *high, *high_pull, *strip, *strip_slope;
    /* [R, LANES] each */
    float *extra, *weight;
} Scratch;

/* Queries [start, start + live) of row n, and the items they may attend to: a whole number of the memory's rows. */
typedef struct {
    const Problem *p;
    Scratch *s;
    long n, start, live, high, across, items;
} Block;

static long scores(const Problem *p) {
    return (long)p->items * (p->edges ? 3 : 1) + (p->terms ? p->tall * p->wide : 0);
}

static int prepare(const Problem *p, Scratch *s, int backward) {
    long items = (long)p->items * BLOCK, all_scores = scores(p) * BLOCK, areas = (long)p->areas * LANES;
    long grid = p->tall > 1 ? (long)p->width * LANES : 0;
    struct { float **place; long size; } parts[] = {
        {&s->score, all_scores}, {&s->slope, backward ? all_scores : 0}, {&s->cover, items},
        {&s->pull, backward ? items : 0}, {&s->query, (long)p->keys * BLOCK},
        {&s->grad, backward ? (long)p->values * BLOCK : 0}, {&s->high, p->tall * grid},
        {&s->high_pull, backward ? p->tall * grid : 0}, {&s->strip, 2 * grid},
        {&s->strip_slope, backward ? 2 * grid : 0},
        {&s->extra, p->extra ? areas : 0}, {&s->weight, p->weights ? areas : 0},
    };
    long size = 0, count = sizeof parts / sizeof *parts;
    for (int i = 0; i < count; i++) size += parts[i].size;
    /* aligned_alloc requires a whole number of cache lines. */
    s->whole = aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64);
    float *next = s->whole;
    for (int i = 0; i < count; i++) *parts[i].place = parts[i].size ? next : NULL, next += parts[i].size;
    return s->whole != NULL;
}

static Block block_of(const Problem *p, Scratch *s, long n, long start) {
    Block b = {p, s, n, start, least(BLOCK, p->queries - start), 1, 0, p->items};
    /* Weights and coverage can be returned only if all areas are computed. */
    if (!p->weights && !p->coverage) {
        b.items = least(b.items, p->seen[n]);
        if (p->causal) b.items = least(b.items, (long)p->items - p->queries + start + b.live);
        if (b.items < 0) b.items = 0;
    }
    if (p->width == p->items) b.across = b.items;
    else {
        b.across = p->width;
        b.high = (b.items + p->width - 1) / p->width;
        b.items = b.high * p->width;
    }
    return b;
}

/* Compute out[i][lane] = x[lane][i] * factor, with zeros in lanes without a query. */
static void transpose(const float *x, long live, long width, float factor, float *out) {
    for (long i = 0; i < width; i++) {
        for (long lane = 0; lane < live; lane++) out[i * BLOCK + lane] = x[lane * width + i] * factor;
        for (long lane = live; lane < BLOCK; lane++) out[i * BLOCK + lane] = 0;
    }
}

static void add_masks(const Block *b) {
    const Problem *p = b->p;
    float *score = b->s->score;
    if (p->padding) {
        const float *own = p->padding + (long)p->padding_row[b->n] * p->items;
        for (long j = 0; j < b->items; j++)
            if (own[j] != 0)
                for (int lane = 0; lane < BLOCK; lane++) score[j * BLOCK + lane] += own[j] * LOG2_E;
    }
    if (p->bias) {
        const float *own = p->bias + ((long)p->bias_row[b->n] * p->queries + b->start) * p->items;
        for (long lane = 0; lane < b->live; lane++)
            for (long j = 0; j < b->items; j++) score[j * BLOCK + lane] += own[lane * p->items + j] * LOG2_E;
    }
    if (p->causal) {
        long last = (long)p->items - p->queries + b->start;
        for (long j = last + 1 < 0 ? 0 : last + 1; j < b->items; j++)
            for (long lane = 0; lane < BLOCK; lane++)
                if (j > last + lane) score[j * BLOCK + lane] += MASKED;
    }
}

/* Find the groups of scores: the start of each, which is also its first key, and its size, in rows. */
static int groups(const Block *b, long at[4], long size[4]) {
    const Problem *p = b->p;
    int count = p->edges ? 3 : 1;
    for (int g = 0; g < count; g++) at[g] = (long)g * p->items, size[g] = b->items;
    if (p->edges) at[3] = 3l * p->items, size[3] = p->tall * p->wide;
    return p->edges ? 4 : count;
}

/* Compute the masked scores of the block, in units of log 2. */
static void score(const Block *b) {
    const Problem *p = b->p;
    Scratch *s = b->s;
    transpose(p->query + (b->n * p->queries + b->start) * p->keys, b->live, p->keys, p->scale * LOG2_E, s->query);
    long at[4], size[4], keys = p->edges ? scores(p) : p->items, shapes = p->tall * p->wide;
    int count = groups(b, at, size);
    for (int g = 0; g < count; g++) {
        float *out = s->score + at[g] * BLOCK;
        memset(out, 0, size[g] * BLOCK * sizeof(float));
        const float *key = p->key + (b->n * keys + at[g]) * p->keys;
        times_rows(size[g], p->keys, BLOCK, key, p->keys, s->query, BLOCK, out, BLOCK);
    }
    float *own = s->score + (scores(p) - shapes) * BLOCK;
    if (p->terms && !p->edges) memset(own, 0, shapes * BLOCK * sizeof(float));
    if (p->shape)
        for (long i = 0; i < shapes; i++)
            for (int lane = 0; lane < BLOCK; lane++) own[i * BLOCK + lane] += p->shape[b->n * shapes + i];
    add_masks(b);
}

/* Return the index of the first area of h rows and w columns in the order of all areas (`AreaGrid.slab`). */
static long slab(const Problem *p, long h, long w) {
    long high = p->items / p->width, runs = p->wide * p->width - p->wide * (p->wide - 1l) / 2;
    long before = ((h - 1) * high - (h - 1) * (h - 2) / 2) * runs;
    return before + (high - h + 1) * ((w - 1) * p->width - (w - 1) * (w - 2) / 2);
}

/* Return the row of areas of height h that end in row y, for the queries from `lane` on. */
static Row row_of(const Block *b, long y, int h, long lane, V shift) {
    const Problem *p = b->p;
    Scratch *s = b->s;
    Row r = {.length = b->across, .wide = p->wide, .step = LANES, .out_step = LANES, .average = p->average,
             .in = s->high + (h - 1) * p->width * LANES, .out = s->strip, .slope = s->strip_slope, .shift = shift};
    if (s->high_pull) r.pull = s->high_pull + (h - 1) * p->width * LANES;
    long top = (y - h + 1) * p->width * BLOCK + lane, bottom = y * p->width * BLOCK + lane;
    if (p->tall == 1) {
        r.in = s->score + bottom, r.pull = s->pull + bottom, r.out = s->cover + bottom, r.slope = s->slope + bottom;
        r.step = r.out_step = BLOCK;
    }
    for (int w = 0; w < p->wide; w++) r.share[w] = 1.0f / (h * (w + 1));
    long shapes = scores(p) - p->tall * p->wide + (h - 1) * p->wide, edge = (long)p->items * BLOCK;
    if (p->terms) r.shape = s->score + shapes * BLOCK + lane, r.shape_slope = s->slope + shapes * BLOCK + lane;
    if (p->edges) {
        r.first = s->score + edge + top, r.last = s->score + 2 * edge + bottom;
        r.first_slope = s->slope + edge + top, r.last_slope = s->slope + 2 * edge + bottom;
    }
    for (int w = 0; w < p->wide && (s->extra || s->weight); w++) {
        long place = (slab(p, h, w + 1) + (y - h + 1) * (p->width - w) - w) * LANES;
        if (s->extra) r.extra[w] = s->extra + place;
        if (s->weight) r.weight[w] = s->weight + place;
    }
    return r;
}

/* For every height, sum the columns over the rows that end in row y, and subtract the shift from each item. */
static void add_rows(const Block *b, const float *in, float *high, long y, int heights, V shift) {
    long width = b->p->width;
    for (int h = 1; h <= heights; h++)
        for (long x = 0; x < width; x++) {
            V item = load(in + ((y - h + 1) * width + x) * BLOCK) - shift;
            if (h > 1) item += load(high + ((h - 2) * width + x) * LANES);
            store(high + ((h - 1) * width + x) * LANES, item);
        }
}

/* Add the contributions of areas of height h to their first row. Heights are processed from the greatest down. The
   contribution of each height is added to the sum of the greater ones, and that sum to the row in which areas of
   this height begin. */
static void add_strip(const Block *b, float *strip, float *out, long y, int h, int highest) {
    long width = b->p->width;
    float *sums = strip + width * LANES;
    for (long x = 0; x < width; x++) {
        float *place = out + ((y - h + 1) * width + x) * BLOCK;
        V sum = load(strip + x * LANES);
        if (!highest) sum += load(sums + x * LANES);
        store(sums + x * LANES, sum);
        store(place, h == 1 ? sum : load(place) + sum);
    }
}

/* The tasks of a sweep over all rows. */
enum { FIND_MOST, COVER, SLOPES };

/* Sweep over all areas for the queries from `lane` on. Return the largest logit or the summed weights. */
static V sweep(const Block *b, int what, long lane, V shift, V log_sum, V delta) {
    const Problem *p = b->p;
    Scratch *s = b->s;
    V result = what == FIND_MOST ? all(-INFINITY) : all(0), none = all(0);
    for (long y = 0; y < b->high; y++) {
        int heights = least(p->tall, y + 1);
        if (p->tall > 1) add_rows(b, s->score + lane, s->high, y, heights, p->terms ? none : shift);
        if (p->tall > 1 && what == SLOPES) add_rows(b, s->pull + lane, s->high_pull, y, heights, none);
        for (int h = heights; h >= 1; h--) {
            Row r = row_of(b, y, h, lane, p->tall > 1 && !p->terms ? none : shift);
            r.log_sum = log_sum, r.delta = delta;
            if (what == FIND_MOST) result = most_of_row(&r, result);
            else if (what == COVER) result += cover_row(&r);
            else slopes_row(&r);
            if (p->tall > 1 && what != FIND_MOST) add_strip(b, s->strip, s->cover + lane, y, h, h == heights);
            if (p->tall > 1 && what == SLOPES) add_strip(b, s->strip_slope, s->slope + lane, y, h, h == heights);
        }
    }
    return result;
}

/* Write the weights and the coverage of the queries from `lane` on, each times the factor of its query. */
static void write_weights(const Block *b, long lane, const float *share) {
    const Problem *p = b->p;
    for (long i = 0; i < LANES && lane + i < b->live; i++) {
        long q = b->n * p->queries + b->start + lane + i;
        for (long r = 0; r < p->areas && p->weights; r++)
            p->weights[q * p->areas + r] = b->s->weight[r * LANES + i] * share[i];
        for (long j = 0; j < p->items && p->coverage; j++)
            p->coverage[q * p->items + j] = b->s->cover[j * BLOCK + lane + i] * share[i];
    }
}

static void read_extra(const Block *b, long lane) {
    const Problem *p = b->p;
    for (long i = 0; i < LANES; i++) {
        long q = p->extra_queries > 1 ? least(b->start + lane + i, p->queries - 1) : 0;
        const float *own = p->extra + ((long)p->extra_row[b->n] * p->extra_queries + q) * p->areas;
        for (long r = 0; r < p->areas; r++) b->s->extra[r * LANES + i] = own[r];
    }
}

/* Return the largest score of a group in every lane; NaN if the first score is NaN. */
static V largest_of(const Block *b, long at, long size, long lane) {
    const float *score = b->s->score + at * BLOCK + lane;
    V best = load(score);
    for (long j = 1; j < size; j++) best = largest(load(score + j * BLOCK), best);
    return best;
}

/* Return the summed weights of the queries from `lane` on, and the shift that was used, which is at least the
   largest logit. For means the bound is the best item. With further terms it is the sum of the terms' bounds, which
   is rarely so far above all logits that the weights vanish. If they do, or if areas have individual biases, the
   largest logit is searched. */
static V summed(const Block *b, long lane, V best, V *shift) {
    const Problem *p = b->p;
    long items = p->items, shapes = p->tall * p->wide;
    *shift = best;
    if (p->edges) *shift += largest_of(b, items, b->items, lane) + largest_of(b, 2 * items, b->items, lane);
    if (p->terms) *shift += largest_of(b, scores(p) - shapes, shapes, lane);
    int search = p->extra != NULL;
    V none = all(0), total = search ? none : sweep(b, COVER, lane, *shift, none, none);
    for (int i = 0; i < LANES && p->terms; i++) search |= lane + i < b->live && total[i] < 0x1p-60f;
    if (!search) return total;
    *shift = sweep(b, FIND_MOST, lane, none, none, none);
    return sweep(b, COVER, lane, *shift, none, none);
}

/* Compute the coverage of the queries from `lane` on, and the factors that normalise it. */
static void cover_lanes(const Block *b, long lane, float *share) {
    if (b->p->extra) read_extra(b, lane);
    V best = largest_of(b, 0, b->items, lane), shift, total = summed(b, lane, best, &shift);
    long first = b->n * b->p->queries + b->start + lane;
    for (int i = 0; i < LANES; i++) {
        /* No area has a weight if every area is banned or contains a masked item. */
        int nothing = best[i] <= MASKED / 2 || shift[i] <= MASKED / 2 / MOST / MOST;
        share[i] = nothing ? 0 : 1 / total[i];
        if (lane + i >= b->live) continue;
        b->p->bound[first + i] = shift[i];
        b->p->log_sum[first + i] = nothing ? -MASKED : log2f(total[i]);
    }
    write_weights(b, lane, share);
}

static void forward(const Block *b) {
    const Problem *p = b->p;
    long first = b->n * p->queries + b->start;
    float share[BLOCK], *out = p->output + first * p->values;
    memset(out, 0, b->live * p->values * sizeof(float));
    for (long i = 0; i < b->live; i++) p->bound[first + i] = 0, p->log_sum[first + i] = -MASKED;
    if (!b->items) return;
    score(b);
    for (long lane = 0; lane < b->live; lane += LANES) cover_lanes(b, lane, share + lane);
    times_columns(b->live, b->items, p->values, b->s->cover, BLOCK, p->value + b->n * p->items * p->values, p->values,
                  out, p->values);
    for (long i = 0; i < b->live; i++)
        for (long v = 0; v < p->values; v++) out[i * p->values + v] *= share[i];
}

/* Compute the inner product of the output and its gradient in every lane. */
static void deltas(const Block *b, float *delta) {
    long values = b->p->values, first = (b->n * b->p->queries + b->start) * values;
    for (long i = 0; i < BLOCK; i++) {
        delta[i] = 0;
        for (long v = 0; v < values && i < b->live; v++)
            delta[i] += b->p->grad[first + i * values + v] * b->p->output[first + i * values + v];
    }
}

/* Add the block's part to the gradients; those of query and key still lack the scale. */
static void backward(const Block *b, long part) {
    const Problem *p = b->p;
    Scratch *s = b->s;
    long first = b->n * p->queries + b->start, E = p->keys, D = p->values, shapes = p->tall * p->wide;
    float delta[BLOCK], bound[BLOCK], log_sum[BLOCK], *d_query = p->d_query + first * E;
    memset(d_query, 0, b->live * E * sizeof(float));
    if (!b->items) return;
    score(b);
    transpose(p->grad + first * D, b->live, D, 1, s->grad);
    memset(s->pull, 0, b->items * BLOCK * sizeof(float));
    if (p->terms) memset(s->slope, 0, scores(p) * BLOCK * sizeof(float));
    const float *value = p->value + b->n * p->items * D;
    times_rows(b->items, D, BLOCK, value, D, s->grad, BLOCK, s->pull, BLOCK);
    deltas(b, delta);
    for (long i = 0; i < BLOCK; i++) {
        bound[i] = i < b->live ? p->bound[first + i] : 0;
        log_sum[i] = i < b->live ? p->log_sum[first + i] : -MASKED;
    }
    for (long lane = 0; lane < b->live; lane += LANES)
        sweep(b, SLOPES, lane, load(bound + lane), load(log_sum + lane), load(delta + lane));

    long at[4], size[4], keys = p->edges ? scores(p) : p->items, count = groups(b, at, size);
    for (int g = 0; g < count; g++) {
        const float *slope = s->slope + at[g] * BLOCK;
        times_columns(b->live, size[g], E, slope, BLOCK, p->key + (b->n * keys + at[g]) * E, E, d_query, E);
        times_rows(size[g], b->live, E, slope, BLOCK, p->query + first * E, E, p->d_key + (part * keys + at[g]) * E, E);
    }
    times_rows(b->items, b->live, D, s->cover, BLOCK, p->grad + first * D, D, p->d_value + part * p->items * D, D);
    const float *own = s->slope + (scores(p) - shapes) * BLOCK;
    if (p->d_shape)
        for (long i = 0; i < shapes; i++)
            for (long lane = 0; lane < b->live; lane++) p->d_shape[part * shapes + i] += own[i * BLOCK + lane];
}

/* Each block is computed by one thread from beginning to end, and the blocks of a part are computed in order, so
   results do not depend on the order of the threads. Both functions return 0, or 1 if there is not enough memory. */
int areas_forward(const Problem *p) {
    long blocks = (p->queries + BLOCK - 1) / BLOCK;
    int failed = 0;
#pragma omp parallel num_threads(p->threads) reduction(| : failed)
    {
        FAST_ZERO;
        Scratch s;
        failed = !prepare(p, &s, 0);
#pragma omp for schedule(dynamic)
        for (long task = 0; task < p->rows * blocks; task++)
            if (!failed) {
                Block b = block_of(p, &s, task / blocks, task % blocks * BLOCK);
                forward(&b);
            }
        free(s.whole);
        AS_BEFORE;
    }
    return failed;
}

int areas_backward(const Problem *p) {
    long blocks = (p->queries + BLOCK - 1) / BLOCK;
    int failed = 0;
#pragma omp parallel num_threads(p->threads) reduction(| : failed)
    {
        FAST_ZERO;
        Scratch s;
        failed = !prepare(p, &s, 1);
#pragma omp for schedule(dynamic)
        for (long part = 0; part < (long)p->rows * p->parts; part++)
            for (long i = part % p->parts; i < blocks && !failed; i += p->parts) {
                Block b = block_of(p, &s, part / p->parts, i * BLOCK);
                backward(&b, part);
            }
        free(s.whole);
        AS_BEFORE;
    }
    return failed;
}

/* Return the number of channels of which key and value widths must be a multiple. */
int lanes(void) { return LANES; }
