/* Steps of WIDTH chains at a time, all their state in a core's first cache. */

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

/* `count` steps of every chain of every row, from step `first` on (counted from 0).

   States and what the gradient estimator carries have the shape (S, width, C); `constants` (K or 1, S, CONSTANTS). `table`, shape
   (S, C, N, DIM), is written over. `size` data lie in `data` and, those of a run side by side, in `data_across`, with
   `data_weights` if they count differently; `indices`, shape (count MINIBATCHES BATCH, S, C), are the data of the minibatches
   unless they are drawn here; `handed`, shape (count DRAWS, S, DIM, C), are the step's draws unless they are drawn here, and
   `added`, shape (count MINIBATCHES, S, DIM, C), is noise that gradients add. Returns 0, or the number of the first step after
   which an entry of a state is NaN or beyond `bound`. Nothing else that is given is written over. States of the first row after
   steps marked in `kept` are written to `kept_states`, shape (steps kept, C, width), NULL for a variable that is not kept. */
EXPORTED i64 advance(i64 rows, i64 chains, i64 first_chain, i64 first, i64 count, const u64 *noise_keys, i64 noise_stride,
            const u64 *batch_keys, i64 batch_stride, const real *const *before, real *const *after,
            const real *constants, i64 constants_stride, const real *f, const double *deviations, i64 size,
            const real *offset, const real *restrict data, const real *restrict data_across, const real *data_weights,
            const uint32_t *indices, const real *handed, const real *added, real *table,
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
            memset(z, 0, sizeof z);
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
#if TABLE
            static _Thread_local real entering[MINIBATCHES][BATCH][WIDTH][DIM], latest[BATCH][WIDTH][DIM];
            static _Thread_local uint32_t places[MINIBATCHES][BATCH][WIDTH];
            real *const own_table = table + (s * chains + at) * size * DIM;
#endif
            for (i64 k = 0; k < count; k++) {
                const real *c = constants + k * constants_stride + s * CONSTANTS;
                BEGIN
                for (int draw = 0; draw < DRAWS; draw++)
#if HANDED
                    for (int j = 0; j < DIM; j++)
                        for (int l = from; l < to; l++)
                            z[draw][j][l] = handed[(((k * DRAWS + draw) * rows + s) * DIM + j) * chains + at + l];
#else
                    take_normals(&normals, ((first + k) * DRAWS + draw) * DIM, z[draw]);
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
