/* The variates of sgverify.samplers.randomness.variates, of the words of sgverify.samplers.randomness.philox, for WIDTH chains at once.

   `real` is float or double. The same operations in the same order as there: with IEEE arithmetic and without
   contraction (-ffp-contract=off) the same bits. */

#include <stdint.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t i64;

#define CELL (2 * ROWS)
#define BLOCKS (ROWS * LANES / 4)
#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED
#endif
#define EACH(l) for (int l = 0; l < WIDTH; l++)
#define EACH_AT_ONCE(first, l) for (int l = first; l < first + AT_ONCE; l++)
#define EACH_OF_RUN(l) for (int l = 0; l < RUN; l++)

/* Philox4x64-10. Source: Salmon, Moraes, Dror, Shaw 2011. */
static inline void philox(u64 c0, u64 c2, u64 k0, u64 k1, u64 *out)
{
    u64 c1 = 0, c3 = 0;
    for (int round = 0; round < 10; round++) {
        unsigned __int128 first = (unsigned __int128)0xD2E7470EE14C6C93u * c0;
        unsigned __int128 second = (unsigned __int128)0xCA5A826395121157u * c2;
        c0 = (u64)(second >> 64) ^ c1 ^ k0;
        c2 = (u64)(first >> 64) ^ c3 ^ k1;
        c1 = (u64)second;
        c3 = (u64)first;
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* The words of one row of a cell, of the chains `chain`, ..., `chain` + WIDTH - 1, which lie in one group of LANES. */
static inline void words(const u64 *key, i64 cell, i64 chain, int row, u64 *out)
{
    u64 counter = 1 + (u64)(chain / LANES) * BLOCKS + (u64)(LANES * row + chain % LANES) / 4;
    for (int i = 0; i < WIDTH / 4; i++)
        philox(counter + i, (u64)cell, key[0], key[1], out + 4 * i);
}

/* Two independent standard normals of each word: see `box_muller`. */
static inline void box_muller(const u64 *w, real *first, real *second)
{
    EACH(l) {
        real high = (real)((i64)w[l] >> ANGLE_BITS) + (real)0.5;
        real u = FABS(high);
        whole bits, mantissa;
        memcpy(&bits, &u, sizeof u);
        whole exponent = (bits - SQRT_HALF) >> MANTISSA;
        mantissa = bits - (whole)((uwhole)exponent << MANTISSA);
        memcpy(&u, &mantissa, sizeof u);
        real s = (u - (real)1) / (u + (real)1);
        real square = s * s;
        real series = LOG_SERIES(square) * s;
        series = series + (real)(exponent - RADIUS_BITS) * (real)MINUS_TWO_LOG_2;
        real radius = COPYSIGN(SQRT(series), high);
        real y = (real)(i64)(w[l] & (((u64)1 << ANGLE_BITS) - 1));
        y = (y - (real)ANGLE_MIDDLE) * (real)ANGLE_UNIT;
        square = y * y;
        real sine = SIN_SERIES(square) * y;
        square = sine * sine;
        real cosine = SQRT((real)1 - square);
        first[l] = (square * (real)-2 + (real)1) * radius;
        second[l] = sine * (real)2 * cosine * radius;
    }
}

/* The normals of one cell of a stream: see `normals`. */
static void fill_normals(const u64 *key, i64 cell, i64 chain, real (*out)[WIDTH])
{
    u64 w[WIDTH];
    for (int row = 0; row < ROWS; row++) {
        words(key, cell, chain, row, w);
        box_muller(w, out[row], out[ROWS + row]);
    }
}

/* The whole numbers below `bound` of one cell of a stream: see `indices`. */
static void fill_indices(const u64 *key, i64 cell, i64 chain, u64 bound, uint32_t (*out)[WIDTH])
{
    u64 w[WIDTH];
    for (int row = 0; row < ROWS; row++) {
        words(key, cell, chain, row, w);
        EACH(l) {
            out[row][l] = (uint32_t)(((w[l] >> 32) * bound) >> 32);
            out[ROWS + row][l] = (uint32_t)(((w[l] & 0xFFFFFFFFu) * bound) >> 32);
        }
    }
}

#ifdef STREAMS
/* The numbers `first`, ..., `first` + `count` - 1 of one stream, for chains side by side, to rows of `out` that lie `stride` apart. */

#define STRETCH(fill, made, type)                                                                                          \
    for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {                          \
        const i64 from = chain < first_chain ? first_chain - chain : 0;                                                    \
        const i64 to = chain + WIDTH > first_chain + chains ? first_chain + chains - chain : WIDTH;                        \
        for (i64 cell = first / CELL; cell <= (first + count - 1) / CELL; cell++) {                                        \
            fill;                                                                                                          \
            const i64 begin = cell * CELL < first ? first - cell * CELL : 0;                                               \
            const i64 end = (cell + 1) * CELL > first + count ? first + count - cell * CELL : CELL;                        \
            for (i64 n = begin; n < end; n++) {                                                                            \
                type *row = out + (cell * CELL + n - first) * stride + chain - first_chain;                                \
                for (i64 l = from; l < to; l++)                                                                            \
                    row[l] = made[n][l];                                                                                   \
            }                                                                                                              \
        }                                                                                                                  \
    }

EXPORTED void draw_normals(i64 chains, i64 first_chain, i64 first, i64 count, const u64 *key, i64 stride, real *out)
{
    real made[CELL][WIDTH];
    STRETCH(fill_normals(key, cell, chain, made), made, real)
}

EXPORTED void draw_indices(i64 chains, i64 first_chain, i64 first, i64 count, const u64 *key, i64 stride, i64 *out, i64 bound)
{
    uint32_t made[CELL][WIDTH];
    STRETCH(fill_indices(key, cell, chain, (u64)bound, made), made, i64)
}
#endif
