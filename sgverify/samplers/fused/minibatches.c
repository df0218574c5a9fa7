/* The minibatches of sgverify.samplers.gradients.minibatches, for all chains of a run, by the same draws in the same order.

   Minibatch q holds `batch` data out of `size`. `keys` holds two words for each row, `stride` apart (0 for one stream of all
   rows); the chains are `first_chain`, ..., `first_chain` + `chains` - 1. The data of the minibatches `first`, ..., `first` +
   `count` - 1 are written to `out`, shape (count batch, rows, chains). Returns 0, or 1 if there is no memory. */

#include <stdlib.h>

struct halves { const u64 *key; i64 cell, chain; uint32_t made[CELL][WIDTH]; };

/* The halves of a stream's words at this number, one for each chain at hand: see `_halves` in variates.py. */
static inline const uint32_t *take_halves(struct halves *source, i64 number)
{
    if (number / CELL != source->cell) {
        u64 w[WIDTH];
        source->cell = number / CELL;
        for (int row = 0; row < ROWS; row++) {
            words(source->key, source->cell, source->chain, row, w);
            EACH(l) {
                source->made[row][l] = (uint32_t)(w[l] >> 32);
                source->made[ROWS + row][l] = (uint32_t)w[l];
            }
        }
    }
    return source->made[number % CELL];
}

/* A whole number below `bound`: see `indices` in variates.py. */
static inline uint32_t below(uint32_t half, u64 bound) { return (uint32_t)(((u64)half * bound) >> 32); }

/* The chains at hand of one row: those from `from` to `to` of WIDTH lie at `at` of the run's chains. */
struct group { struct halves source; int from, to; i64 at; };

static struct group group_of(const u64 *key, i64 chain, i64 first_chain, i64 chains)
{
    struct group found = {{key, -1, chain, {{0}}}, 0, WIDTH, chain - first_chain};
    if (chain < first_chain)
        found.from = (int)(first_chain - chain);
    if (chain + WIDTH > first_chain + chains)
        found.to = (int)(first_chain + chains - chain);
    return found;
}

/* Fisher and Yates' shuffle of 0, ..., size - 1 for each chain at hand; `order` has the shape (WIDTH, size). */
static void shuffle(struct group *group, i64 epoch, i64 size, uint32_t *order)
{
    EACH(l) for (i64 k = 0; k < size; k++)
        order[l * size + k] = (uint32_t)k;
    for (i64 k = 0; k < size;) {
        const i64 number = epoch * size + k, place = number % CELL;
        const i64 count = size - k < CELL - place ? size - k : CELL - place;
        take_halves(&group->source, number);
        for (int l = group->from; l < group->to; l++) {
            uint32_t *own = order + l * size;
            for (i64 i = 0; i < count; i++) {
                const i64 other = k + i + below(group->source.made[place + i][l], (u64)(size - k - i));
                const uint32_t chosen = own[other];
                own[other] = own[k + i];
                own[k + i] = chosen;
            }
        }
        k += count;
    }
}

/* Blocks of permutations, swept once (`sweeps` = 1) or there and back (2): see `Reshuffle` and `Symmetric`.

   `orders` keeps the permutations of each group of WIDTH chains, and `epochs` which ones these are, from call to call. */
EXPORTED int blocks(const u64 *keys, i64 stride, i64 rows, i64 first_chain, i64 chains, i64 size, i64 batch, i64 sweeps,
                    i64 first, i64 count, uint32_t *orders, i64 *epochs, uint32_t *out)
{
    const i64 length = size / batch;
    for (i64 s = 0; s < rows; s++)
        for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {
            struct group group = group_of(keys + s * stride, chain, first_chain, chains);
            for (i64 q = 0; q < count; q++) {
                const i64 epoch = (first + q) / (sweeps * length), place = (first + q) % (sweeps * length);
                const i64 block = place < length ? place : 2 * length - 1 - place;
                if (*epochs != epoch)
                    shuffle(&group, epoch, size, orders);
                *epochs = epoch;
                for (i64 b = 0; b < batch; b++)
                    for (int l = group.from; l < group.to; l++)
                        out[((q * batch + b) * rows + s) * chains + group.at + l] = orders[l * size + block * batch + b];
            }
            orders += WIDTH * size;
            epochs++;
        }
    return 0;
}

/* Subsets by Floyd's algorithm: see `WithoutReplacement`. Data already taken are found by comparison, or in a table of bits. */
EXPORTED int subsets(const u64 *keys, i64 stride, i64 rows, i64 first_chain, i64 chains, i64 size, i64 batch, i64 first,
                     i64 count, uint32_t *out)
{
    const i64 width = size / 64 + 1;
    u64 *taken = batch > COMPARED ? calloc((size_t)width, sizeof *taken) : 0;
    uint32_t(*drawn)[WIDTH] = malloc((size_t)batch * sizeof *drawn);
    if (!drawn || (batch > COMPARED && !taken)) {
        free(drawn), free(taken);
        return 1;
    }
    for (i64 s = 0; s < rows; s++)
        for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {
            struct group group = group_of(keys + s * stride, chain, first_chain, chains);
            for (i64 q = 0; q < count; q++) {
                for (i64 k = 0; k < batch; k++) {
                    const uint32_t *half = take_halves(&group.source, (first + q) * batch + k);
                    const uint32_t last = (uint32_t)(size - batch + k);
                    uint32_t chosen[WIDTH];
                    EACH(l) chosen[l] = below(half[l], (u64)last + 1);
                    memcpy(drawn[k], chosen, sizeof chosen);
                    if (!taken)
                        for (i64 i = 0; i < k; i++)
                            EACH(l) drawn[k][l] = drawn[i][l] == chosen[l] ? last : drawn[k][l];
                }
                for (int l = group.from; taken && l < group.to; l++) {
                    for (i64 k = 0; k < batch; k++) {
                        if (taken[drawn[k][l] / 64] >> drawn[k][l] % 64 & 1)
                            drawn[k][l] = (uint32_t)(size - batch + k);
                        taken[drawn[k][l] / 64] |= (u64)1 << drawn[k][l] % 64;
                    }
                    for (i64 k = 0; k < batch; k++)
                        taken[drawn[k][l] / 64] = 0;
                }
                for (i64 k = 0; k < batch; k++)
                    for (int l = group.from; l < group.to; l++)
                        out[((q * batch + k) * rows + s) * chains + group.at + l] = drawn[k][l];
            }
        }
    free(drawn), free(taken);
    return 0;
}
