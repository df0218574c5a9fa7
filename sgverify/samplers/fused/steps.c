/* Steps of WIDTH chains at a time, all their state in a core's first cache, with a composite's actions between the steps. */

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

#if TABLE
/* The gradients of the data in a table, [chain][datum][coordinate], added in order. */
static void sum_table(const real *table, i64 size, int from, int to, real (*sum)[WIDTH])
{
    for (int l = from; l < to; l++) {
        real own[DIM] = {0};
        for (i64 i = 0; i < size; i++)
            for (int j = 0; j < DIM; j++)
                own[j] = own[j] + table[(l * size + i) * DIM + j];
        for (int j = 0; j < DIM; j++)
            sum[j][l] = own[j];
    }
}

/* The gradients of a minibatch less the table's, of the data `places` [datum][chain], added in order.

   One chain after the other, as the table lies, with the sum in registers. */
static void sum_changes(const real *table, i64 size, int from, int to, uint32_t (*places)[WIDTH],
                        real (*found)[WIDTH][DIM], real (*out)[WIDTH])
{
    for (int l = from; l < to; l++) {
        real sum[DIM] = {0};
        for (int b = 0; b < BATCH; b++) {
            const real *entry = table + (l * size + places[b][l]) * DIM;
            for (int j = 0; j < DIM; j++)
                sum[j] = sum[j] + (found[b][l][j] - entry[j]);
        }
        for (int j = 0; j < DIM; j++)
            out[j][l] = sum[j];
    }
}

/* The gradients of the step's minibatches, [minibatch][datum][chain][coordinate], enter the table and its sum one by one. */
static void enter_minibatches(real *restrict table, i64 size, int from, int to, uint32_t (*places)[BATCH][WIDTH],
                              real (*restrict entering)[BATCH][WIDTH][DIM], real (*sum)[WIDTH])
{
    for (int l = from; l < to; l++) {
        real own[DIM];
        for (int j = 0; j < DIM; j++)
            own[j] = sum[j][l];
        for (int m = 0; m < MINIBATCHES; m++)
            for (int b = 0; b < BATCH; b++) {
                real *entry = table + (l * size + places[m][b][l]) * DIM;
                const real *found = entering[m][b][l];
                for (int j = 0; j < DIM; j++) {
                    own[j] = own[j] + (found[j] - entry[j]);
                    entry[j] = found[j];
                }
            }
        for (int j = 0; j < DIM; j++)
            sum[j][l] = own[j];
    }
}
#endif

/* A stream of data for energies: its two key words of each row, or the data given for these steps, shape (numbers, rows, C). */
struct drawn { const u64 *keys; const uint32_t *given; i64 size; };

/* The same for the chains at hand; `used` of the given data belong to earlier actions. */
struct apart {
    const u64 *key;
    const uint32_t *given;
    i64 cell, chain, stride, used;
    u64 size;
    uint32_t made[CELL][WIDTH];
};

/* The datum of each chain at hand at a place in the present minibatch, whose numbers in the stream begin with `first`. */
static inline const uint32_t *take_apart(struct apart *source, i64 first, i64 place)
{
    if (source->given)
        return source->given + (source->used + place) * source->stride;
    const i64 number = first + place;
    if (number / CELL != source->cell) {
        source->cell = number / CELL;
        fill_indices(source->key, source->cell, source->chain, source->size, source->made);
    }
    return source->made[number % CELL];
}

/* The whole numbers below FINEST of this number in the stream, one for each chain at hand, or those put in their places. */
static inline void take_uniforms(struct apart *source, i64 number, int from, int to, double *put, double *out)
{
    const uint32_t *drawn = take_apart(source, number, 0);
    EACH(l) out[l] = (double)drawn[l];
    for (int l = from; put && l < to; l++) {
        if (put[l] != put[l])
            put[l] = out[l];
        out[l] = put[l];
    }
}

DECLARE_GIVEN

