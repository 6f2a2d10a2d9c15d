/* DTF's calls, for programs that have them in their source: a stand-in of Sluice, which needs none of them.
 *
 * Signatures: those of the public header libdtf/dtf.h of DTF (https://github.com/maneka07/DTF), whose calls
 * return an int where it says int, and nothing where it says void. Taken from its description alone, as that
 * header was not at hand for them: dtf_transfer_all_files, and the Fortran names of dtf_transfer_all_files,
 * dtf_transfer_multiple and dtf_complete_multiple; these have no more arguments than the call needs.
 * What DTF offers besides these calls, for its own PnetCDF or as a variant, is not here.
 *
 * With Sluice, a file reaches its readers when the writer closes it. So no call has to transfer anything.
 * By a rule with `publish: sync`, readers see a file before that, at each ncmpi_sync of the writer: the
 * transfers call it, for each process of `sluice run`. Outside of a run they do nothing.
 */
#ifndef SLUICE_DTF_H
#define SLUICE_DTF_H

#ifdef __cplusplus
extern "C" {
#endif

/* Names the configuration and this component. Neither is read: the workflow has both. Returns 0, or 1 when
 * one is a null pointer or empty. Not collective. */
int dtf_init(const char* filename, char* module_name);

/* Returns 0. Not collective. */
int dtf_finalize(void);

/* Writer: readers now see what was put, where the rule says `publish: sync`. Reader: learns of new records.
 * `ncid` is of the open file, or negative: nothing is done then. Collective over the processes that have the
 * file open. Waits for no other component. Returns 0, or 1 when `filename` is a null pointer or empty, or the
 * error of ncmpi_sync. A file that is closed, or in define mode, is no error. */
int dtf_transfer(const char* filename, int ncid);

/* dtf_transfer for each open file, in the order of the ncids. Returns 0, or the first error. */
int dtf_transfer_all_files(void);

/* As dtf_transfer; the reader may read as often as it likes. */
void dtf_transfer_multiple(const char* filename, int ncid);

/* The reader's end of that. Does nothing: the writer does not wait for it. */
void dtf_complete_multiple(const char* filename, int ncid);

/* The beginning and the end of what DTF measures. They do nothing: sluice run measures. */
void dtf_time_start(void);
void dtf_time_end(void);

/* The same for Fortran, by the names that gfortran gives to external procedures: `call dtf_init(...)`.
 * A text need not end with char(0). What the C function returns is in `ierr`. */
void dtf_init_(const char* filename, char* module_name, int* ierr);
void dtf_finalize_(int* ierr);
void dtf_transfer_(const char* filename, int* ncid, int* ierr);
void dtf_transfer_all_files_(void);
void dtf_transfer_multiple_(const char* filename, int* ncid);
void dtf_complete_multiple_(const char* filename, int* ncid);
void dtf_time_start_(void);
void dtf_time_end_(void);

#ifdef __cplusplus
}
#endif

#endif
