#include "arguments.h"

void run(const struct argument *arguments) {
  uint32_t *restrict a = arguments[0].array;
  const uint32_t *restrict p = arguments[1].array;
  const uint32_t *restrict q = arguments[2].array;
  size_t length = arguments[1].bytes / sizeof *p;
  for (size_t i = 0; i < length; i++) a[p[i]] = a[q[i]] * 1664525u + 1013904223u;
}
