#include "arguments.h"

/* The butterflies of a stage are nested by block, so that a compiler sees that they lie side by side. */
void run(const struct argument *arguments) {
  float *restrict re = arguments[0].array;
  float *restrict im = arguments[1].array;
  const float *restrict cosines = arguments[2].array;
  const float *restrict sines = arguments[3].array;
  int bits = arguments[4].number;
  uint32_t length = 1u << bits;

  for (uint32_t i = 0; i < length; i++) {
    uint32_t reversed = 0;
    for (int bit = 0; bit < bits; bit++) reversed = reversed << 1 | (i >> bit & 1);
    if (i >= reversed) continue;
    float own_re = re[i], own_im = im[i];
    re[i] = re[reversed];
    im[i] = im[reversed];
    re[reversed] = own_re;
    im[reversed] = own_im;
  }

  for (uint32_t span = 1, root_stride = length / 2; span < length; span *= 2, root_stride /= 2) {
    for (uint32_t start = 0; start < length; start += 2 * span) {
      for (uint32_t turn = 0; turn < span; turn++) {
        uint32_t low = start + turn, high = low + span;
        float cosine = cosines[turn * root_stride], sine = sines[turn * root_stride];
        float turned_re = re[high] * cosine - im[high] * sine;
        float turned_im = re[high] * sine + im[high] * cosine;
        re[high] = re[low] - turned_re;
        im[high] = im[low] - turned_im;
        re[low] += turned_re;
        im[low] += turned_im;
      }
    }
  }
}
