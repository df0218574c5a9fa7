/* Gibbs sweeps over the hidden units of a sigmoid belief network; `hidden_units.py` has the formula and the reference.

   The pixels are padded to blocks of LANES with weights 0, which change nothing. A ratio of two factors of p(v | h) lies between
   exp(-|W|) and exp(|W|), so that the product over all pixels may leave the range of a double: the logarithm is then taken of
   parts of the product. */
#include <math.h>
#include <stdint.h>

#define LANES 8

static int moderate(double x)
{
    return x > 1e-200 && x < 1e200;
}

/* The product over d of 1 + sigma[d] change[d]; what of it leaves the moderate range is returned in *beyond, as a logarithm. */
static double product(const double *restrict sigma, const double *restrict change, int64_t padded, double *beyond)
{
    double whole = 1.0, sum = 0.0;
    for (int64_t first = 0; first < padded; first += 8 * LANES) {
        double part[LANES];
        for (int k = 0; k < LANES; k++)
            part[k] = 1.0;
        int64_t last = first + 8 * LANES < padded ? first + 8 * LANES : padded;
        for (int64_t d = first; d < last; d += LANES)
            for (int k = 0; k < LANES; k++)
                part[k] *= 1.0 + sigma[d + k] * change[d + k];
        double next = whole * (((part[0] * part[1]) * (part[2] * part[3])) * ((part[4] * part[5]) * (part[6] * part[7])));
        if (moderate(next))
            whole = next;
        else
            for (int k = 0; k < LANES; k++)
                sum += log(part[k]);
    }
    *beyond = sum;
    return whole;
}

/* n images, each with weights of its own number in `which`. For network w: weights, rise = exp(W) - 1 and fall = exp(-W) - 1 of
   shape (J, padded), pixels of shape (padded), units of shape (J). agreement of shape (n, J) is v . W_j and against is
   exp(-b_j - agreement); uniform of shape (n, sweeps, J), state of shape (n, J), changed; sigma of shape (n, padded) returns sigma(psi) of the last state. */
void sweep(int64_t n, int64_t units_, int64_t padded, int64_t sweeps, double beta, const int64_t *which, const double *weights,
           const double *rise, const double *fall, const double *pixels, const double *units, const double *agreement,
           const double *against, const double *uniform, uint8_t *state, double *room)
{
    double *restrict odds = room, *restrict s = room + padded;
    for (int64_t i = 0; i < n; i++) {
        const int64_t J = units_, at = which[i] * J * padded;
        const double *W = weights + at, *up = rise + at, *down = fall + at, *b = units + which[i] * J;
        uint8_t *h = state + i * J;
        for (int64_t l = 0; l < sweeps; l++) {
            /* psi anew at every sweep: what the products below have rounded off does not add up. */
            for (int64_t d = 0; d < padded; d++)
                odds[d] = pixels[which[i] * padded + d];
            for (int64_t j = 0; j < J; j++)
                if (h[j])
                    for (int64_t d = 0; d < padded; d += LANES)
                        for (int k = 0; k < LANES; k++)
                            odds[d + k] += W[j * padded + d + k];
            for (int64_t d = 0; d < padded; d++)
                odds[d] = exp(odds[d]);
            for (int64_t d = 0; d < padded; d++)
                s[d] = 1.0 - 1.0 / (1.0 + odds[d]);
            for (int64_t j = 0; j < J; j++) {
                double beyond, ratio = product(s, (h[j] ? down : up) + j * padded, padded, &beyond);
                double odds_against = against[i * J + j];
                if (beta == 1.0 && beyond == 0.0 && moderate(odds_against))
                    odds_against = h[j] ? odds_against / ratio : odds_against * ratio;
                else {
                    beyond += log(ratio);
                    odds_against = exp(-b[j] - beta * (agreement[i * J + j] - (h[j] ? -beyond : beyond)));
                }
                uint8_t next = uniform[(i * sweeps + l) * J + j] * (1.0 + odds_against) < 1.0;
                if (next != h[j]) {
                    const double *change = (next ? up : down) + j * padded;
                    h[j] = next;
                    for (int64_t d = 0; d < padded; d += LANES)
                        for (int k = 0; k < LANES; k++) {
                            odds[d + k] *= 1.0 + change[d + k];
                            s[d + k] = 1.0 - 1.0 / (1.0 + odds[d + k]);
                        }
                }
            }
        }
    }
}
