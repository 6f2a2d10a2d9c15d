// A program that is linked with PnetCDF has its client library before it calls anything.
#define _GNU_SOURCE
#include <link.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

static int is_client_library(struct dl_phdr_info* library, size_t size, void* found) {
  (void)size;
  if (strstr(library->dlpi_name, "/libsluice_pnetcdf") != NULL) *(int*)found = 1;
  return 0;
}

int main(void) {
  int found = 0;
  dl_iterate_phdr(is_client_library, &found);
  if (!found) {
    fprintf(stderr, "the client library is not loaded\n");
    return 1;
  }
  // The preloaded library answers, not the one that the program is linked with.
  return strstr(ncmpi_inq_libvers(), "luice") == NULL;
}
