/* Steps of WIDTH chains at a time, all their state in a core's first cache. */

/* One stream's numbers of the chains at hand, a cell of them at a time. */
struct normal_source { const u64 *key; i64 cell, chain; real made[CELL][WIDTH]; };
struct index_source {
    const u64 *key;
    i64 cell, chain;
    u64 size;
    const uint32_t *given; /* The indices of the row from `start` on, shape (numbers, S, C), of the chains from `at` on. */
    i64 start, end, stride;
    uint32_t made[CELL][WIDTH];
};

/* DIM numbers of the stream from `number` on. */
static inline void take_normals(struct normal_source *source, i64 number, real (*out)[WIDTH])
{
    for (int j = 0; j < DIM; j++, number++) {
        if (number / CELL != source->cell) {
            source->cell = number / CELL;
            fill_normals(source->key, source->cell, source->chain, source->made);
        }
        memcpy(out[j], source->made[number % CELL], sizeof out[j]);
    }
}

/* The cell of data indices in which `number` lies: drawn here, or copied from the given ones. */
static inline void meet_indices(struct index_source *source, i64 number, int from, int to)
{
    if (number / CELL == source->cell)
        return;
    source->cell = number / CELL;
#if IID
    fill_indices(source->key, source->cell, source->chain, source->size, source->made);
#else
    memset(source->made, 0, sizeof source->made);
    for (i64 n = 0; n < CELL; n++) {
        const i64 place = source->cell * CELL + n;
        if (source->start <= place && place < source->end)
            for (int l = from; l < to; l++)
                source->made[n][l] = source->given[(place - source->start) * source->stride + l];
    }
#endif
}

/* The data indices of this number in the stream, one for each chain at hand. */
static inline const uint32_t *take_indices(struct index_source *source, i64 number, int from, int to)
{
    meet_indices(source, number, from, to);
    return source->made[number % CELL];
}

#if MINIBATCHES && ADDS && !NOISY
/* The minibatch of this number: BATCH rows of `deviations` are summed in their order, in float64. */
static inline void take_minibatch(struct index_source *source, i64 number, int from, int to, const double *deviations,
                                  const real *offset, real (*out)[WIDTH])
{
    double total[WIDTH][PADDED];
    for (i64 n = number * BATCH, done = 0; done < BATCH;) {
        meet_indices(source, n, from, to);
        int place = (int)(n % CELL);
        int count = (int)(BATCH - done < CELL - place ? BATCH - done : CELL - place);
        for (int l = from; l < to; l++) {
            double sum[PADDED];
            int b = 0;
            if (done == 0)
                memcpy(sum, deviations + (u64)source->made[place + b++][l] * PADDED, sizeof sum);
            else
                memcpy(sum, total[l], sizeof sum);
            for (; b < count; b++) {
                const double *row = deviations + (u64)source->made[place + b][l] * PADDED;
                for (int j = 0; j < PADDED; j++)
                    sum[j] += row[j];
            }
            memcpy(total[l], sum, sizeof sum);
        }
        n += count, done += count;
    }
    for (int j = 0; j < DIM; j++)
        for (int l = from; l < to; l++)
            out[j][l] = (real)(total[l][j] / (double)BATCH) + offset[j];
}
#endif

/* `count` steps of every chain of every row, from step `first` on (counted from 0).

   States and what the gradient estimator carries have the shape (S, width, C); `constants` (K or 1, S, CONSTANTS). `anew`:
   nothing is carried yet. `size` data lie in `data` and, those of a run side by side, in `data_across`, with `data_weights` if
   they count differently; `indices`, shape (count MINIBATCHES BATCH, S, C), are the data of the minibatches unless they are
   drawn here; `added`, shape (count MINIBATCHES, S, DIM, C), is noise that gradients add. Returns 0, or the number of the first
   step after which an entry of a state is NaN or beyond `bound`. Nothing that is given is written over. States of the first row
   after steps marked in `kept` are written to `kept_states`, shape (steps kept, C, width), NULL for a variable that is not kept. */
