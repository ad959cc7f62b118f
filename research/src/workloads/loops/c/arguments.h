/* What a loop's function takes, in the order of its parameters in TypeScript: arrays, and numbers. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

struct argument {
  void *array;   /* null for a number */
  size_t bytes;  /* of the array */
  double number;
};

/* The loops of the file it is in, over arrays that do not overlap; changes arrays in place. */
void run(const struct argument *arguments);

#endif
