#include "arguments.h"

void run(const struct argument *arguments) {
  uint32_t *restrict matched = arguments[0].array;
  const uint32_t *restrict from = arguments[1].array;
  const uint32_t *restrict to = arguments[2].array;
  uint32_t edges = arguments[1].bytes / sizeof *from;
  for (uint32_t edge = 0; edge < edges; edge++) {
    uint32_t one = from[edge], other = to[edge];
    if (matched[one] == 0 && matched[other] == 0) matched[one] = matched[other] = edge + 1;
  }
}
