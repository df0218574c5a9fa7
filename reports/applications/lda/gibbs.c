/* Collapsed Gibbs sampling of the topics of each token, and the counts that it leaves on average.

   pi[r][v][k]: the topics of R rows; row r reads the documents and the uniforms of the seed r % seeds. words[c][d][i] with
   lengths[c][d]; uniforms[c][d][t][i] in (0, 1). by_word[r][v][k] and by_document[r][d][k] are added to: the number of tokens of
   word v, or of document d, in topic k, summed over the sweeps after the first `burn`. Every sum runs in the order of k, so that
   the bits are those of the same sums in numpy. LANES documents move side by side: one sum waits for the last, several do not.
   `z` has room for longest x LANES, `counts` and `sums` for topics x LANES. */

#include <stdint.h>

#define LANES 8

typedef int64_t i64;

void gibbs(const double *pi, const int32_t *words, const int32_t *lengths, const double *uniforms, double *by_word,
           double *by_document, i64 rows, i64 seeds, i64 documents, i64 longest, i64 vocabulary, i64 topics, i64 burn,
           i64 sweeps, double alpha, int32_t *z, double (*counts)[LANES], double (*sums)[LANES])
{
    for (i64 r = 0; r < rows; r++) {
        const i64 c = r % seeds;
        const double *own = pi + r * vocabulary * topics;
        double *found = by_word + r * vocabulary * topics;
        for (i64 first = 0; first < documents; first += LANES) {
            const i64 count = documents - first < LANES ? documents - first : LANES;
            const int32_t *word[LANES];
            const double *uniform[LANES], *row[LANES];
            i64 length[LANES] = {0}, last = 0;
            for (i64 l = 0; l < LANES; l++) {
                /* A lane without a document reads the first one, and changes nothing. */
                const i64 place = c * documents + first + (l < count ? l : 0);
                word[l] = words + place * longest;
                uniform[l] = uniforms + place * sweeps * longest;
                length[l] = l < count ? lengths[place] : 0;
                last = length[l] > last ? length[l] : last;
            }
            for (i64 k = 0; k < topics; k++)
                for (int l = 0; l < LANES; l++)
                    counts[k][l] = 0.0;
            for (i64 t = 0; t < sweeps; t++) {
                for (i64 i = 0; i < last; i++) {
                    double sum[LANES], bar[LANES];
                    i64 chosen[LANES];
                    for (int l = 0; l < LANES; l++) {
                        if (t > 0 && i < length[l])
                            counts[z[i * LANES + l]][l] -= 1.0;
                        row[l] = own + word[l][i] * topics;
                        sum[l] = 0.0;
                        chosen[l] = 0;
                    }
                    for (i64 k = 0; k < topics; k++)
                        for (int l = 0; l < LANES; l++) {
                            sum[l] = sum[l] + row[l][k] * (counts[k][l] + alpha);
                            sums[k][l] = sum[l];
                        }
                    for (int l = 0; l < LANES; l++)
                        bar[l] = uniform[l][t * longest + i] * sum[l];
                    for (i64 k = 0; k < topics - 1; k++)
                        for (int l = 0; l < LANES; l++)
                            chosen[l] += sums[k][l] < bar[l];
                    for (int l = 0; l < LANES; l++) {
                        if (i >= length[l])
                            continue;
                        z[i * LANES + l] = (int32_t)chosen[l];
                        counts[chosen[l]][l] += 1.0;
                        if (t >= burn)
                            found[word[l][i] * topics + chosen[l]] += 1.0;
                    }
                }
                if (t >= burn)
                    for (i64 l = 0; l < count; l++)
                        for (i64 k = 0; k < topics; k++)
                            by_document[(r * documents + first + l) * topics + k] += counts[k][l];
            }
        }
    }
}
