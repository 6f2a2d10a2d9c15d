/* DTF's calls for Fortran. Hidden lengths of the texts are not declared: only first characters are looked at.
 */
#include <stddef.h>

#pragma GCC visibility push(default)
#include "dtf.h"
#pragma GCC visibility pop

static void give(int* ierr, int status) {
  if (ierr != NULL) *ierr = status;
}

void dtf_init_(const char* filename, char* module_name, int* ierr) {
  give(ierr, dtf_init(filename, module_name));
}

void dtf_finalize_(int* ierr) {
  give(ierr, dtf_finalize());
}

void dtf_transfer_(const char* filename, int* ncid, int* ierr) {
  give(ierr, dtf_transfer(filename, ncid == NULL ? -1 : *ncid));
}

void dtf_transfer_all_files_(void) {
  (void)dtf_transfer_all_files();
}

void dtf_transfer_multiple_(const char* filename, int* ncid) {
  dtf_transfer_multiple(filename, ncid == NULL ? -1 : *ncid);
}

void dtf_complete_multiple_(const char* filename, int* ncid) {
  dtf_complete_multiple(filename, ncid == NULL ? -1 : *ncid);
}

void dtf_time_start_(void) {
  dtf_time_start();
}

void dtf_time_end_(void) {
  dtf_time_end();
}
