/* The random streams and the minibatches of the chains at hand. */

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
