/* Makes headers of CDF files byte by byte, also ones that no library writes. */
#ifndef SLUICE_TESTS_FILE_BYTES_H
#define SLUICE_TESTS_FILE_BYTES_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

struct file_bytes {
  unsigned char bytes[1 << 16];
  size_t size;
};

static inline void file_start(struct file_bytes* f, unsigned version, unsigned records) {
  memset(f, 0, sizeof *f);
  const unsigned char start[] = {'C',
                                 'D',
                                 'F',
                                 (unsigned char)version,
                                 (unsigned char)(records >> 24),
                                 (unsigned char)(records >> 16),
                                 (unsigned char)(records >> 8),
                                 (unsigned char)records};
  memcpy(f->bytes, start, sizeof start);
  f->size = sizeof start;
}

static inline void file_number(struct file_bytes* f, unsigned value) {
  for (int shift = 24; shift >= 0; shift -= 8) f->bytes[f->size++] = (unsigned char)(value >> shift);
}

/* With its length first, and padded. */
static inline void file_text(struct file_bytes* f, const char* bytes, size_t n) {
  file_number(f, (unsigned)n);
  memcpy(f->bytes + f->size, bytes, n);
  f->size += (n + 3) / 4 * 4;
}

static inline void file_write(const struct file_bytes* f, const char* path) {
  FILE* out = fopen(path, "wb");
  if (!out || fwrite(f->bytes, 1, f->size, out) != f->size || fclose(out)) MPI_Abort(MPI_COMM_WORLD, 7);
}

#endif
