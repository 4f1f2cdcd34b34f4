/* Vectors of the processor's width, and the product of two small matrices in them.

   The code uses the vector extensions of GCC and Clang, and the compiler's flags determine the width. Only the
   maximum of two vectors is written for each processor, because the extensions have no maximum that keeps NaN. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#define TILE 8
#elif defined(__AVX2__)
#include <immintrin.h>
#define LANES 8
#define TILE 4
#else
#define LANES 4
#define TILE 4
#endif

/* Number of queries that are computed together: two vectors. */
#define BLOCK (2 * LANES)
/* Depth of a product whose operands stay in the first-level cache. */
#define DEPTH 64

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

typedef float V __attribute__((vector_size(LANES * 4)));
typedef float Loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t I __attribute__((vector_size(LANES * 4)));

INLINE V load(const float *x) { return *(const Loose *)x; }
INLINE void store(float *x, V v) { *(Loose *)x = v; }
INLINE V all(float x) { return x - (V){0}; }
INLINE long least(long a, long b) { return a < b ? a : b; }

/* Return the larger of a and b in every lane; b if either is NaN. */
INLINE V largest(V a, V b) {
#if defined(__AVX512F__)
    return (V)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (V)_mm256_max_ps((__m256)a, (__m256)b);
#else
    I larger = a > b;
    return (V)(((I)a & larger) | ((I)b & ~larger));
#endif
}

/* Return 2 to the power of x, for x up to 127: exactly 0 for x of at most -127, and otherwise with a relative error
   of 2e-7. Adding 1.5 * 2^23 rounds x to a whole number in the low bits. This number is added to the exponent of 2
   to the power of the remainder, which a polynomial of least relative error approximates. NaN stays NaN. */
INLINE V power(V x) {
    x = largest(all(-127.0f), x);
    const V magic = all(12582912.0f);
    V whole = x + magic, rest = x - (whole - magic);
    V p = all(0x1.5bba14p-10f);
    p = p * rest + all(0x1.3cea88p-7f);
    p = p * rest + all(0x1.c6b752p-5f);
    p = p * rest + all(0x1.ebf9bcp-3f);
    p = p * rest + all(0x1.62e42ap-1f);
    p = p * rest + all(1.0f);
    return (V)((I)p + ((I)whole << 23));
}

/* A matrix that is read element by element: element (r, k) is at data[r * across + k * along]. */
typedef struct {
    const float *data;
    long across, along;
} Matrix;

/* Add the sum over k of a(r, k) * b[k] to c[r], for a few rows r of one or two vectors. */
INLINE void tile(const int rows, const int vectors, long depth, Matrix a, const float *b, long b_step, float *c,
                 long c_step) {
    V sum[TILE][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = load(c + r * c_step + v * LANES);
    for (long k = 0; k < depth; k++) {
        V row[2];
        UNROLL for (int v = 0; v < vectors; v++) row[v] = load(b + k * b_step + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            V factor = all(a.data[r * a.across + k * a.along]);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += factor * row[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) store(c + r * c_step + v * LANES, sum[r][v]);
}

INLINE void tiles(const int vectors, long rows, long depth, Matrix a, const float *b, long b_step, float *c,
                  long c_step) {
    long r = 0;
    for (; r + TILE <= rows; r += TILE, a.data += TILE * a.across, c += TILE * c_step)
        tile(TILE, vectors, depth, a, b, b_step, c, c_step);
    for (; r + TILE / 2 <= rows; r += TILE / 2, a.data += TILE / 2 * a.across, c += TILE / 2 * c_step)
        tile(TILE / 2, vectors, depth, a, b, b_step, c, c_step);
    for (; r < rows; r++, a.data += a.across, c += c_step) tile(1, vectors, depth, a, b, b_step, c, c_step);
}

/* Add the sum over k of a(r, k) * b[k] to c[r], for rows of `columns` numbers, a multiple of LANES. */
INLINE void multiply(long rows, long depth, long columns, Matrix a, const float *b, long b_step, float *c,
                     long c_step) {
    for (long k = 0; k < depth; k += DEPTH) {
        Matrix part = {a.data + k * a.along, a.across, a.along};
        long deep = least(DEPTH, depth - k), v = 0;
        for (; v + BLOCK <= columns; v += BLOCK)
            tiles(2, rows, deep, part, b + k * b_step + v, b_step, c + v, c_step);
        if (v < columns) tiles(1, rows, deep, part, b + k * b_step + v, b_step, c + v, c_step);
    }
}

/* The two memory layouts of a matrix, so that the compiler knows one of its steps. */
static void times_rows(long rows, long depth, long columns, const float *a, long step, const float *b, long b_step,
                       float *c, long c_step) {
    multiply(rows, depth, columns, (Matrix){a, step, 1}, b, b_step, c, c_step);
}

static void times_columns(long rows, long depth, long columns, const float *a, long step, const float *b, long b_step,
                          float *c, long c_step) {
    multiply(rows, depth, columns, (Matrix){a, 1, step}, b, b_step, c, c_step);
}
