#include "arguments.h"
#include <math.h>

enum { SITES = 3 };

void run(const struct argument *arguments) {
  const float *restrict positions = arguments[0].array;
  const float *restrict charges = arguments[1].array;
  const uint16_t *restrict firsts = arguments[2].array;
  const uint16_t *restrict seconds = arguments[3].array;
  float *restrict energies = arguments[4].array;
  float *restrict left = arguments[5].array;
  float *restrict sums = arguments[6].array;
  float box = arguments[7].number, cutoff = arguments[8].number, contact = arguments[9].number;
  size_t pairs = arguments[2].bytes / sizeof *firsts;
  float energy = 0, virial = 0;

  for (size_t pair = 0; pair < pairs; pair++) {
    const float *one = positions + 9 * firsts[pair], *other = positions + 9 * seconds[pair];
    float x = one[0] - other[0], y = one[1] - other[1], z = one[2] - other[2];
    float shift_x = box * floorf(x / box + 0.5f);
    float shift_y = box * floorf(y / box + 0.5f);
    float shift_z = box * floorf(z / box + 0.5f);
    x -= shift_x;
    y -= shift_y;
    z -= shift_z;
    float distance = x * x + y * y + z * z;
    float own = left[pair];
    if (distance < cutoff) {
      float electric = 0;
      for (int a = 0; a < SITES; a++) {
        for (int b = 0; b < SITES; b++) {
          float dx = one[3 * a] - other[3 * b] - shift_x;
          float dy = one[3 * a + 1] - other[3 * b + 1] - shift_y;
          float dz = one[3 * a + 2] - other[3 * b + 2] - shift_z;
          electric += charges[a] * charges[b] / sqrtf(dx * dx + dy * dy + dz * dz);
        }
      }
      float sixth = 1 / (distance * distance * distance);
      float core = sixth * sixth - sixth;
      virial += electric + 12 * sixth * sixth - 6 * sixth;
      if (distance < contact) {
        left[pair + 1] = core / 2;
        core /= 2;
      }
      own += electric + core;
    }
    energies[pair] = own;
    energy += own;
  }
  sums[0] = energy;
  sums[1] = virial;
}
