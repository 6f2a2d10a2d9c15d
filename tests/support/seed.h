/* Seeds of random tests in C; seed.hpp says more. */
#ifndef SLUICE_TESTS_SEED_H
#define SLUICE_TESTS_SEED_H

#include <stdio.h>
#include <stdlib.h>

/* The number in SLUICE_TEST_SEED, or `usual` if it is not set. Prints the number to stderr. */
static inline unsigned long long test_seed(unsigned long long usual) {
  const char* text = getenv("SLUICE_TEST_SEED");
  const unsigned long long seed = text && *text ? strtoull(text, NULL, 10) : usual;
  fprintf(stderr, "SLUICE_TEST_SEED=%llu\n", seed);
  return seed;
}

#endif
