"""Steps of a quadratic target in one C kernel, made of the recorded definition: the same bits, many times as fast."""
