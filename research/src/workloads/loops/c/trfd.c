#include "arguments.h"

void run(const struct argument *arguments) {
  float *restrict transformed = arguments[0].array;
  const uint32_t *restrict places = arguments[1].array;
  const float *restrict coefficients = arguments[2].array;
  const float *restrict integrals = arguments[3].array;
  size_t iterations = arguments[1].bytes / sizeof *places;
  size_t orbitals = arguments[3].bytes / sizeof *integrals;
  size_t rows = arguments[2].bytes / sizeof *coefficients / orbitals;
  for (size_t i = 0; i < iterations; i++) {
    const float *row = coefficients + i % rows * orbitals;
    float sum = 0;
    for (size_t k = 0; k < orbitals; k++) sum += row[k] * integrals[k];
    transformed[places[i]] = sum;
  }
}
