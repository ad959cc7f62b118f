#include "arguments.h"

/* As in FTRVMT, the loops over stages, butterflies and transforms are nested. */
void run(const struct argument *arguments) {
  float *restrict data = arguments[0].array;
  const float *restrict roots = arguments[1].array;
  size_t points = arguments[2].number, point_stride = arguments[3].number;
  size_t transforms = arguments[4].number, transform_stride = arguments[5].number;
  for (size_t span = points / 2, root_stride = 2; span > 0; span /= 2, root_stride *= 2) {
    for (size_t butterfly = 0; butterfly < points / 2; butterfly++) {
      size_t turn = butterfly & (span - 1);
      float cosine = roots[turn * root_stride], sine = roots[turn * root_stride + 1];
      float *low = data + 2 * (2 * butterfly - turn) * point_stride;
      float *high = low + 2 * span * point_stride;
      for (size_t transform = 0; transform < transforms; transform++) {
        size_t i = 2 * transform * transform_stride;
        float re = low[i] - high[i], im = low[i + 1] - high[i + 1];
        low[i] += high[i];
        low[i + 1] += high[i + 1];
        high[i] = re * cosine - im * sine;
        high[i + 1] = re * sine + im * cosine;
      }
    }
  }
}
