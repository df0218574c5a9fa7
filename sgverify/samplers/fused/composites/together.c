/* Steps of WIDTH chains at a time, the REPLICAS of a chain together, with a composite's actions between the steps.

   A row s is a group of REPLICAS rows of the run, s REPLICAS + r. What is held has the shape (rows, width, C); `constants`
   (K or 1, rows, CONSTANTS). `numbers`, shape (K, rows, NUMBERS), are those of a step that all chains share; `put`,
   shape (K, rows, REPLICAS, C), NULL but in a proof, are read in place of the whole numbers that actions draw, and where they are
   NaN, receive those drawn; `drawn` are the streams of the minibatches, apart from those of
   gradients, on which the actions compute energies. Returns 0, or the number of the first step after which an entry of a state
   is NaN or beyond `bound`, before an action. Nothing else that is given is written over. Of the first replica of the first row, states
   and what else is recorded after steps marked in `kept` are written to `kept_values`, shape (steps kept, C, width), NULL for what
   is not kept. */
struct arrays {
    const double *energy_rows;
    const real *energy_data, *energy_whole, *energy_weights;
    const double *deviations;
    i64 size;
    const real *offset, *data, *data_across, *data_weights;
};

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

EXPORTED i64 advance_together(i64 rows, i64 chains, i64 first_chain, i64 first, i64 count, const u64 *noise_keys,
            const u64 *batch_keys, void *const *before, void *const *after,
            const real *constants, i64 constants_stride, const real *f, const double *fw, const struct arrays *arrays,
            const uint32_t *indices, const struct drawn *drawn, const double *numbers,
            const u64 *uniform_keys, double *put,
            real bound, const double *weights, const uint8_t *counted, const double *sums_before, double *sums_after,
            const uint8_t *kept, void *const *kept_values)
{
    static _Thread_local struct normal_source normals[REPLICAS];
    static _Thread_local struct index_source chosen;
    static _Thread_local struct apart apart[APART + 1], uniform[UNIFORMS + 1];
    const double *const energy_rows = arrays->energy_rows;
    const real *const energy_data = arrays->energy_data, *const energy_whole = arrays->energy_whole;
    const real *const energy_weights = arrays->energy_weights;
    const double *const deviations = arrays->deviations;
    const real *const offset = arrays->offset, *const data = arrays->data;
    const real *const data_across = arrays->data_across, *const data_weights = arrays->data_weights;
    const i64 size = arrays->size;
    i64 beyond = 0;
    for (i64 s = 0; s < rows; s++)
        for (i64 chain = first_chain / WIDTH * WIDTH; chain < first_chain + chains; chain += WIDTH) {
            const int from = chain < first_chain ? (int)(first_chain - chain) : 0;
            const int to = chain + WIDTH > first_chain + chains ? (int)(first_chain + chains - chain) : WIDTH;
            const i64 at = chain - first_chain;
            DECLARE_STATE
            real z[ALL_DRAWS + 1][DIM][WIDTH], g[MINIBATCHES + 1][DIM][WIDTH];
            double sums[OBSERVED + 1][WIDTH];
            memset(g, 0, sizeof g);
            memset(sums, 0, sizeof sums);
            LOAD_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums[o][l] = sums_before[SUMMED(o) * chains + at + l];
            for (int r = 0; r < REPLICAS; r++) {
                normals[r].key = noise_keys + (s * REPLICAS + r) * 2;
                normals[r].cell = -1, normals[r].chain = chain;
            }
            chosen.key = batch_keys + s * 2, chosen.cell = -1, chosen.chain = chain, chosen.size = (u64)size;
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
            for (i64 k = 0; k < count; k++) {
                const real *c = constants + k * constants_stride + s * CONSTANTS;
                const double *const number = numbers + (k * rows + s) * NUMBERS;
                BEGIN
                for (int r = 0; r < REPLICAS; r++)
                    for (int draw = 0; draw < DRAWS; draw++)
                        take_normals(&normals[r], ((first + k) * DRAWS + draw) * DIM, z[r * DRAWS + draw]);
#if MINIBATCHES && ADDS
                for (int m = 0; m < MINIBATCHES; m++)
                    take_minibatch(&chosen, (first + k) * MINIBATCHES + m, from, to, deviations, offset, g[m]);
#endif
                STEP
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
