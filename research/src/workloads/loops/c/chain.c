#include "arguments.h"

void run(const struct argument *arguments) {
  uint32_t *a = arguments[0].array;
  size_t length = arguments[0].bytes / sizeof *a;
  for (size_t i = 1; i < length; i++) a[i] = a[i - 1] * 1664525u + 1013904223u;
}