EXPORTED i64 advance(i64 rows, i64 chains, i64 first_chain, i64 first, i64 count, const u64 *noise_keys, i64 noise_stride,
            const u64 *batch_keys, i64 batch_stride, const real *const *before, real *const *after,
            const real *constants, i64 constants_stride, const real *f, const double *deviations, i64 size,
            const real *offset, const real *data, const real *data_across, const real *data_weights,
            const uint32_t *indices, const real *added, int anew,
            real bound, const double *weights, const uint8_t *counted, const double *sums_before,
            double *sums_after, const uint8_t *kept, real *const *kept_states)
{
    static _Thread_local struct normal_source normals;
    static _Thread_local struct index_source chosen;
    i64 beyond = 0;
    for (i64 s = 0; s < rows; s++)
        for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {
            const int from = chain < first_chain ? (int)(first_chain - chain) : 0;
            const int to = chain + WIDTH > first_chain + chains ? (int)(first_chain + chains - chain) : WIDTH;
            const i64 at = chain - first_chain;
            DECLARE_STATE
            real z[DRAWS + 1][DIM][WIDTH], g[MINIBATCHES + 1][DIM][WIDTH];
            double sums[OBSERVED + 1][WIDTH];
            memset(g, 0, sizeof g);
            memset(sums, 0, sizeof sums);
            LOAD_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums[o][l] = sums_before[(o * rows + s) * chains + at + l];
            normals = (struct normal_source){noise_keys + s * noise_stride, -1, chain, {{0}}};
            chosen.key = batch_keys + s * batch_stride, chosen.cell = -1, chosen.chain = chain, chosen.size = (u64)size;
            chosen.given = indices + s * chains + at, chosen.stride = rows * chains;
            chosen.start = first * MINIBATCHES * BATCH, chosen.end = (first + count) * MINIBATCHES * BATCH;
            i64 kept_so_far = 0;
            for (i64 k = 0; k < count; k++) {
                const real *c = constants + k * constants_stride + s * CONSTANTS;
                BEGIN
                for (int draw = 0; draw < DRAWS; draw++)
                    take_normals(&normals, ((first + k) * DRAWS + draw) * DIM, z[draw]);
#if MINIBATCHES && ADDS
                for (int m = 0; m < MINIBATCHES; m++)
#if NOISY
                    for (int j = 0; j < DIM; j++)
                        for (int l = from; l < to; l++)
                            g[m][j][l] = added[(((k * MINIBATCHES + m) * rows + s) * DIM + j) * chains + at + l];
#else
                    take_minibatch(&chosen, (first + k) * MINIBATCHES + m, from, to, deviations, offset, g[m]);
#endif
#endif
                STEP
                int left = 0;
                CHECK_STATE
                if (left && (beyond == 0 || k + 1 < beyond))
                    beyond = k + 1;
                if (left)
                    break;
                if (OBSERVED && counted[k * rows + s]) {
                    const double weight = weights[k * rows + s];
                    OBSERVE
                }
                if (s == 0 && kept && kept[k]) {
                    KEEP
                    kept_so_far++;
                }
            }
            STORE_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums_after[(o * rows + s) * chains + at + l] = sums[o][l];
        }
    return beyond;
}

#ifdef STREAMS
/* The streams alone, for the tests: numbers `first`, ..., of one row. Shape (count, C). */
EXPORTED void draw_normals(i64 chains, i64 first_chain, i64 first, i64 count, const u64 *key, real *out)
{
    real made[CELL][WIDTH];
    for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH)
        for (i64 cell = first / CELL; cell <= (first + count - 1) / CELL; cell++) {
            fill_normals(key, cell, chain, made);
            for (i64 n = 0; n < CELL; n++)
                for (i64 l = 0; l < WIDTH; l++) {
                    i64 number = cell * CELL + n - first, place = chain + l - first_chain;
                    if (0 <= number && number < count && 0 <= place && place < chains)
                        out[number * chains + place] = made[n][l];
                }
        }
}

EXPORTED void draw_indices(i64 chains, i64 first_chain, i64 first, i64 count, const u64 *key, i64 bound, i64 *out)
{
    uint32_t made[CELL][WIDTH];
    for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH)
        for (i64 cell = first / CELL; cell <= (first + count - 1) / CELL; cell++) {
            fill_indices(key, cell, chain, (u64)bound, made);
            for (i64 n = 0; n < CELL; n++)
                for (i64 l = 0; l < WIDTH; l++) {
                    i64 number = cell * CELL + n - first, place = chain + l - first_chain;
                    if (0 <= number && number < count && 0 <= place && place < chains)
                        out[number * chains + place] = made[n][l];
                }
        }
}
#endif
