#include "arguments.h"

void run(const struct argument *arguments) {
  uint32_t *restrict a = arguments[0].array;
  const uint32_t *restrict partners = arguments[1].array;
  size_t length = arguments[0].bytes / sizeof *a;
  for (size_t i = length - 1; i > 0; i--) {
    uint32_t own = a[i];
    a[i] = a[partners[i]];
    a[partners[i]] = own;
  }
}