/* `count` steps of every chain of every row, from step `first` on (counted from 0); the REPLICAS of a chain move together.

   A row s is a group of REPLICAS rows of the run, s REPLICAS + r. What is held, states first, has the shape (rows, width, C);
   `constants` (K or 1, rows, CONSTANTS). `table`, shape (rows, C, N, DIM), is written over. With `fresh`, what gradients carry is
   computed at the first step. `size` data lie in `data` and, those of a run side by side, in `data_across`, with `data_weights` if
   they count differently; `indices`, shape (count MINIBATCHES BATCH, rows, C), are the data of the minibatches unless they are
   drawn here; `handed`, shape (count DRAWS, rows REPLICAS, DIM, C), are the step's draws unless they are drawn here, and `added`,
   shape (count MINIBATCHES, rows, DIM, C), is noise that gradients add. `numbers`, shape (K, rows, NUMBERS), are those of a step
   that all chains share; `drawn` are the streams of the minibatches, apart from those of gradients, on which actions compute
   energies; `put`, shape (K, rows, REPLICAS, C), NULL but in a proof, are read in place of the whole numbers that actions draw,
   and where they are NaN, receive those drawn. Returns 0, or the number of the first step after which, before an action, an entry
   of a state is NaN or beyond `bound`. Nothing else that is given is written over. Of the first replica of the first row, states
   and what else is recorded after steps marked in `kept` are written to `kept_values`, shape (steps kept, C, width), NULL for what
   is not kept. */
EXPORTED i64 advance(const struct given *given)
{
    GIVEN
    static _Thread_local struct normal_source normals[REPLICAS];
    static _Thread_local struct index_source chosen;
    static _Thread_local struct apart apart[APART + 1], uniform[UNIFORMS + 1];
    i64 beyond = 0;
    for (i64 s = 0; s < rows; s++)
        for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {
            const int from = chain < first_chain ? (int)(first_chain - chain) : 0;
            const int to = chain + WIDTH > first_chain + chains ? (int)(first_chain + chains - chain) : WIDTH;
            const i64 at = chain - first_chain;
            DECLARE_STATE
            real z[ALL_DRAWS + 1][DIM][WIDTH], g[MINIBATCHES + 1][DIM][WIDTH];
            double sums[OBSERVED + 1][WIDTH];
            memset(z, 0, sizeof z);
            memset(g, 0, sizeof g);
            memset(sums, 0, sizeof sums);
            LOAD_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums[o][l] = sums_before[SUMMED(o) * chains + at + l];
            for (int r = 0; r < REPLICAS; r++) {
                normals[r].key = noise_keys + (s * REPLICAS + r) * noise_stride;
                normals[r].cell = -1, normals[r].chain = chain;
            }
            chosen.key = batch_keys + s * batch_stride, chosen.cell = -1, chosen.chain = chain, chosen.size = (u64)size;
            chosen.given = indices + s * chains + at, chosen.stride = rows * chains;
            chosen.start = first * MINIBATCHES * BATCH, chosen.end = (first + count) * MINIBATCHES * BATCH;
            for (int n = 0; n < APART; n++) {
                apart[n].key = drawn[n].keys + s * 2, apart[n].cell = -1, apart[n].chain = chain;
                apart[n].given = drawn[n].given ? drawn[n].given + s * chains + at : 0;
                apart[n].stride = rows * chains, apart[n].used = 0, apart[n].size = (u64)drawn[n].size;
            }
            for (int r = 0; r < UNIFORMS; r++) {
                uniform[r].key = uniform_keys + (s * REPLICAS + r) * 2, uniform[r].cell = -1;
                uniform[r].chain = chain, uniform[r].given = 0, uniform[r].size = FINEST;
            }
            i64 kept_so_far = 0;
#if TABLE
            static _Thread_local real entering[MINIBATCHES][BATCH][WIDTH][DIM], latest[BATCH][WIDTH][DIM];
            static _Thread_local uint32_t places[MINIBATCHES][BATCH][WIDTH];
            real *const own_table = table + (s * chains + at) * size * DIM;
#endif
            for (i64 k = 0; k < count; k++) {
                const real *c = constants + k * constants_stride + s * CONSTANTS;
                const double *const number = numbers + (k * rows + s) * NUMBERS;
                BEGIN
                for (int r = 0; r < REPLICAS; r++)
                    for (int draw = 0; draw < DRAWS; draw++)
#if HANDED
                        for (int j = 0; j < DIM; j++)
                            for (int l = from; l < to; l++)
                                z[r * DRAWS + draw][j][l] =
                                    handed[((((k * DRAWS + draw) * rows + s) * REPLICAS + r) * DIM + j) * chains + at + l];
#else
                        take_normals(&normals[r], ((first + k) * DRAWS + draw) * DIM, z[r * DRAWS + draw]);
#endif
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
                ENTER
                int left = 0;
                CHECK_STATE
                if (left && (beyond == 0 || k + 1 < beyond))
                    beyond = k + 1;
                if (left)
                    break;
                ACT
                OBSERVE
                if (s == 0 && kept && kept[k]) {
                    KEEP
                    kept_so_far++;
                }
            }
            STORE_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums_after[SUMMED(o) * chains + at + l] = sums[o][l];
        }
    return beyond;
}
