#include "arguments.h"

static uint32_t mix(uint32_t word) {
  for (int round = 0; round < 32; round++) {
    word = (word ^ (word >> 15)) * 0x2c1b3c6du;
    word ^= word >> 12;
  }
  return word;
}

void run(const struct argument *arguments) {
  uint32_t *restrict values = arguments[0].array;
  const uint32_t *restrict sources = arguments[1].array;
  const uint32_t *restrict targets = arguments[2].array;
  size_t iterations = arguments[2].bytes / sizeof *targets;
  for (size_t i = 0; i < iterations; i++) values[targets[i]] = mix(values[sources[i]]);
}
