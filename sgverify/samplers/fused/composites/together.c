/* Steps of WIDTH chains at a time, the REPLICAS of a chain together, with a composite's actions between the steps.

   A row s is a group of REPLICAS rows of the run, s REPLICAS + r. What is held has the shape (rows, width, C); `constants`
   (K or 1, rows, CONSTANTS). `numbers`, shape (K, rows, NUMBERS), are those of a step that all chains share; `chances`,
   shape (K, rows, REPLICAS, C), are logarithms of uniform numbers; `apart`, shape (events BATCH, rows, C), are the data of the
   minibatches on which the actions compute energies. Returns 0, or the number of the first step after which an entry of a state
   is NaN or beyond `bound`, before an action. Nothing that is given is written over. */
struct arrays {
    const double *energy_deviations, *energy_heights;
    const real *energy_data, *energy_whole, *energy_weights;
    const double *deviations;
    i64 size;
    const real *offset, *data, *data_across, *data_weights;
};

EXPORTED i64 advance_together(i64 rows, i64 chains, i64 first_chain, i64 first, i64 count, const u64 *noise_keys,
            const u64 *batch_keys, void *const *before, void *const *after,
            const real *constants, i64 constants_stride, const real *f, const double *fw, const struct arrays *arrays,
            const uint32_t *indices, const uint32_t *apart, const double *numbers, const double *chances,
            real bound, const double *weights, const uint8_t *counted, const double *sums_before, double *sums_after)
{
    static _Thread_local struct normal_source normals[REPLICAS];
    static _Thread_local struct index_source chosen;
    const double *const energy_deviations = arrays->energy_deviations, *const energy_heights = arrays->energy_heights;
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
            real z[REPLICAS * DRAWS + 1][DIM][WIDTH], g[MINIBATCHES + 1][DIM][WIDTH];
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
            i64 apart_event = 0;
            for (i64 k = 0; k < count; k++) {
                const real *c = constants + k * constants_stride + s * CONSTANTS;
                const double *const number = numbers + (k * rows + s) * NUMBERS;
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
            }
            STORE_STATE
            for (int o = 0; o < OBSERVED; o++)
                for (int l = from; l < to; l++)
                    sums_after[SUMMED(o) * chains + at + l] = sums[o][l];
        }
    return beyond;
}
